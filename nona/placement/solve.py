"""Solve a placement: one interface, several solvers, and the notes on a solution."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.placement.capacity import allowed_classes, check_feasible, loads_of
from nona.placement.certificate import CLOSED, bounds_s
from nona.placement.configurations import ENUMERATED, Shape, server_slots
from nona.placement.enumeration import candidates
from nona.placement.interiors.column_generation import Budget, cheapest_configuration, climbed, generate
from nona.placement.interiors.prices import Prices
from nona.placement.messages import Candidates, Link
from nona.placement.model import Model, build_model, value_at
from nona.placement.prediction import prediction_of
from nona.placement.result import Placement
from nona.placement.shares import Solved, Wanted, choose_shares, is_choice, share_notes
from nona.placement.shares_bound import shares_bound_s
from nona.placement.solver.descent import descend
from nona.placement.solver.parametric import solve_parametric
from nona.placement.solver.registry import GAP, SOLVERS, Solver, run_solver
from nona.placement.solver.solution import Solution, placements
from nona.system import System
from nona.units import format_time


def _bound_notes(solution: Solution, wait_s: float, bounds: _Bounds, batched: bool) -> tuple[str, ...]:
    """State the scope of the bounds."""
    bound, everywhere = bounds.here_s, bounds.everywhere_s
    notes = []
    if batched:
        notes.append(
            "No certificate: where executors batch, waits are no convex function of a placement, and the "
            "formula takes a visit to wait as long as a whole query, whatever is placed where."
        )
    elif math.isnan(bound):
        notes.append("No bound: this solver gives none.")
    else:
        notes.append(
            f"The bound is certified at the server wait of the formula's optimum "
            f"({format_time(wait_s)}), linearised there; at a different "
            f"server wait a placement may be better, but no placement is below {format_time(everywhere, 4)}."
            + (
                " That holds for all shares of the executor classes, the gap for the shares found."
                if bounds.all_shares
                else ""
            )
        )
    if not solution.certified.complete:
        notes.append(f"Stopped after {solution.certified.cells} linear programs, before the requested gap.")
    closed = bound >= solution.value_s * (1.0 - CLOSED)
    restricted = dict.fromkeys(
        g.candidates.note for g in solution.priced.groups if not g.candidates.exhaustive and not closed
    )
    notes += [f"Restricted: {note}; the bounds hold for all configurations." for note in restricted]
    return tuple(notes)


def _assumptions(system: System) -> tuple[str, ...]:
    """The prediction's assumptions that this system violates, a sentence each."""
    notes = []
    bursty = [q.name for q in system.queries if q.arrivals.process != "poisson"]
    if bursty:
        notes.append(
            f"The formula assumes Poisson arrivals, but those of {', '.join(bursty)} are not Poisson: the "
            "simulation shows the effect on the waits."
        )
    if len(system.class_names) > 1:
        notes.append(
            f"The formula uses mean times over executors of {len(system.class_names)} classes "
            f"({', '.join(system.class_names)}); the simulation uses the times of each class."
        )
    return tuple(notes)


Floats = NDArray[np.float64]
Table = list[list[Floats]]


def solve(system: System, solver: str = "parametric", **options: Any) -> Placement:
    """Find the probabilities of the configurations that minimise the mean JCT.

    Parameters
    ----------
    solver
        A name in :data:`nona.placement.solver.registry.SOLVERS`.
    options
        Of the solver: ``gap`` and ``max_cells`` (parametric), ``starts`` and ``seed`` (slsqp),
        ``grid`` (exhaustive); and for all ``enumerated``: the largest interior of which every
        configuration is listed (6), ``time_s``: about how long to look for better configurations of
        larger interiors, and for better bounds, where a gap is open (6 s), and ``shares``: of the
        executor classes, ``"optimal"`` (searched where there are several, see
        :mod:`nona.placement.shares`), ``"uniform"``, or (J, K) probabilities.

    Returns
    -------
    Placement
        ``objective_s`` is the mean JCT with the server wait that the placement itself brings
        about, that is ``prediction.jct_s``. ``lower_bound_s`` is certified for the server wait
        linearised at the solution, see :mod:`nona.placement.solver.descent`, and for its class shares.

    Raises
    ------
    PlacementError
        For an unknown solver or option, when executors or link are overloaded whatever the placement,
        or when the weights of a model fit no executor.
    """
    began = time.perf_counter()
    task = _task(system, solver, options)
    model, solution = choose_shares(system, task.shares, task.solved_at).kept
    if solver == "parametric":  # once, at the shares that were chosen
        model, solution = generate(model, solution, task.solved_from, Budget(0.5 * task.time_s))
    bounds = _bounds(task, model, solution)
    return _placement(task, model, solution, bounds, time.perf_counter() - began)


@dataclass(frozen=True, eq=False)
class _Task:
    """Problem and options; ``time_s``: for configurations of large interiors and for bounds."""

    system: System
    solver: Solver
    options: Mapping[str, Any]
    shares: Wanted
    enumerated: int
    time_s: float

    def listed(self, shape: Shape, link: Link) -> Candidates:
        """The configurations of a sub-graph that are considered."""
        return candidates(shape, link, server_slots(self.system), self.enumerated)

    def solved_at(self, shares: Floats | None) -> Solved[tuple[Model, Solution]]:
        """The best placement of the listed configurations at given shares of the executor classes."""
        check_feasible(self.system, shares)
        model = build_model(self.system, self.listed, shares)
        solution = run_solver(self.solver, model, self.options)
        wait = value_at(model, solution.x).link_wait
        return Solved(model.shares, solution.value_s, placements(model, solution.x), wait, (model, solution))

    def solved_from(self, model: Model, x: Table) -> Solution:
        """The best placement that a descent from ``x`` finds, after more configurations were listed."""
        gap = self.options.get("gap", GAP)
        return descend(model, lambda problem, start: solve_parametric(problem, gap=gap, start=start), x)


def _task(system: System, solver: str, options: Mapping[str, Any]) -> _Task:
    chosen = SOLVERS.find(solver)
    own = {"shares": "optimal", "enumerated": ENUMERATED, "time_s": 6.0}
    rest = {name: value for name, value in options.items() if name not in own}
    return _Task(system, chosen, rest, **{name: options.get(name, own[name]) for name in own})


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Seconds of mean JCT: at the solution's server wait and shares, and below every placement.

    ``all_shares``: the second holds for every choice of the shares of the executor classes.
    """

    here_s: float
    everywhere_s: float
    all_shares: bool


def _bounds(task: _Task, model: Model, solution: Solution) -> _Bounds:
    system, allowed = task.system, allowed_classes(task.system)
    if system.batches:
        return _Bounds(math.nan, 0.0, False)
    here, everywhere = bounds_s(model, solution, Budget(0.5 * task.time_s))
    all_shares = not math.isnan(here) and is_choice(system, allowed)
    if all_shares:
        everywhere = shares_bound_s(system, loads_of(system, allowed), task.listed, solution.value_s)
    return _Bounds(here, everywhere, all_shares)


def _placement(task: _Task, model: Model, solution: Solution, bounds: _Bounds, seconds: float) -> Placement:
    """Build the result: configurations, prediction, bounds, and notes on them."""
    prediction, here = prediction_of(model, value_at(model, solution.x)), bounds.here_s
    notes = _bound_notes(solution, prediction.server_wait_s, bounds, task.system.batches)
    return Placement(
        queries=placements(model, solution.x),
        prediction=prediction,
        objective_s=solution.value_s,
        lower_bound_s=here if math.isnan(here) else min(here, solution.value_s),
        solver=task.solver.name,
        seconds=seconds,
        notes=(*notes, *share_notes(model, solution.x), *_assumptions(task.system)),
        global_bound_s=bounds.everywhere_s,
        class_shares=model.class_shares,
    )


def compile_searches() -> None:
    """Run each search once on a fork of two tasks; numba keeps what it compiles on disk."""
    from nona.placement.interiors.relaxed_columns import least_columns

    ends = np.array([0, 0, 1, 2], dtype=np.int64), np.array([1, 2, 3, 3], dtype=np.int64)
    shape = Shape(True, True, np.ones((1, 2)), np.ones(2), *ends, np.arange(4), np.ones(4))
    link, prices = Link(10.0, 0.0), Prices()
    cheapest_configuration(shape, link, 2, prices)
    candidates = Candidates(shape, np.array([[0, 0, 0], [0, 1, 0]]), link, exhaustive=False)
    climbed(candidates, 2, prices, Budget(1.0))
    least_columns(candidates, 2, prices)
