"""Solve a placement: one interface, several solvers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from nona.errors import PlacementError
from nona.placement.assemble import placements
from nona.placement.candidates import candidates
from nona.placement.exhaustive import solve_exhaustive
from nona.placement.feasibility import check_feasible
from nona.placement.fixed import server_slots
from nona.placement.model import Model, build_model
from nona.placement.objective import evaluate
from nona.placement.parametric import solve_parametric
from nona.placement.placement import Placement
from nona.placement.prediction import prediction_of
from nona.placement.problem import Group, build_problem, groups_of
from nona.placement.settle import TOLERANCE, Inner, Settled, settle
from nona.placement.slsqp import solve_slsqp
from nona.system import System

Run = Callable[..., Settled]


@dataclass(frozen=True, slots=True)
class Solver:
    """A solver's name, what it does in a line, and ``run(model, groups, **options)``."""

    name: str
    summary: str
    run: Run


def _parametric(
    model: Model, groups: Sequence[Group], *, gap: float = 2e-5, max_cells: int = 4000
) -> Settled:
    inner: Inner = lambda problem, start: solve_parametric(problem, gap=gap, max_cells=max_cells, start=start)  # noqa: E731
    return settle(model, groups, inner)


def _exhaustive(model: Model, groups: Sequence[Group], *, grid: int = 33) -> Settled:
    return settle(model, groups, partial(solve_exhaustive, grid=grid))


SOLVERS: Mapping[str, Solver] = {
    s.name: s
    for s in (
        Solver(
            "parametric", "Linear program parametrised by the link's wait; global, with a bound.", _parametric
        ),
        Solver("slsqp", "SLSQP from many starts; the server wait follows the placement.", solve_slsqp),
        Solver("exhaustive", "Every placement of a tiny system; for tests.", _exhaustive),
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
        configuration is listed (6).

    Returns
    -------
    Placement
        ``objective_s`` and ``lower_bound_s`` hold the server wait constant at the solution's own;
        ``objective_s`` agrees with ``prediction.jct_s`` to 1e-6 unless ``notes`` says otherwise.

    Raises
    ------
    PlacementError
        For an unknown solver or option, or when executors or link are overloaded whatever the placement.
    """
    if solver not in SOLVERS:
        raise PlacementError(f"Solver {solver!r} is unknown; choose one of {', '.join(SOLVERS)}.")
    began = time.perf_counter()
    check_feasible(system)
    slots = server_slots(system)
    enumerated = options.pop("enumerated", 6)
    model = build_model(system, lambda shape, link: candidates(shape, link, slots, enumerated))
    groups = groups_of(model)
    try:
        settled = SOLVERS[solver].run(model, groups, **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        raise PlacementError(f"Solver {solver!r} has no such option: {sorted(options)}.") from None
    bound = lower_bound_s(model, groups, settled)
    prediction = prediction_of(model, evaluate(model, settled.x))
    return Placement(
        queries=placements(model, settled.x),
        prediction=prediction,
        objective_s=settled.frozen_s,
        lower_bound_s=min(bound, settled.frozen_s) if not math.isnan(bound) else bound,
        solver=solver,
        seconds=time.perf_counter() - began,
        notes=_notes(groups, settled, bound),
    )


def lower_bound_s(model: Model, groups: Sequence[Group], settled: Settled) -> float:
    """A bound for all configurations, those that were not listed among them (W_c constant)."""
    bound = settled.inner.lower_bound_s
    if math.isnan(bound) or all(g.candidates.exhaustive for g in groups):
        return bound
    relaxed = build_problem(model, groups, settled.server_wait_s, relaxed=True)
    return min(bound, solve_parametric(relaxed, gap=1e-4).lower_bound_s)


def _notes(groups: Sequence[Group], settled: Settled, bound: float) -> tuple[str, ...]:
    notes = [
        f"Server wait held constant at {settled.server_wait_s:.6g} s, that of the solution itself: "
        "objective and bound refer to it."
    ]
    if math.isnan(bound):
        notes.append("No bound: this solver gives none.")
    elif not settled.inner.complete:
        notes.append(f"Stopped after {settled.inner.cells} linear programs before the wanted gap.")
    if not settled.converged:
        difference = abs(settled.consistent_s / settled.frozen_s - 1)
        notes.append(
            f"The server wait did not settle: prediction and objective differ by {difference:.2g} "
            f"(more than {TOLERANCE:g})."
        )
    restricted = dict.fromkeys(g.candidates.note for g in groups if not g.candidates.exhaustive)
    notes += [f"Restricted: {note}; the bound holds for all configurations." for note in restricted]
    return tuple(notes)
