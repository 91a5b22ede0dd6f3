"""Beyond an edge: the ratio to nona over the length of the run, on which it depends.

In an overloaded system the queue grows as long as jobs come, so the mean completion time of the first n
jobs grows with n: about in proportion, as each waits for what the bottleneck was given too much before
it. Any ratio can be had from a run that is long enough, unless the scheduler reacts to the congestion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from nona.report.sweeps.report import REFERENCE
from nona.results.studies.paper import Growth, OverloadRun
from nona.scenario.schema import Scenario
from nona.schedulers.base import Prepared, Scheduler
from nona.simulation.records.run import Records
from nona.simulation.run import RunOptions, simulate_run
from nona.sources.lookup import Sources
from nona.study.preparation import prepare
from nona.study.simulating.run import chosen_schedulers, place
from nona.system import System

OVERLOAD = 0.95  # of the link, taken by others: beyond the edge of every scheduler that spreads
MOST_PICKED = 30_000  # jobs: a scheduler that picks searches all that waits, which here grows and grows


def growth(
    scenario: Scenario,
    sources: Sources,
    lengths: Sequence[int],
    claim: float,
    engine: str = "auto",
    check: Callable[[], None] = lambda: None,
) -> Iterator[tuple[float, Growth | None]]:
    """One run from an idle cluster, without warm-up, of each of ``lengths`` jobs, for each scheduler.

    Yields the share that is done, and with each scheduler's last run all of its runs. Jobs that were not
    complete when a run was cut off count with their age. Lengths go up until the ratio reaches ``claim``.
    Schedulers that are stable have none.
    """
    study = prepare(scenario, sources)
    placement = place(study)
    chosen = chosen_schedulers(study, placement)
    nona = next(pair for pair in chosen if pair[0].name == REFERENCE)
    beside: dict[int, float] = {}
    for done, (scheduler, prepared) in enumerate(chosen, 1):
        runs: list[OverloadRun] = []
        state = "stable"
        for jobs in lengths if scheduler.name != REFERENCE else ():
            check()
            if scheduler.picks and jobs > MOST_PICKED:
                break
            if jobs not in beside:
                beside[jobs] = _mean(_run(study.system, nona, jobs, engine))
            found = _run(study.system, (scheduler, prepared), jobs, engine)
            state = found.state
            if state != "overloaded":
                break
            runs.append(_row(found, beside[jobs]))
            yield (done - 1 + len(runs) / (len(lengths) + 1)) / len(chosen), None
            if runs[-1].ratio >= claim:
                break
        row = Growth(scheduler=scheduler.name, kind=scheduler.kind, runs=tuple(runs))
        yield done / len(chosen), row if state == "overloaded" else None


def _run(system: System, chosen: tuple[Scheduler, Prepared], jobs: int, engine: str) -> Records:
    return simulate_run(system, *chosen, RunOptions(jobs=jobs, warmup=0, engine=engine))


def _mean(records: Records) -> float:
    """Mean JCT (s); jobs that were not complete at the end of the run count with their age at that time.

    The cut is after the last completion that was seen, so that this is a lower bound.
    """
    end = np.nanmax(records.completion_s)
    times = np.where(np.isnan(records.completion_s), end, records.completion_s) - records.arrival_s
    return float(np.maximum(times, 0.0).mean())


def _row(records: Records, nona_s: float) -> OverloadRun:
    mean = _mean(records)
    return OverloadRun(
        jobs=records.jobs,
        length_s=records.window_s[1] - records.window_s[0],
        jct_s=mean,
        unfinished=int(records.jobs - records.tally.completed.sum()),
        ratio=mean / nona_s,
        offered_link=records.offered[1],
    )
