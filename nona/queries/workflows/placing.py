"""The choice of a placement: the formula proposes, simulation decides.

1. The presets race (:mod:`nona.queries.workflows.race`): there is a first answer.
2. The formula's optimum (:mod:`nona.queries.placement.solve`) races against it.
3. Every group of equal sub-graphs in turn tries its other configurations
   (:func:`nona.queries.placement.proposals.choices`): all of them where they are few, else moves from the one
   in use; and where there are several executor classes, other shares of them. That goes on until a whole turn
   changes nothing, or the budget is spent.
4. Mixtures of the two best: where a link or servers fill, a split of some queries can beat both.

A placement is only replaced by one that won a race against it. The figures that are reported are those of
new runs, whose random numbers no choice has seen: who wins among many has been lucky too. A search gives no
proof: the result says how many candidates were compared, and how far the next one was behind.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from nona.core.arrays import Floats
from nona.core.document import Estimate
from nona.core.errors import NonaError, PlacementError
from nona.core.experiments import do_nothing
from nona.queries.placement.capacity import allowed_classes, check_feasible, default_shares, loads_of
from nona.queries.placement.model import SampledCandidates
from nona.queries.placement.prediction import link_utilization, predict
from nona.queries.placement.proposals import (
    ALL,
    Candidate,
    EqualSubgraphs,
    choices,
    groups_of,
    mixtures,
    same,
    starts,
)
from nona.queries.placement.result import Objective, Placement
from nona.queries.placement.results import Prediction, SearchStep, SimulatedPlacement
from nona.queries.placement.shares import is_choice, starting_shares
from nona.queries.placement.solve import solve
from nona.queries.schedulers.sampling import NONA
from nona.queries.schedulers.sampling_tables import build_tables
from nona.queries.system import System
from nona.queries.workflows.placement_times import figures_of, simulated_figures
from nona.queries.workflows.race import ROUNDS, Contender, EventBudget, Goal, Race, RaceResult

Stage = Literal["formula", "simulation"]
STAGES: tuple[Stage, ...] = ("simulation", "formula")
EVENTS = 5_000_000  # simulated at most, of a whole search
QUICK_EVENTS = 400_000  # of one that answers while a slider moves
MOST_PREDICTED = 200  # moves of a group that are ordered by the formula
MOST_TRIED = 32  # moves of a group in one race
SURE = 0.95  # confidence of the lead of one that lost before, or of a mixture, if it replaces the best
_FIRST_ROUNDS = 3  # of the races that only find where to begin
TURNS = 4  # through all groups, at most
_KNOWN = ("local", "spread")
_MIXED = (0.25, 0.5, 0.75)
_MOVED = (0.15, 0.4)  # of a query class's draws to another executor class
_FULL = 0.995  # of a link: beyond, no run shows a steady state


@dataclass(frozen=True, slots=True)
class PlacingProgress:
    """What is being done, how many runs are made, and the share of the whole work, 0 to 1.

    ``candidates``: placements that have met the best so far, or do so now.
    """

    stage: Stage
    runs: int = 0
    share: float = 0.0
    candidates: int = 0


OnPlacing = Callable[[PlacingProgress], object]
OnBetter = Callable[[Placement], None]


def place_system(
    system: System,
    objective: Objective = "mean-jct",
    check: Callable[[], None] = do_nothing,
    on_better: OnBetter = do_nothing,
    quick: bool = False,
    on_progress: OnPlacing = do_nothing,
) -> Placement:
    """Choose the placement for an objective.

    Parameters
    ----------
    objective
        ``mean-jct``: the least mean completion time; ``slo``: the smallest share of jobs beyond their SLO;
        ``formula``: the formula's optimum, the paper's problem. All are simulated.
    check
        Called before every run; what it raises ends the search and comes out.
    on_better
        Called with every placement that is the best so far.
    quick
        For answers while a slider moves: presets and the formula's optimum are compared, nothing is moved.
    on_progress
        Called with the progress after every run.

    Raises
    ------
    PlacementError
        If there is no placement with a steady state, a model fits nowhere, the objective is unknown, there is
        no SLO to keep, or the formula is asked for where executors batch.
    """
    _check(system, objective)
    began = time.perf_counter()
    search = _Search(system, objective, check, on_better, quick, on_progress)
    placement = search.placement(search.run())
    if not quick and objective != "formula":
        placement = search.not_behind(placement)
    return replace(placement, seconds=time.perf_counter() - began)


def _check(system: System, objective: str) -> None:
    if objective not in ("mean-jct", "slo", "formula"):
        raise PlacementError(f"Objective {objective!r} must be one of mean-jct, slo, formula; choose one.")
    if objective == "slo" and all(q.slo_s is None for q in system.queries):
        raise PlacementError(
            "Objective 'slo': no query class has an SLO; give a row of the workload an slo, or choose "
            "the objective 'mean-jct'."
        )
    if objective == "formula" and system.beyond_formula:
        raise PlacementError(
            "Objective 'formula': the formula has no waits for batches, shared GPUs and closed loops; choose "
            "'mean-jct', or remove these from the scenario."
        )


class _Search:
    """One choice under way; ``best`` is the best candidate so far."""

    def __init__(
        self,
        system: System,
        objective: Objective,
        check: Callable[[], None],
        on_better: OnBetter,
        quick: bool,
        on_progress: OnPlacing,
    ) -> None:
        self.system, self.objective, self.quick = system, objective, quick
        self._check, self._on_better, self._on_progress = check, on_better, on_progress
        goal: Goal = "slo" if objective == "slo" else "mean-jct"
        self._budget = EventBudget(QUICK_EVENTS if quick else EVENTS)
        self._race = Race(system, self._budget, goal, check, self._after_run)
        self._runs, self._compared = 0, 0
        self._formula: Placement | None = None
        self._known: dict[bytes, SampledCandidates] = {}
        self._lead: tuple[float, float] | None = None
        self._best: Candidate | None = None
        self._second: Candidate | None = None
        self._level = SURE if objective == "slo" else 0.0  # few jobs are late: luck could make a winner
        self._beaten: set[str] = set()  # those that all know, where they were far behind

    def run(self) -> Candidate:
        """Return the best candidate."""
        self._on_progress(PlacingProgress("simulation"))
        if self.objective == "formula" or self.system.total_rate <= 0:
            return self._solved() or self._start()
        best = self._start()
        self._on_progress(PlacingProgress("formula", self._runs, self._budget.spent, self._compared))
        solved = self._solved()
        if solved is not None:
            best = self._compete([best, solved], rounds=_FIRST_ROUNDS)
        if self.quick:
            return best
        for turn in range(TURNS):
            before, level = best, SURE if turn > 0 else self._level
            for group in groups_of(self.system, best.queries):
                if self._budget.left <= 0:
                    break
                best = self._compete([best, *self._others(group, best)], level=level)
            best = self._compete([best, *_other_shares(self.system, best)], level=level)
            if same(before.queries, best.queries) and before.shares is best.shares:
                break
        if self._second is not None:
            best = self._compete([best, *mixtures(best, self._second, _MIXED)], level=SURE)
        return best

    def _start(self) -> Candidate:
        """Return the best of the presets, and of the sensible shares of the executor classes."""
        shares = sensible_shares(self.system)
        best = self._compete(starts(self.system, shares[0]), rounds=_FIRST_ROUNDS)
        if len(shares) > 1 and not self.quick:
            best = self._compete([best, *(replace(best, origin="shares", shares=s) for s in shares[1:])])
        return best

    def _solved(self) -> Candidate | None:
        """Return the formula's optimum; ``None`` where the formula has no waits."""
        if self.system.beyond_formula:
            return None
        self._check()
        self._formula = solve(self.system)
        return Candidate("formula", self._formula.queries, self._formula.class_shares)

    def _others(self, group: EqualSubgraphs, best: Candidate) -> list[Candidate]:
        """Return the best candidate with another configuration of ``group``; many go by the formula."""
        rows = choices(self.system, group, best.queries)
        some = rows[:: -(-len(rows) // MOST_PREDICTED)]  # evenly, of the moves of a wide interior
        tried = [Candidate("move", group.placed(best.queries, row), best.shares) for row in some]
        tried = [c for c in tried if not same(c.queries, best.queries)]
        if len(tried) > ALL:
            tried = sorted(tried, key=self._predicted_s)[:MOST_TRIED]
        return tried

    def _compete(
        self, candidates: Sequence[Candidate], level: float = 0.0, rounds: int = ROUNDS
    ) -> Candidate:
        """Race candidates, the first of which is the best so far, and return the best.

        ``level``: the first is only replaced by one whose lead over it has an interval of this level above 0.
        """
        possible = [c for c in candidates if self._is_possible(c)] or list(candidates[:1])
        if self._best is not None and (self._budget.left <= 0 or len(possible) == 1):
            return self._best
        self._compared += len(possible) - (self._best is not None)
        contenders = [self._contender(c) for c in possible]
        outcome = self._race.run(contenders, rounds)
        order = [possible[contenders.index(t.contender)] for t in outcome.order]
        if level and order[0] is not possible[0] and not outcome.is_first_beaten(level):
            return possible[0]
        self._take_outcome(order, outcome)
        return order[0]

    def _contender(self, candidate: Candidate) -> Contender:
        return Contender(
            NONA, build_tables(self.system, candidate.queries, shares=candidate.shares, aligned=True)
        )

    def _take_outcome(self, order: Sequence[Candidate], outcome: RaceResult) -> None:
        lead, value = outcome.lead, outcome.best.mean
        for candidate, trial in zip(order[1:], outcome.order[1:], strict=True):
            if candidate.origin in _KNOWN and self._race.is_far_behind(trial, outcome.best):
                self._beaten.add(candidate.origin)
        if lead is not None:
            unit = value if self.objective != "slo" and value > 0 else 1.0
            ahead = lead.mean / unit, lead.half_width / 2 / unit
            if order[0] is not self._best or self._lead is None or ahead < self._lead:
                self._lead, self._second = ahead, order[1]
        if order[0] is not self._best:
            self._best = order[0]
            self._on_better(self._placement(order[0], figures_of(self.system, outcome.best.runs)))

    def _is_possible(self, candidate: Candidate) -> bool:
        """Whether the links have a steady state; shares of the executors are only tried if these have one."""
        known = self._known_of(candidate.shares)
        return link_utilization(self.system, candidate.queries, candidate.shares, known) < _FULL

    def _known_of(self, shares: Floats | None) -> SampledCandidates:
        key = b"" if shares is None else shares.tobytes()
        return self._known.setdefault(key, SampledCandidates(self.system, shares))

    def _predicted_s(self, candidate: Candidate) -> float:
        prediction = self.predicted(candidate)
        return math.inf if prediction is None else prediction.mean_s

    def predicted(self, candidate: Candidate) -> Prediction | None:
        """By formula; ``None`` where executors are overloaded."""
        try:
            return predict(self.system, candidate.queries, candidate.shares, self._known_of(candidate.shares))
        except NonaError:
            return None

    def placement(self, candidate: Candidate) -> Placement:
        """Return the candidate as a placement, with figures of new runs.

        Raises ``PlacementError`` where executors are overloaded.
        """
        return self._placement(candidate, simulated_figures(self.system, candidate.queries, candidate.shares))

    def _placement(self, candidate: Candidate, figures: SimulatedPlacement) -> Placement:
        formula = self._formula
        lead, error = self._lead or (None, None)
        return Placement(
            queries=candidate.queries,
            prediction=self.predicted(candidate) or predict(self.system, candidate.queries, candidate.shares),
            origin=candidate.origin,
            seconds=0.0,
            notes=() if formula is None else formula.notes,
            class_shares=candidate.shares,
            formula=None if formula is None else formula.formula,
            simulated=SimulatedPlacement.from_fields(
                figures, candidates=max(self._compared, 1), lead=lead, lead_error=error
            ),
            objective=self.objective,
        )

    def not_behind(self, placement: Placement) -> Placement:
        """``placement``, or the best of those that all know, where that has better figures.

        In a tie the last race may have taken the one that new runs show to be behind. Those that were far
        behind in a race are not simulated again.
        """
        wanted = set(_KNOWN) - self._beaten
        known = [c for c in starts(self.system, placement.class_shares) if c.origin in wanted]
        others = [c for c in known if self._is_possible(c) and not same(c.queries, placement.queries)]
        best = min((placement, *(self.placement(c) for c in others)), key=_figure)
        if best is placement or best.simulated is None:
            return placement
        unled = SimulatedPlacement.from_fields(best.simulated, lead=None, lead_error=None)
        return replace(best, simulated=unled)

    def _after_run(self) -> None:
        self._runs += 1
        self._on_progress(PlacingProgress("simulation", self._runs, self._budget.spent, self._compared))


def _figure(placement: Placement) -> float:
    """Return what the objective of a placement counts, by its figures."""
    misses = placement.simulated.misses if placement.simulated and placement.objective == "slo" else None
    return placement.objective_s if misses is None else misses


def _late(placement: Placement) -> Estimate | None:
    """Return the simulated share of late jobs, where SLOs are the objective."""
    simulated = placement.simulated
    if simulated is None or placement.objective != "slo":
        return None
    return Estimate(mean=simulated.misses, ci95=simulated.misses_ci95)


def sensible_shares(system: System) -> list[Floats | None]:
    """Shares of the executor classes with a steady state; the even draw first, if it has one.

    Raises ``PlacementError`` where no shares have one.
    """
    default, allowed = default_shares(system), allowed_classes(system)
    if not system.queries or not is_choice(system, allowed):
        check_feasible(system, default)
        return [default]
    loads = loads_of(system, allowed)
    peak, balanced = loads.least_peak()
    if peak >= 1:
        check_feasible(system, balanced)
    return list(starting_shares(system, loads)) or [balanced]


def _other_shares(system: System, best: Candidate) -> Iterator[Candidate]:
    """Yield the best candidate with part of a query class's draws moved to another executor class."""
    allowed = allowed_classes(system)
    if not is_choice(system, allowed):
        return
    loads, now = loads_of(system, allowed), best.shares
    shares = system.uniform_shares if now is None else now
    for j, row in enumerate(shares):
        for k in np.flatnonzero(loads.allowed[j]).tolist():
            for part in _MOVED:
                changed = shares.copy()
                changed[j] = (1 - part) * row + part * np.eye(len(row))[k]
                if np.abs(changed - shares).max() > 1e-6 and loads.utilization(changed).max() < 1.0:
                    yield Candidate("shares", best.queries, changed)


class SearchSteps:
    """Collects the steps of one search; ``best`` is the best placement so far.

    Steps of one origin are different placements, so each has a name of its own: ``move``, ``move 2``, …
    """

    best: Placement | None
    steps: tuple[SearchStep, ...]

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.best, self.steps = None, ()
        self._clock, self._began = clock, clock()

    def add(self, placement: Placement) -> None:
        """Add a placement that is better than all before."""
        elapsed_s = self._clock() - self._began
        self.best = replace(placement, seconds=elapsed_s)
        simulated, origin = placement.simulated, placement.origin
        before = sum(step.origin.partition(" ")[0] == origin for step in self.steps)
        step = SearchStep(
            elapsed_s=elapsed_s,
            mean_s=placement.objective_s,
            ci95=None if simulated is None else simulated.ci95,
            late=_late(placement),
            origin=f"{origin} {before + 1}" if before else origin,
            candidates=1 if simulated is None else simulated.candidates,
        )
        self.steps = (*self.steps, step)
