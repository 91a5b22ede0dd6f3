"""The formula's optimum, from a system to a placement with its certificate, read from top to bottom.

1. Every sub-graph gets a list of configurations (:mod:`nona.queries.placement.enumeration`): all there are
   for small interiors, for large ones a family. With them the system is a
   :class:`~nona.queries.placement.model.PlacementModel`, whose mean JCT is a function of their probabilities.
2. The solver finds the probabilities (:mod:`nona.queries.placement.solver.descent`). At a constant server
   wait the problem is a linear program in which the wait of the link is a parameter, solved to a certified
   gap (:mod:`nona.queries.placement.solver.parametric`); the server wait that the placement itself brings
   about is linearised, and the two alternate.
3. Where there are several executor classes that is repeated at other shares of them
   (:mod:`nona.queries.placement.shares`).

The gap certifies the formula at the server wait of its optimum. The formula has mean waits, so this placement
proposes; what is chosen is judged by simulation (:mod:`nona.queries.workflows.placing`).
"""

from __future__ import annotations

import time

from nona.core.arrays import Floats
from nona.queries.placement.capacity import check_feasible
from nona.queries.placement.configurations import ENUMERATED, SubgraphShape, server_slots
from nona.queries.placement.enumeration import candidates
from nona.queries.placement.messages import PlacementLink, ShapeCandidates
from nona.queries.placement.model import PlacementModel, build_model, value_at
from nona.queries.placement.prediction import prediction_of
from nona.queries.placement.result import Placement
from nona.queries.placement.results import CertifiedOptimum
from nona.queries.placement.shares import SolvedShares, Wanted, choose_shares, share_notes
from nona.queries.placement.solver.descent import descend_from_starts
from nona.queries.placement.solver.solution import Solution, placements
from nona.queries.system import System

GAP = 2e-5  # that the solver aims at


def solve(
    system: System, *, shares: Wanted = "optimal", enumerated: int = ENUMERATED, gap: float = GAP
) -> Placement:
    """Find the probabilities of the configurations that minimise the mean JCT by formula.

    ``shares``: of the executor classes: ``"optimal"`` (searched where there are several, see
        :mod:`nona.queries.placement.shares`), ``"uniform"``, or (J, K) probabilities.
    ``enumerated``: the largest interior of which every configuration is listed.
    ``gap``: relative gap to certify.

    Returns ``formula.objective_s`` is the mean JCT with the server wait that the placement itself brings
    about, that is ``prediction.jct_s``. ``formula.lower_bound_s`` is certified among the listed
    configurations, for the server wait linearised at the solution
    (:mod:`nona.queries.placement.solver.descent`), and for its class shares.

    Raises ``PlacementError`` when executors or link are overloaded whatever the placement, when the weights
    of a model fit no executor, or where executors batch: the formula has no such waits.
    """
    began = time.perf_counter()

    def listed(shape: SubgraphShape, link: PlacementLink) -> ShapeCandidates:
        return candidates(shape, link, server_slots(system), enumerated)

    def solve_with(given: Floats | None) -> SolvedShares[tuple[PlacementModel, Solution]]:
        check_feasible(system, given)
        model = build_model(system, listed, given)
        solution = descend_from_starts(model, gap)
        wait = value_at(model, solution.x).link_wait
        return SolvedShares(
            model.shares, solution.value_s, placements(model, solution.x), wait, (model, solution)
        )

    model, solution = choose_shares(system, shares, solve_with).kept
    certified = solution.certified
    return Placement(
        queries=placements(model, solution.x),
        prediction=prediction_of(model, value_at(model, solution.x)),
        origin="formula",
        seconds=time.perf_counter() - began,
        notes=(*_restrictions(solution), *share_notes(model, solution.x), *_assumptions(system)),
        class_shares=model.class_shares,
        formula=CertifiedOptimum.from_bounds(
            solution.value_s, min(certified.lower_bound_s, solution.value_s)
        ),
    )


def _restrictions(solution: Solution) -> tuple[str, ...]:
    """State what was stopped early, and what was left out."""
    notes = []
    if not solution.certified.complete:
        notes.append(f"Stopped after {solution.certified.cells} linear programs, before the requested gap.")
    restricted = dict.fromkeys(
        g.candidates.note for g in solution.priced.groups if not g.candidates.exhaustive
    )
    notes += [f"Restricted: {note}." for note in restricted]
    return tuple(notes)


def _assumptions(system: System) -> tuple[str, ...]:
    """Return the prediction's assumptions that this system violates, a sentence each."""
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
