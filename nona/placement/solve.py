"""Solve a placement: one interface, several solvers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.errors import PlacementError
from nona.placement.assemble import placements
from nona.placement.evaluate import Candidates
from nona.placement.exhaustive import solve_exhaustive
from nona.placement.feasibility import check_feasible
from nona.placement.fixed import server_slots
from nona.placement.interiors.budget import Budget
from nona.placement.interiors.candidates import candidates
from nona.placement.interiors.certify import linearised_bound_s, unconditional_bound_s
from nona.placement.interiors.columns import generate
from nona.placement.messages import Link
from nona.placement.model import Model, build_model
from nona.placement.objective import evaluate
from nona.placement.parametric import Certified, solve_parametric
from nona.placement.placement import Placement
from nona.placement.prediction import prediction_of
from nona.placement.problem import Problem, build_problem, groups_of
from nona.placement.settle import Settled, descend, settle
from nona.placement.shape import Shape
from nona.placement.shares.balance import loads_of
from nona.placement.shares.bound import shares_bound_s
from nona.placement.shares.choice import choose_shares, is_choice
from nona.placement.shares.memory import allowed_classes
from nona.placement.shares.notes import share_notes
from nona.placement.shares.search import Solved
from nona.placement.slsqp import solve_slsqp
from nona.system import System
from nona.units import format_time

Floats = NDArray[np.float64]
Table = list[list[Floats]]
Run = Callable[..., Settled]
GAP = 2e-5  # that the certified solver aims at
CLOSED = 1e-4  # a gap at which nothing is said to be left out


@dataclass(frozen=True, slots=True)
class Solver:
    """A solver's name, what it does in a line, and ``run(model, **options)``."""

    name: str
    summary: str
    run: Run


def _parametric(model: Model, *, gap: float = GAP, max_cells: int = 4000) -> Settled:
    def rough(problem: Problem, start: Floats | None) -> Certified:
        return solve_parametric(problem, gap=max(gap, 2e-3), max_cells=max_cells, start=start)

    def inner(problem: Problem, start: Floats | None) -> Certified:
        return solve_parametric(problem, gap=gap, max_cells=max_cells, start=start)

    return settle(model, rough, inner)


SOLVERS: Mapping[str, Solver] = {
    s.name: s
    for s in (
        Solver(
            "parametric", "Linear program parametrised by the link's wait; global, with a bound.", _parametric
        ),
        Solver("slsqp", "SLSQP from many starts, the server wait following the placement.", solve_slsqp),
        Solver("exhaustive", "Every placement of a tiny system; for tests.", solve_exhaustive),
    )
}


def solve(system: System, solver: str = "parametric", **options: Any) -> Placement:
    """Find the probabilities of the configurations that minimise the mean JCT.

    Parameters
    ----------
    solver
        A name in ``SOLVERS``.
    options
        Of the solver: ``gap`` and ``max_cells`` (parametric), ``starts`` and ``seed`` (slsqp),
        ``grid`` (exhaustive); and for all ``enumerated``: the largest interior of which every
        configuration is listed (6), ``time_s``: about how long to look for better configurations of
        larger interiors, and for better bounds, where a gap is open (6 s), and ``shares``: of the
        executor classes, ``"optimal"`` (searched where there are several, see
        :mod:`nona.placement.shares.search`), ``"uniform"``, or (J, K) probabilities.

    Returns
    -------
    Placement
        ``objective_s`` is the mean JCT with the server wait that the placement itself brings
        about, that is ``prediction.jct_s``. ``lower_bound_s`` is certified for the server wait
        linearised at the solution, see :mod:`nona.placement.settle`, and for its class shares.

    Raises
    ------
    PlacementError
        For an unknown solver or option, when executors or link are overloaded whatever the placement,
        or when the weights of a model fit no executor.
    """
    if solver not in SOLVERS:
        raise PlacementError(f"Solver {solver!r} is unknown; choose one of {', '.join(SOLVERS)}.")
    began = time.perf_counter()
    slots = server_slots(system)
    enumerated, wanted = options.pop("enumerated", 6), options.pop("shares", "optimal")
    time_s = options.pop("time_s", 6.0)

    def listed(shape: Shape, link: Link) -> Candidates:
        return candidates(shape, link, slots, enumerated)

    def again(model: Model, x: Table) -> Settled:
        gap = options.get("gap", GAP)
        return descend(model, lambda problem, start: solve_parametric(problem, gap=gap, start=start), x)

    def solve_at(shares: Floats | None) -> Solved[tuple[Model, Settled]]:
        check_feasible(system, shares)
        model = build_model(system, listed, shares)
        settled = _run(SOLVERS[solver], model, options)
        wait = evaluate(model, settled.x).link_wait
        return Solved(model.shares, settled.value_s, placements(model, settled.x), wait, (model, settled))

    model, settled = choose_shares(system, wanted, solve_at).kept
    if solver == "parametric":  # once, at the shares that were chosen
        model, settled = generate(model, settled, again, Budget(0.5 * time_s))
    bound, everywhere = bounds_s(model, settled, Budget(0.5 * time_s))
    free = not math.isnan(bound) and is_choice(system, allowed_classes(system))
    if free:
        loads = loads_of(system, allowed_classes(system))
        everywhere = shares_bound_s(system, loads, listed, settled.value_s)
    prediction = prediction_of(model, evaluate(model, settled.x))
    return Placement(
        queries=placements(model, settled.x),
        prediction=prediction,
        objective_s=settled.value_s,
        lower_bound_s=min(bound, settled.value_s) if not math.isnan(bound) else bound,
        solver=solver,
        seconds=time.perf_counter() - began,
        notes=(
            *_notes(settled, prediction.server_wait_s, bound, everywhere, free),
            *share_notes(model, settled.x),
            *assumptions(system),
        ),
        global_bound_s=everywhere,
        class_shares=model.class_shares,
    )


def _run(solver: Solver, model: Model, options: Mapping[str, Any]) -> Settled:
    try:
        return solver.run(model, **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        raise PlacementError(f"Solver {solver.name!r} has no such option: {sorted(options)}.") from None


def bounds_s(model: Model, settled: Settled, budget: Budget) -> tuple[float, float]:
    """(bound at this server wait, bound for every server wait), of all configurations, listed or not.

    Where the columns that are quickly made leave a gap, those of
    :mod:`nona.placement.interiors.certify` are taken, within the ``budget``. ``nan`` without a certificate.
    """
    bound = settled.certified.lower_bound_s
    if math.isnan(bound):
        return bound, bound
    value, everywhere = settled.value_s, global_bound_s(model)
    if not all(g.candidates.exhaustive for g in settled.priced.groups):
        relaxed = settled.priced.problem(model, relaxed=True)
        listed, bound = bound, min(bound, solve_parametric(relaxed, gap=1e-4).lower_bound_s)
        if bound < value * (1.0 - CLOSED):
            bound = max(bound, min(listed, linearised_bound_s(model, settled, budget)))
        if bound < value * (1.0 - CLOSED):
            everywhere = max(everywhere, unconditional_bound_s(model, settled, budget))
    everywhere = min(everywhere, value)
    return max(bound, everywhere), everywhere


def global_bound_s(model: Model) -> float:
    """A bound for every placement with the server wait that it itself brings about.

    The objective grows with W_c, so its minimum at the least W_c there can be lies below.
    """
    problem = build_problem(model, groups_of(model), model.least_server_wait_s, relaxed=True)
    return solve_parametric(problem, gap=1e-3).lower_bound_s


def _notes(settled: Settled, wait_s: float, bound: float, everywhere: float, free: bool) -> tuple[str, ...]:
    """What the bounds hold for; ``free``: the shares of the executor classes could be chosen."""
    notes = []
    if math.isnan(bound):
        notes.append("No bound: this solver gives none.")
    else:
        notes.append(
            f"The bound is certified at the server wait of the formula's optimum "
            f"({format_time(wait_s)}), linearised there; with quite another "
            f"server wait one may be better, but none at all is below {format_time(everywhere, 4)}."
            + (" That holds for all shares of the executor classes, the gap for those found." if free else "")
        )
    if not settled.certified.complete:
        notes.append(f"Stopped after {settled.certified.cells} linear programs before the wanted gap.")
    closed = bound >= settled.value_s * (1.0 - CLOSED)
    restricted = dict.fromkeys(
        g.candidates.note for g in settled.priced.groups if not g.candidates.exhaustive and not closed
    )
    notes += [f"Restricted: {note}; the bounds hold for all configurations." for note in restricted]
    return tuple(notes)


def assumptions(system: System) -> tuple[str, ...]:
    """What the prediction takes for granted though this system is otherwise, a sentence each."""
    notes = []
    bursty = [q.name for q in system.queries if q.arrivals.process != "poisson"]
    if bursty:
        notes.append(
            f"Predicted as if arrivals were Poisson, which those of {', '.join(bursty)} are not: the "
            "simulation shows what that does to the waits."
        )
    if len(system.class_names) > 1:
        notes.append(
            f"Predicted with mean times over executors of {len(system.class_names)} kinds "
            f"({', '.join(system.class_names)}); the simulation gives each kind its own."
        )
    return tuple(notes)
