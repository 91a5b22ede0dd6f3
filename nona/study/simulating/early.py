"""Early results that improve: all schedulers after one replication, then after two, and so on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nona.errors import PlacementError
from nona.placement.result.placement import Placement
from nona.schedulers.base import Prepared, Scheduler
from nona.schedulers.registry import get_scheduler
from nona.simulation.experiments.replications import ReplicationProgress, run_replications
from nona.simulation.records.run import Records
from nona.simulation.run import RunOptions
from nona.simulation.statistics.summary import SchedulerSummary, summarize
from nona.study.cache import StudyCache
from nona.study.placing.rehearsal import rehearsed
from nona.study.placing.short_runs import QUICK_RUNS
from nona.study.preparation import Study
from nona.study.simulating.run import place

Chosen = tuple[Scheduler, Prepared]


@dataclass(frozen=True, eq=False)
class Answer:
    """The results after ``replications`` replications of every scheduler.

    ``failed`` names the schedulers that cannot run, and why: they sample from a placement, and there
    is none. ``placement`` is ``None`` then, and where no scheduler needs one. ``records`` are the runs.
    """

    summaries: Mapping[str, SchedulerSummary]
    replications: int
    placement: Placement | None
    failed: Mapping[str, str]
    seconds: float
    records: Mapping[str, tuple[Records, ...]] = field(default_factory=dict)


def answers(
    study: Study,
    *,
    engine: str = "auto",
    jobs: int | None = None,
    replications: int | None = None,
    cache: StudyCache | None = None,
    check: Callable[[], None] = lambda: None,
) -> Iterator[Answer]:
    """Simulate all schedulers of the scenario, one replication after the other, in this process.

    The replications are those of :func:`nona.study.simulate` with as many ``jobs``; a scheduler that is
    rehearsed before a study is rehearsed with fewer runs. Schedulers that
    need no placement go first, so that they have their turn before it is solved.

    Parameters
    ----------
    jobs, replications
        As in the scenario where they are not given; fewer jobs have their own, automatic warm-up, as
        has a scenario that would have it found on pilot runs: an early answer does not wait for them.
    check
        Called now and then; what it raises (``Cancelled``) ends the work and comes out.
    """
    begin = time.perf_counter()
    options, count = _options(study, engine, jobs), replications or study.scenario.simulation.replications
    entries = [(get_scheduler(e.name), e.options) for e in study.scenario.schedulers]

    def prepared(placement: Placement | None) -> list[Chosen]:
        wanted = [(s, o) for s, o in entries if s.needs_placement == (placement is not None)]
        return [rehearsed(study.system, s, placement, o, check, QUICK_RUNS) for s, o in wanted]

    chosen = prepared(None)
    runs = _run(study, chosen, options, check)
    placement, failed = None, {}
    if any(s.needs_placement for s, _ in entries):
        check()
        try:
            placement = place(study, cache=cache, quick=True)
        except PlacementError as error:
            failed = {s.name: str(error) for s, _ in entries if s.needs_placement}
        else:
            late = prepared(placement)
            runs |= _run(study, late, options, check)
            chosen += late
    for done in range(1, count + 1):
        if done > 1:
            more = _run(study, chosen, replace(options, replication=done - 1), check)
            runs = {name: (*records, *more[name]) for name, records in runs.items()}
        found = _summaries(study, [s.name for s, _ in entries], runs)
        yield Answer(found, done, placement, failed, time.perf_counter() - begin, runs)


def _options(study: Study, engine: str, jobs: int | None) -> RunOptions:
    spec = study.scenario.simulation
    whole = jobs is None or jobs >= spec.jobs
    warmup = spec.warmup if isinstance(spec.warmup, int) and whole else None
    return RunOptions(jobs=spec.jobs if jobs is None else jobs, warmup=warmup, engine=engine)


def _run(
    study: Study, chosen: Sequence[Chosen], options: RunOptions, check: Callable[[], None]
) -> dict[str, tuple[Records, ...]]:
    def on_progress(progress: ReplicationProgress) -> None:
        check()

    if not chosen:
        return {}
    return run_replications(study.system, chosen, options, 1, 1, on_progress)


def _summaries(
    study: Study, names: Sequence[str], runs: Mapping[str, Sequence[Records]]
) -> dict[str, SchedulerSummary]:
    slo_s = [q.slo_s for q in study.system.queries]
    return {n: summarize(runs[n], slo_s, study.scenario.labels) for n in names if n in runs}
