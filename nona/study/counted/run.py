"""One workload of counted jobs under several schedules."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from nona.errors import ScenarioError
from nona.options import Options
from nona.report.training.counted.report import counted_report
from nona.results.training.counted import CountedReport, CountedSetting
from nona.training.counting.engine import simulate_counted
from nona.training.counting.job import SHIPPED, read_counted_jobs, tiresias_jobs
from nona.training.counting.published import published
from nona.training.counting.schedules import SCHEDULES


@dataclass(frozen=True)
class CountedRequest:
    """What to run: jobs that ship, or a name and its CSV in ``jobs``; all schedules if none is named."""

    workload: str = SHIPPED
    jobs: bytes | None = None
    schedules: tuple[str, ...] = ()
    gpus: int = 8
    options: Mapping[str, Options] = field(default_factory=dict)


def simulate_counted_jobs(request: CountedRequest) -> CountedReport:
    """Run every schedule on the same jobs.

    Raises
    ------
    ScenarioError, SimulationError
        For a workload that does not ship or cannot be read, and jobs that cannot run.

    Examples
    --------
    >>> report = simulate_counted_jobs(CountedRequest(schedules=("fifo",)))
    >>> report.schedules["fifo"].makespan_s, report.schedules["fifo"].published_makespan_s
    (5747.0, 5747.0)
    """
    begin = time.perf_counter()
    if request.jobs is None and request.workload != SHIPPED:
        raise ScenarioError(
            [f"Workload {request.workload!r} does not ship; choose {SHIPPED}, or give a CSV file."]
        )
    own = request.jobs
    jobs = tiresias_jobs() if own is None else read_counted_jobs(own, f"Workload {request.workload!r}")
    names = [SCHEDULES.find(name).name for name in dict.fromkeys(request.schedules)] or list(SCHEDULES)
    options = {name: request.options.get(name, {}) for name in names}
    runs = {name: simulate_counted(jobs, request.gpus, SCHEDULES[name], options[name]) for name in names}
    usual = {name: own is None and not options[name] for name in names}
    known = {name: published().get((name, request.gpus)) if usual[name] else None for name in names}
    setting = CountedSetting(
        workload=request.workload,
        jobs=len(jobs),
        gpus=request.gpus,
        options={name: {**SCHEDULES[name].defaults, **options[name]} for name in names},
    )
    return counted_report(runs, known, setting, time.perf_counter() - begin)
