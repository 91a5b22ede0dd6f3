"""Placements judged by simulation: short runs, the referee, rehearsals, search steps.

``nona-live`` estimates when a split query would end. The estimate does not know the queries that come later,
so where many are split at once it can lose to splitting fewer, to splitting none, or to drawing
configurations as the placement says. That shows before a run: the candidates are simulated in short runs with
common random numbers, and the quickest is taken.

The response is within about 10 % of what is simulated, so of two placements that are nearer to each other it
can name the wrong one; and where jobs come back to servers it can be far too low (``docs/joins.md``). So the
nearest rivals, and local whatever is predicted of it, are simulated with common random numbers that no later
run uses, in rounds, until the quickest is clearly quicker or the difference does not matter.

A search tells of every placement that its own few samples prefer. Here each is judged once more by the
samples of the final report, so that steps can be compared with each other, with local and with spread, and
one that is not better there is left out. The first step may have no bound: the formula is solved later.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from nona.arrays import Floats
from nona.placement.result import Objective, Placement, Rival, Sampled
from nona.placement.sampled.judge import Values, bounded, by_response, certificate_of, mean_of
from nona.placement.sampled.search import Improved, choose_placement, has_large_interior, judged, local_answer
from nona.placement.solve import solve
from nona.results.placement import SearchStep
from nona.schedulers.base import Prepared, Scheduler
from nona.schedulers.registry import get_scheduler
from nona.schedulers.sampling_tables import build_tables
from nona.simulation.run import RunOptions, simulate_run
from nona.statistics import paired_difference
from nona.system import System

PlacingStage = Literal["formula", "search", "simulation"]
STAGES: tuple[PlacingStage, ...] = ("formula", "search", "simulation")


@dataclass(frozen=True, slots=True)
class PlacingProgress:
    """A report during the choice of a placement.

    ``stage``: ``formula``: the formula is solved; ``search``: placements are judged by sampled jobs;
        ``simulation``: the nearest are compared by short runs.
    ``done``: placements judged, or runs made, in this stage.
    ``share``: of the stage's limit that is spent, 0 to 1: the stage ends there, or before.
    """

    stage: PlacingStage
    done: int = 0
    share: float = 0.0

    @property
    def whole(self) -> float:
        """The share of all stages, each taken as equally long.

        >>> PlacingProgress("search", 12, 0.5).whole
        0.5
        """
        return (STAGES.index(self.stage) + self.share) / len(STAGES)


PlacingTold = Callable[[PlacingProgress], None]


def untold(progress: PlacingProgress) -> None:
    """Nobody wants to know."""


RUNS = 5  # of a round: the fewest pairs that give a variance to rely on
QUICK_RUNS = 2  # where an answer is wanted at once
EVENTS = 40_000  # tasks and background arrivals of one run, about
_FIRST = 1_000_000  # number of the first replication: nobody else uses these random numbers
_FEWEST = 500  # jobs of a run


def _short_means_s(
    system: System,
    scheduler: Scheduler,
    prepared: Prepared,
    turn: int = 0,
    check: Callable[[], None] = lambda: None,
    runs: int = RUNS,
) -> Floats:
    """(runs,) Mean completion time of each run of round ``turn``, seconds; at most RUNS of them.

    Infinite where the system was overloaded. Equal rounds have common random numbers.
    """
    jobs, means = _jobs_of(system), []
    for r in range(runs):
        check()
        options = RunOptions(jobs=jobs, replication=_FIRST + turn * RUNS + r)
        records = simulate_run(system, scheduler, prepared, options)
        means.append(np.inf if records.state == "overloaded" else float(records.completion_time_s.mean()))
    return np.array(means)


def _jobs_of(system: System) -> int:
    """Jobs of a run of about ``EVENTS`` events: tasks, and background arrivals while a job arrives."""
    rate = system.total_rate
    if rate <= 0:
        return _FEWEST
    tasks = sum(q.rate * len(q.tasks) for q in system.queries) / rate
    background = system.background_network.rate + system.executors * system.background_compute.rate
    return max(round(EVENTS / (tasks + background / rate)), _FEWEST)


Chosen = tuple[Scheduler, Prepared]


def rehearsed(
    system: System,
    scheduler: Scheduler,
    placement: Placement | None,
    options: Mapping[str, Any],
    check: Callable[[], None] = lambda: None,
    runs: int = RUNS,
) -> Chosen:
    """A scheduler and its tables, by the fastest of its ``rehearsals`` unless ``options`` settle them.

    ``placement`` goes to schedulers that need one; ``runs`` are simulated of each candidate. Of equally
    quick candidates the first is taken.
    """
    ways = [r for r in scheduler.rehearsals if not r.options.keys() & options.keys()]
    if len(ways) < len(scheduler.rehearsals) or len(ways) < 2 or system.total_rate <= 0:
        return scheduler, _prepared(system, scheduler, placement, options)
    candidates: list[Chosen] = []
    for way in ways:
        decides = get_scheduler(way.decided_by) if way.decided_by else scheduler
        own = way.options if way.decided_by else {**options, **way.options}
        candidates.append((replace(decides, name=scheduler.name), _prepared(system, decides, placement, own)))
    means = [float(_short_means_s(system, *chosen, check=check, runs=runs).mean()) for chosen in candidates]
    return candidates[means.index(min(means))]


def _prepared(
    system: System, scheduler: Scheduler, placement: Placement | None, options: Mapping[str, Any]
) -> Prepared:
    return scheduler.prepare(system, placement if scheduler.needs_placement else None, options)


ROUNDS = 4
RIVALS = 3
SAME = 0.005  # relative: a difference that does not matter


def decide(
    system: System,
    placement: Placement,
    check: Callable[[], None] = lambda: None,
    on_share: Callable[[float], None] = lambda share: None,
) -> Placement:
    """The placement, or the rival that is faster when all of them are simulated.

    Only placements whose objective is the mean JCT, judged by sampled jobs, have rivals here. ``on_share`` is
    called after each run but the last with the share that is made of all that there may be.
    """
    sampled = placement.sampled
    if sampled is None or sampled.objective != "mean-jct" or not sampled.rivals:
        return placement
    rivals = sampled.rivals[:RIVALS]
    field = [placement.queries, *(rival.queries for rival in rivals)]
    means: dict[int, Floats] = dict.fromkeys(range(len(field)), np.zeros(0))
    scheduler = get_scheduler("nona")
    tables = [build_tables(system, queries, shares=placement.class_shares) for queries in field]
    runs = _Runs(ROUNDS * len(field) * RUNS, check, on_share)
    for turn in range(ROUNDS):
        means = {
            n: np.append(m, _short_means_s(system, scheduler, tables[n], turn, runs.next))
            for n, m in means.items()
        }
        means = _still_open(means)
        if len(means) == 1:
            break
    best = min(means, key=lambda n: float(means[n].mean()))
    return placement if best == 0 else _replaced(system, placement, rivals[best - 1])


class _Runs:
    def __init__(self, most: int, check: Callable[[], None], on_share: Callable[[float], None]) -> None:
        self._most, self._check, self._on_share, self._done = most, check, on_share, 0

    def next(self) -> None:
        self._check()
        if self._done:
            self._on_share(self._done / self._most)
        self._done += 1


def _still_open(means: dict[int, Floats]) -> dict[int, Floats]:
    """The fastest, and those that are neither clearly slower nor equal within the tolerance."""
    best = min(means, key=lambda n: float(means[n].mean()))
    quickest = means[best]
    kept = {best: quickest}
    for n, other in means.items():
        if n == best or not np.isfinite(other).all():
            continue
        paired = paired_difference(other, quickest)
        if not paired.is_clear and paired.difference.mean > SAME * float(quickest.mean()):
            kept[n] = other
    return kept


def _replaced(system: System, placement: Placement, rival: Rival) -> Placement:
    values = mean_of(system, placement, rival.queries)
    chosen = judged(system, placement, rival.queries, values, rival.origin)
    note = f"In simulation, {rival.origin} was faster than the placement that sampled jobs preferred."
    return replace(chosen, notes=(note, *placement.notes), sampled=_figures(placement, rival, values))


def _figures(placement: Placement, rival: Rival, values: Values) -> Sampled | None:
    """The figures of the search, with the rival as the chosen placement."""
    figures = placement.sampled
    if figures is None:
        return None
    return replace(
        figures,
        value=values.value,
        error=values.error,
        gain=figures.formula_value - values.value,
        gain_error=math.hypot(values.error, placement.objective_error_s),  # unpaired: rather too large
        queries=tuple(float(y.mean()) for y in values.y),
        origin=rival.origin,
        rivals=tuple(other for other in figures.rivals if other is not rival),
    )


FORMULA_S = 3.0  # about how long large interiors are worked on where the formula gives a start only
QUICK_S = 0.6


def place_system(
    system: System,
    objective: Objective = "mean-jct",
    solver: str = "parametric",
    check: Callable[[], None] = lambda: None,
    on_better: Improved = lambda placement: None,
    quick: bool = False,
    on_progress: PlacingTold = untold,
) -> Placement:
    """Choose the placement for an objective.

    ``mean-jct`` and ``slo`` solve the formula, then judge its optimum and others by sampled jobs
    (:mod:`nona.placement.sampled.search`); ``formula`` stops at the formula's optimum, the paper's problem.
    ``check`` is called now and then in a search that takes seconds; what it raises comes out.
    ``on_better`` is called with every placement that is the best so far. ``quick`` is for answers while a
    slider moves and for searches over many systems: starts are judged, but neither improved nor simulated.
    ``on_progress`` is called with every :class:`~nona.study.placing.PlacingProgress`.

    Raises ``PlacementError`` when there is none, or for an unknown solver or objective.
    """
    on_progress(PlacingProgress("formula"))
    if objective == "mean-jct" and (has_large_interior(system) or system.batches):
        on_better(local_answer(system))  # the formula takes seconds there, or longer
    check()
    if objective == "formula":
        return solve(system, solver)
    optimum = solve(system, solver, time_s=QUICK_S if quick else FORMULA_S)
    work_s = QUICK_S if quick else None
    search, runs = _Counted("search", on_progress), _Counted("simulation", on_progress)
    chosen = choose_placement(
        system,
        optimum,
        objective,
        work_s=work_s,
        check=check,
        on_better=on_better,
        on_spent=search.tell,
    )
    return chosen if quick else decide(system, chosen, check, runs.tell)


class _Counted:
    def __init__(self, stage: PlacingStage, listener: PlacingTold) -> None:
        self._stage, self._told, self._done = stage, listener, 0

    def tell(self, share: float) -> None:
        self._done += 1
        self._told(PlacingProgress(self._stage, self._done, share))


class SearchSteps:
    """Collects the steps of one search; ``best`` is the best placement so far."""

    def __init__(self, system: System, clock: Callable[[], float] = time.perf_counter) -> None:
        self.system, self.best, self.steps = system, None, ()
        self._clock, self._began = clock, clock()

    best: Placement | None
    steps: tuple[SearchStep, ...]

    def take(self, placement: Placement) -> bool:
        """Add a placement of the search; return whether the best, or its bound, changed."""
        new, old = bounded(self.system, by_response(self.system, placement)), self.best
        if old is None or new.objective_s < old.objective_s:
            self._become(new)
            return True
        if math.isnan(old.lower_bound_s) and not math.isnan(new.lower_bound_s):
            self._become(_with_bound_of(self.system, old, new))
            return True
        return False

    def finish(self, placement: Placement) -> None:
        """Add the result, which is final whatever the steps were."""
        last = self.best
        bound_is_new = last is not None and math.isnan(last.gap) and not math.isnan(placement.gap)
        if last is None or bound_is_new or last.objective_s != placement.objective_s:
            self._become(placement)
        self.best = placement  # with the seconds that it counts itself

    def _become(self, best: Placement) -> None:
        elapsed_s = self._clock() - self._began
        self.best = replace(best, seconds=elapsed_s)
        step = SearchStep.like(
            best, elapsed_s=elapsed_s, error_s=best.objective_error_s, batches=self.system.batches
        )
        self.steps = (*self.steps, step)


def _with_bound_of(system: System, placement: Placement, solved: Placement) -> Placement:
    """The same with the certificate and the bounds of a placement for which the formula was solved."""
    return bounded(
        system,
        replace(
            placement,
            formula=certificate_of(solved),
            global_bound_s=solved.global_bound_s,
            solver=solved.solver,
            notes=solved.notes,
        ),
    )
