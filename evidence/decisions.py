"""Contests of schedulers, cell by cell: is the placement the fastest in simulation?

Effort goes where it decides: what a short run shows to have no steady state, or one run to be far
behind, is not repeated. The others are, in rounds, until each :class:`Question` has a ratio that is known
well enough (:func:`is_precise`) or :attr:`Effort.most` runs are done. Stopping at a narrow interval costs
it a little coverage, so no round is shorter than :attr:`Effort.replications`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from evidence.decision_cells import (
    GPU,
    LINKS,
    SERVERS,
    Cell,
    Workload,
    all_cells,
    cell_scenario,
    distributes,
    facts,
    fraction,
    loads_only,
    workload_table,
)
from evidence.provenance import OnProgress, check_least, measured, origin, rounded_result
from evidence.results import (
    DecisionAbout,
    DecisionStudy,
    Entrant,
    PlacementFigures,
    RatioToBest,
    SimulatedCell,
    UnplacedCell,
)
from nona.core.errors import PlacementError, SimulationError
from nona.core.experiments import do_nothing
from nona.core.statistics import Ratio, mean_interval, paired_ratio
from nona.queries.placement.result import Placement
from nona.queries.schedulers.base import Scheduler, SchedulerTables
from nona.queries.schedulers.registry import get_scheduler, scheduler_names
from nona.queries.simulation.records import Records
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.simulation.summary import MeasuredJobs
from nona.queries.system import System
from nona.queries.workflows.placements import place, steady_spread
from nona.queries.workflows.preparation import PreparedSystem, prepare
from nona.queries.workflows.rehearsal import rehearsed
from nona.queries.workflows.shipped import choice

PRECISE, SHARE = 0.005, 0.1  # half-width of a ratio: this, or this share of its distance from 1
BEHIND = 1.25  # times the best in the first run: not repeated
PILOT_JOBS, PILOT_WARMUP = 200, 50


@dataclass(frozen=True, slots=True)
class Effort:
    """Jobs of a run, before it, and after it until it is cut off; runs of a round; most runs; the engine."""

    jobs: int
    warmup: int
    tail: int
    replications: int
    most: int
    engine: str = "auto"


@dataclass(frozen=True, slots=True)
class Question:
    """The ratio of the mean JCT of ``who`` to that of the best of its ``rivals``."""

    who: str
    rivals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The rival with the least mean, and the ratio to it on the same jobs."""

    best: str
    ratio: Ratio


def is_precise(ratio: Ratio) -> bool:
    """Return whether the half-width is at most half a per cent, or a tenth of the distance from 1.

    >>> is_precise(Ratio(1.9, 1.85, 1.95, 5)), is_precise(Ratio(1.01, 1.0, 1.02, 5))
    (True, False)
    """
    return (ratio.high - ratio.low) / 2 <= max(PRECISE, SHARE * abs(ratio.value - 1.0))


def reason(records: Records) -> str:
    """Explain the lack of a steady state in a few words."""
    executors, link = records.offered
    if max(executors, link) >= 1:
        return f"offered to {'the link' if link > executors else 'executors'}: {max(executors, link):.2f}"
    return "jobs left behind"


@dataclass(eq=False)
class Contest:
    """The runs so far: scheduler → mean JCT of each run; schedulers without a steady state → the reason."""

    system: System
    chosen: Mapping[str, tuple[Scheduler, SchedulerTables]]
    effort: Effort
    questions: Sequence[Question]
    means_s: dict[str, list[float]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    _first_half_s: dict[str, float] = field(default_factory=dict)

    def hold(self) -> None:
        """Run it all."""
        asked = [q.who for q in self.questions]
        for name in self.chosen:
            if name in asked or self._survives(name):
                self._repeat(name, 1)
        kept, count = self._worth_repeating(), self.effort.replications
        while kept:
            for name in kept:
                self._repeat(name, count)
            count += self.effort.replications
            kept = self._undecided() if count <= self.effort.most else []

    def entrant(self, name: str) -> Entrant:
        """The mean of a scheduler with Student's interval over its runs, or by batch means for one run."""
        if name in self.reasons:
            return Entrant(reason=self.reasons[name])
        interval = mean_interval(self.means_s[name])
        half = interval.half_width if interval.n > 1 else self._first_half_s[name]
        return Entrant(mean_s=interval.mean, half_width_s=half, runs=interval.n)

    def answer(self, question: Question) -> Answer | None:
        """``None`` where ``who`` or all of its rivals have no steady state."""
        rivals = [r for r in question.rivals if self._is_steady(r)]
        if not rivals or not self._is_steady(question.who):
            return None
        most = max(len(self.means_s[r]) for r in rivals)
        best = min((r for r in rivals if len(self.means_s[r]) == most), key=self._mean)
        return Answer(best, self._ratio(question.who, best))

    def _worth_repeating(self) -> list[str]:
        """Schedulers that a question is about, and those near to the best rival in the first run."""
        kept = set()
        for question in self.questions:
            rivals = [r for r in question.rivals if self._is_steady(r)]
            least = min((self.means_s[r][0] for r in rivals), default=math.inf)
            kept |= {r for r in rivals if self.means_s[r][0] <= BEHIND * least}
            kept |= {question.who} if self._is_steady(question.who) else set()
        return [name for name in self.chosen if name in kept]

    def _undecided(self) -> list[str]:
        """Those whose further runs may change an answer that is not yet precise."""
        kept = set()
        for question in self.questions:
            answer = self.answer(question)
            if answer is not None and not is_precise(answer.ratio):
                close = [r for r in question.rivals if self._is_steady(r) and len(self.means_s[r]) > 1]
                kept |= {r for r in close if not self._ratio(r, answer.best).low > 1}
                kept |= {question.who, answer.best}
        return [name for name in self.chosen if name in kept]

    def _ratio(self, a: str, b: str) -> Ratio:
        both = min(len(self.means_s[a]), len(self.means_s[b]))
        return paired_ratio(self.means_s[a][:both], self.means_s[b][:both])

    def _mean(self, name: str) -> float:
        return float(np.mean(self.means_s[name]))

    def _is_steady(self, name: str) -> bool:
        return name in self.means_s and name not in self.reasons

    def _survives(self, name: str) -> bool:
        """Return whether a short run shows no overload; else note the reason."""
        records = self._run(name, PILOT_JOBS, PILOT_WARMUP, self.effort.tail, 0)
        unfinished = records.jobs - int(records.tally.completed.sum())
        if max(records.offered) >= 1 or unfinished:
            self.reasons[name] = reason(records)
        return name not in self.reasons

    def _repeat(self, name: str, until: int) -> None:
        """Run of ``name`` up to the number ``until``; the first without a steady state ends them."""
        means = self.means_s.setdefault(name, [])
        while len(means) < until and name not in self.reasons:
            size = self.effort
            tail = max(size.tail, size.jobs)
            records = self._run(name, size.jobs, size.warmup, tail, len(means))
            if records.state == "overloaded":
                self.reasons[name] = reason(records)
                return
            measured = MeasuredJobs([records], [None] * len(self.system.queries))
            if not means:
                self._first_half_s[name] = measured.mean_jct().half_width
            means += measured.mean_jcts()

    def _run(self, name: str, jobs: int, warmup: int, tail: int, number: int) -> Records:
        options = RunOptions(
            jobs=jobs, warmup=warmup, tail_jobs=tail, replication=number, engine=self.effort.engine
        )
        return simulate_run(self.system, *self.chosen[name], options)


BLIND = ("nona", "local", "spread", "expert")  # see no queue
AWARE = ("nona-live", "least-loaded", "nona-d2", "jsq-d", "opportunistic", "spark-fair")
REFERENCE, LIVE = "nona", "nona-live"
SHORTEST, LONGEST = 800, 20_000  # jobs of a run
SERVICES, TAIL = 60, 20  # services of the largest job that a run takes at least, and that follow it
SHORTEST_TAIL = 400  # jobs


@dataclass(frozen=True, slots=True)
class Size:
    """Size of the simulation: ``jobs`` jobs in a run, or about ``events`` events; else as :class:`Effort`."""

    events: int = 40_000
    jobs: int | None = None
    replications: int = 5
    most: int = 10
    engine: str = "compiled"


def measure(workload: Workload, cell: Cell, size: Size, seed: int = 0) -> SimulatedCell | UnplacedCell:
    """Place and simulate a cell.

    ``blind`` compares nona with the best of the others that see no queue, ``live`` nona-live with the best
    of all others.
    """
    begin = time.process_time()
    study = prepare(cell_scenario(workload, cell, seed))
    try:
        placement = place(study)
    except PlacementError as error:
        return UnplacedCell.from_fields(
            cell, network=workload.name, error=str(error), seconds=time.process_time() - begin
        )
    placed_s = time.process_time() - begin
    contest = _contest_of(study, placement, effort(study, cell, size))
    contest.hold()
    questions = {question.who: contest.answer(question) for question in contest.questions}
    blind = questions[REFERENCE]
    return SimulatedCell.from_fields(
        cell,
        network=workload.name,
        jobs=contest.effort.jobs,
        placement=_placement_figures(placement, placed_s),
        schedulers={name: contest.entrant(name) for name in (*contest.chosen, *_unheld(contest))},
        blind=_answer(blind),
        live=_answer(questions.get(LIVE)),
        seconds=time.process_time() - begin,
    )


def _placement_figures(placement: Placement, seconds: float) -> PlacementFigures:
    """Figures of a placement that took ``seconds`` of CPU time."""
    predicted, formula, simulated = placement.prediction, placement.formula, placement.simulated
    return PlacementFigures(
        objective_s=placement.objective_s,
        predicted_s=predicted.jct_s,
        formula_s=None if formula is None else formula.objective_s,
        gap=None if formula is None else formula.gap,
        origin=placement.origin,
        candidates=1 if simulated is None else simulated.candidates,
        link=predicted.network_utilization,
        executors=predicted.compute_utilization,
        seconds=seconds,
    )


def effort(study: PreparedSystem, cell: Cell, size: Size) -> Effort:
    """Jobs for about as many events in every cell, but as many as :data:`SERVICES` of the largest job take.

    Events are tasks and the background messages that arrive meanwhile. The relaxation time of a queue at
    load ρ is about 1/(1 − ρ)² services; the warm-up is twice as long, counted in services of the largest
    job, and at least a tenth of the jobs. A run is cut off :data:`TAIL` such services after it.

    Source of the relaxation time: Abate and Whitt, Transient behavior of regulated Brownian motion, I,
    Advances in Applied Probability 19, 1987 (recollected).
    """
    system = study.system
    longest_s = max(float(q.tasks.compute_s[0].sum()) for q in system.queries)
    service = longest_s * system.total_rate  # jobs that arrive in the time of the largest
    events = sum(q.rate * len(q.tasks) for q in system.queries) + system.background_network.rate
    wanted = min(max(round(size.events * system.total_rate / events), SHORTEST), LONGEST)
    jobs = size.jobs or max(wanted, round(SERVICES * service))
    warmup = max(round(2.0 / (1.0 - cell.load) ** 2 * service), jobs // 10)
    tail = max(round(TAIL * service), SHORTEST_TAIL)
    return Effort(jobs, warmup, tail, size.replications, max(size.most, size.replications), size.engine)


def _contest_of(study: PreparedSystem, placement: Placement, effort: Effort) -> Contest:
    """Return the comparison of all schedulers of the study that this version includes."""
    included = [n for n in (*BLIND, *AWARE) if n in scheduler_names()]
    reasons = {}
    if steady_spread(study) is None:
        reasons["spread"] = "overload of link or executors, by formula"
    chosen = {}
    for name in included:
        if name not in reasons:
            chosen[name] = rehearsed(study.system, get_scheduler(name), placement, {})
    questions = [Question(REFERENCE, tuple(n for n in included if n in BLIND and n != REFERENCE))]
    if LIVE in included:
        questions.append(Question(LIVE, tuple(n for n in included if n != LIVE)))
    return Contest(study.system, chosen, effort, questions, reasons=reasons)


def _unheld(contest: Contest) -> list[str]:
    return [name for name in contest.reasons if name not in contest.chosen]


def _answer(answer: Answer | None) -> RatioToBest | None:
    if answer is None:
        return None
    ratio = answer.ratio
    return RatioToBest(best=answer.best, ratio=ratio.value, low=ratio.low, high=ratio.high, pairs=ratio.n)


Task = tuple[str, Cell]  # a workload's name, and a cell


def _of_task(size: Size, seed: int, task: Task) -> SimulatedCell | UnplacedCell:
    name, cell = task
    return measure(workload_table()[name], cell, size, seed)


DIGITS = 5
TWINS = frozenset(  # another network of the same family is run
    {"encoder_decoder_12", "mixture_16", "ensemble_8", "retrieval_8", "two_tower_16", "diffusion_20"}
)
FEWEST = 2  # runs of a round: below it no interval


@dataclass(frozen=True, slots=True)
class DecisionSettings:
    """The choice of cells: ``networks`` (empty: all) at ``links`` (Gbit/s), 12 cells each or ``full`` 48.

    ``jobs`` of a run: so many that all cells have about as many events where it is ``None``.
    ``replications``: runs of a round, of which there are several where schedulers are close, ``most`` runs
    in all.
    """

    networks: tuple[str, ...] = choice(
        (), "only this one; repeat for several", option="network", of="network", metavar="NAME"
    )
    links: tuple[float, ...] = choice(
        LINKS, "only this speed; repeat for several", option="link", metavar="GBIT"
    )
    full: bool = choice(False, "all 48 combinations for each network, instead of 12")
    jobs: int | None = choice(None, "jobs measured per run, instead of a fixed number of events", least=100)
    replications: int = choice(5, "independent runs per round", least=FEWEST)
    most: int = choice(10, "maximum of runs, where schedulers are close")
    seed: int = choice(0, "seed of all runs")

    def __post_init__(self) -> None:
        check_least(self)
        for network in self.networks:
            if network not in workload_table():
                raise SimulationError(
                    f"Study: network {network!r} is unknown; choose from {', '.join(workload_table())}."
                )
        for link in self.links:
            if link not in LINKS:
                names = ", ".join(f"{speed:g}" for speed in LINKS)
                raise SimulationError(f"Study: link={link:g} Gbit/s is not part of it; choose from {names}.")


def decisions_study(
    settings: DecisionSettings | None = None,
    *,
    engine: str = "compiled",
    workers: int = 1,
    on_progress: OnProgress = do_nothing,
) -> DecisionStudy:
    """Run the study; numbers are rounded to :data:`DIGITS` significant digits."""
    chosen, begin = settings or DecisionSettings(), time.perf_counter()
    tasks = planned(chosen)
    size = Size(jobs=chosen.jobs, replications=chosen.replications, most=chosen.most, engine=engine)
    rows = measured(tasks, partial(_of_task, size, chosen.seed), lambda task: task[0], workers, on_progress)
    names = dict.fromkeys(name for name, _ in tasks)
    about = _about(chosen, size, workers, time.perf_counter() - begin)
    networks = {name: facts(workload_table()[name]) for name in names}
    return rounded_result(DecisionStudy(about=about, networks=networks, cells=tuple(rows)), DIGITS)


def planned(settings: DecisionSettings) -> list[Task]:
    """Return the cells of the study, network by network.

    Twins only where they are named, or all cells are run.

    The part of a network's cells that is run depends on its place among all, not on which are chosen.
    """
    split = {name: distributes(workload) for name, workload in workload_table().items()}
    numbers = {name: n for n, name in enumerate(name for name, can in split.items() if can)}
    tasks: list[Task] = []
    usual = tuple(name for name in split if settings.full or name not in TWINS)
    for name in settings.networks or usual:
        if not split[name]:
            tasks += [(name, cell) for cell in loads_only()]
            continue
        cells = all_cells() if settings.full else fraction(numbers[name])
        tasks += [(name, cell) for cell in cells if cell.link in settings.links]
    return tasks


def _about(settings: DecisionSettings, size: Size, workers: int, seconds: float) -> DecisionAbout:
    return DecisionAbout(
        **origin("decisions", settings),
        seed=settings.seed,
        cluster=f"{SERVERS} {GPU}",
        cells="all 48" if settings.full else "12 of 48, in turn by network",
        events=size.events if size.jobs is None else None,
        jobs=size.jobs,
        replications=size.replications,
        most=max(size.most, size.replications),
        schedulers=tuple(n for n in (*BLIND, *AWARE) if n in scheduler_names()),
        workers=workers,
        seconds=seconds,
    )
