"""Reports on jobs that keep their GPUs, by Tiresias' own simulator."""

from __future__ import annotations

from collections.abc import Mapping

from nona.options import Option
from nona.results.document import Document, Figure
from nona.results.training.report import JctSummary


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
    """What one schedule did. ``published_…``: what the authors' program gave on these jobs, or ``None``."""

    title: str
    jct_s: JctSummary
    published_jct_s: Figure
    published_makespan_s: Figure
    makespan_s: float
    utilization: float
    preemptions: float
    jobs: tuple[CountedJobOutcome, ...]


class CountedSetting(Document):
    """What was run. ``workload``: ``tiresias`` or a file; ``options`` by schedule."""

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
