"""Schedules of jobs that are only counted: results, table, text."""

from __future__ import annotations

from collections.abc import Mapping

from nona.options import Option
from nona.report.training.tables import HOURS
from nona.report.training.text import checks_lines
from nona.results.document import Document, Figure
from nona.results.training import JctSummary
from nona.tables import SHARE, Column, Table


class CountedJobOutcome(Document):
    """One job; ``waited_s``: its JCT less its duration."""

    name: str
    arrival_s: int
    gpus: int
    duration_s: int
    jct_s: int
    waited_s: int
    preemptions: int


class CountedOutcome(Document):
    """The outcome of one schedule. ``published_…``: of the authors' program on these jobs, or ``None``."""

    title: str
    jct_s: JctSummary
    published_jct_s: Figure
    published_makespan_s: Figure
    makespan_s: float
    utilization: float
    preemptions: float
    jobs: tuple[CountedJobOutcome, ...]


class CountedSetting(Document):
    """Setting of a run. ``workload``: ``tiresias`` or a file; ``options`` by schedule."""

    workload: str
    jobs: int
    gpus: int
    options: Mapping[str, Mapping[str, Option]]


class CountedReport(Document):
    """All schedules on the same jobs; ``checks``: whether each self-check held in every run."""

    schedules: Mapping[str, CountedOutcome]
    checks: Mapping[str, bool]
    failed_checks: tuple[str, ...]
    seconds: float
    setting: CountedSetting


COUNTED = Table[CountedOutcome](
    "schedule",
    (
        Column("title", lambda o: o.title),
        Column("mean JCT", lambda o: o.jct_s.mean, HOURS),
        Column("authors' mean", lambda o: o.published_jct_s, HOURS, optional=True),
        Column("p50", lambda o: o.jct_s.p50, HOURS),
        Column("p95", lambda o: o.jct_s.p95, HOURS),
        Column("makespan", lambda o: o.makespan_s, HOURS),
        Column("authors' makespan", lambda o: o.published_makespan_s, HOURS, optional=True),
        Column("GPUs in use", lambda o: o.utilization, SHARE),
        Column("preemptions", lambda o: o.preemptions),
    ),
)


def counted_text(report: CountedReport) -> str:
    """Format the schedules side by side, then the setting and the verdict of the checks."""
    of = report.setting
    return "\n".join(
        (
            COUNTED.of(report.schedules).text(),
            "",
            f"{of.jobs} jobs ({of.workload}) on {of.gpus} GPUs, which are only counted; "
            "preemption costs nothing.",
            *checks_lines(report),
        )
    )
