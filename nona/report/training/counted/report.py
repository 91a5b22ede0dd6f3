"""The report on one workload of counted jobs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nona.results.training.counted import CountedJobOutcome, CountedOutcome, CountedReport, CountedSetting
from nona.results.training.report import JctSummary
from nona.simulation.statistics.intervals import percentile
from nona.training.counting.published import Published
from nona.training.counting.records import CountedRecords, counted_checks
from nona.training.counting.schedules import SCHEDULES


def counted_report(
    runs: Mapping[str, CountedRecords],
    known: Mapping[str, Published | None],
    setting: CountedSetting,
    seconds: float,
) -> CountedReport:
    """What the schedules did; ``known``: what the authors' program gave, by schedule."""
    held: dict[str, bool] = {}
    failed: list[str] = []
    for name, records in runs.items():
        for check in counted_checks(records):
            held[check.name] = held.get(check.name, True) and check.ok
            if not check.ok:
                failed.append(f"{name}: {check.name}: {check.detail}")
    return CountedReport(
        schedules={name: _outcome(records, known.get(name)) for name, records in runs.items()},
        checks=held,
        failed_checks=tuple(failed),
        seconds=seconds,
        setting=setting,
    )


def _outcome(records: CountedRecords, known: Published | None) -> CountedOutcome:
    jcts = records.jct_s.astype(np.float64)
    return CountedOutcome(
        title=SCHEDULES[records.schedule].title,
        jct_s=JctSummary(
            mean=float(jcts.mean()),
            ci95=None,
            p50=percentile(jcts, 50),
            p95=percentile(jcts, 95),
            p99=percentile(jcts, 99),
        ),
        published_jct_s=None if known is None else known.mean_jct_s,
        published_makespan_s=None if known is None else known.makespan_s,
        makespan_s=float(records.makespan_s),
        utilization=records.utilization,
        preemptions=float(records.preemptions.mean()),
        jobs=tuple(
            CountedJobOutcome(
                name=job.name,
                arrival_s=job.arrival_s,
                gpus=job.gpus,
                duration_s=job.duration_s,
                jct_s=int(records.jct_s[n]),
                waited_s=int(records.jct_s[n]) - job.duration_s,
                preemptions=int(records.preemptions[n]),
            )
            for n, job in enumerate(records.jobs)
        ),
    )
