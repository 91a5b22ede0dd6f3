"""The formula's optimum, from a system to a placement with its bounds, read from top to bottom.

1. Every sub-graph gets a list of configurations (:mod:`nona.placement.enumeration`): all there are for small
   interiors, for large ones a family. With them the system is a :class:`~nona.placement.model.Model`, whose
   mean JCT is a function of their probabilities.
2. The solver finds the probabilities (:mod:`nona.placement.solver.descent`). At a constant server wait the
   problem is a linear program in which the wait of the link is a parameter, solved to a certified gap
   (:mod:`nona.placement.solver.parametric`); the server wait that the placement itself brings about is
   linearised, and the two alternate.
3. Where there are several executor classes that is repeated at other shares of them
   (:mod:`nona.placement.shares`).
4. At the prices of the solution a local search looks for better configurations of large interiors; they join
   the list, and the program is solved again (:mod:`nona.placement.interiors.column_generation`).
5. Bounds for all configurations, listed or not, and for all server waits (:mod:`nona.placement.certificate`);
   over several executor classes for all shares of them (:mod:`nona.placement.shares_bound`).

This placement proposes; :mod:`nona.placement.sampled.search` judges it, and others, by the response.
"""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Any, NamedTuple

from nona.arrays import Floats
from nona.placement.capacity import allowed_classes, check_feasible, loads_of
from nona.placement.certificate import CLOSED, bounds_s
from nona.placement.configurations import ENUMERATED, Shape, server_slots
from nona.placement.enumeration import candidates
from nona.placement.interiors.column_generation import Budget, generate
from nona.placement.messages import Candidates, Link
from nona.placement.model import Model, build_model, value_at
from nona.placement.prediction import prediction_of
from nona.placement.result import Placement
from nona.placement.shares import Solved, Wanted, choose_shares, is_choice, share_notes
from nona.placement.shares_bound import CandidatesOf, shares_bound_s
from nona.placement.solver.descent import descend
from nona.placement.solver.parametric import solve_parametric
from nona.placement.solver.registry import GAP, SOLVERS, Solver, run_solver
from nona.placement.solver.solution import Solution, Table, placements
from nona.system import System
from nona.units import format_time


def solve(
    system: System,
    solver: str = "parametric",
    *,
    shares: Wanted = "optimal",
    enumerated: int = ENUMERATED,
    time_s: float = 6.0,
    **options: Any,
) -> Placement:
    """Find the probabilities of the configurations that minimise the mean JCT.

    ``solver``: a name in :data:`nona.placement.solver.registry.SOLVERS`.
    ``shares``: of the executor classes: ``"optimal"`` (searched where there are several, see
        :mod:`nona.placement.shares`), ``"uniform"``, or (J, K) probabilities.
    ``enumerated``: the largest interior of which every configuration is listed.
    ``time_s``: about how long to look for better configurations of larger interiors, and for better bounds,
        where a gap is open.
    ``options``: of the solver: ``gap`` and ``max_cells`` (parametric), ``starts`` and ``seed`` (slsqp),
        ``grid`` (exhaustive).

    Returns ``objective_s`` is the mean JCT with the server wait that the placement itself brings about, that
    is ``prediction.jct_s``. ``lower_bound_s`` is certified for the server wait linearised at the solution,
    see :mod:`nona.placement.solver.descent`, and for its class shares.

    Raises ``PlacementError`` for an unknown solver or option, when executors or link are overloaded whatever
    the placement, or when the weights of a model fit no executor.
    """
    began = time.perf_counter()

    def listed(shape: Shape, link: Link) -> Candidates:
        return candidates(shape, link, server_slots(system), enumerated)

    model, solution = _solved(system, SOLVERS.find(solver), shares, listed, options)
    if solver == "parametric":  # once, at the shares that were chosen
        model, solution = generate(
            model, solution, partial(_solved_from, gap=options.get("gap", GAP)), Budget(0.5 * time_s)
        )
    bounds = _bounds(model, solution, system, listed, Budget(0.5 * time_s))
    prediction = prediction_of(model, value_at(model, solution.x))
    return Placement(
        queries=placements(model, solution.x),
        prediction=prediction,
        objective_s=solution.value_s,
        lower_bound_s=min(bounds.here_s, solution.value_s) if bounds.certified else math.nan,
        global_bound_s=bounds.everywhere_s,
        solver=solver,
        seconds=time.perf_counter() - began,
        notes=(
            _bound_note(system, bounds, prediction.server_wait_s),
            *_restrictions(solution, bounds.here_s),
            *share_notes(model, solution.x),
            *_assumptions(system),
        ),
        class_shares=model.class_shares,
    )


def _solved(
    system: System, solver: Solver, shares: Wanted, listed: CandidatesOf, options: dict[str, Any]
) -> tuple[Model, Solution]:
    """The solver's answer among the listed configurations, at the shares that are wanted."""

    def at(given: Floats | None) -> Solved[tuple[Model, Solution]]:
        check_feasible(system, given)
        model = build_model(system, listed, given)
        solution = run_solver(solver, model, options)
        wait = value_at(model, solution.x).link_wait
        return Solved(model.shares, solution.value_s, placements(model, solution.x), wait, (model, solution))

    return choose_shares(system, shares, at).kept


def _solved_from(model: Model, x: Table, gap: float) -> Solution:
    return descend(model, lambda problem, start: solve_parametric(problem, gap=gap, start=start), x)


class _Bounds(NamedTuple):
    here_s: float = math.nan  # at the server wait of the solution
    everywhere_s: float = 0.0  # at every server wait
    all_shares: bool = False  # whether the latter holds for all shares of the executor classes

    @property
    def certified(self) -> bool:
        return not math.isnan(self.here_s)


def _bounds(
    model: Model, solution: Solution, system: System, listed: CandidatesOf, budget: Budget
) -> _Bounds:
    if system.batches:
        return _Bounds()
    bounds = _Bounds(*bounds_s(model, solution, budget))
    allowed = allowed_classes(system)
    if not bounds.certified or not is_choice(system, allowed):
        return bounds
    over_shares_s = shares_bound_s(system, loads_of(system, allowed), listed, solution.value_s)
    return bounds._replace(everywhere_s=over_shares_s, all_shares=True)


def _bound_note(system: System, bounds: _Bounds, wait_s: float) -> str:
    """State the scope of the bounds: at the solution's server wait, and at every one."""
    if system.batches:
        return (
            "No certificate: where executors batch, waits are no convex function of a placement, and the "
            "formula takes a visit to wait as long as a whole query, whatever is placed where."
        )
    if not bounds.certified:
        return "No bound: this solver gives none."
    note = (
        f"The bound is certified at the server wait of the formula's optimum "
        f"({format_time(wait_s)}), linearised there; at a different "
        f"server wait a placement may be better, but no placement is below "
        f"{format_time(bounds.everywhere_s, 4)}."
    )
    if not bounds.all_shares:
        return note
    return f"{note} That holds for all shares of the executor classes, the gap for the shares found."


def _restrictions(solution: Solution, here_s: float) -> tuple[str, ...]:
    """State what was stopped early, and what was left out, unless the bounds close the gap."""
    notes = []
    if not solution.certified.complete:
        notes.append(f"Stopped after {solution.certified.cells} linear programs, before the requested gap.")
    closed = here_s >= solution.value_s * (1.0 - CLOSED)
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
