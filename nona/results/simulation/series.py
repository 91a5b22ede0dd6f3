"""Series of a simulation for charts: a few hundred points, whatever the number of jobs."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document, Figure


class Distribution(Document):
    """A share ``y`` of the jobs was completed within ``x`` seconds."""

    x: tuple[float, ...]
    y: tuple[float, ...]


class OverTime(Document):
    """Mean JCT (seconds) of the jobs that arrived about ``t`` seconds after the first measured one."""

    t: tuple[float, ...]
    jct_s: tuple[float, ...]


class LinkLoad(Document):
    """Utilisation of one link."""

    link: str
    utilization: float


class ResourceLoad(Document):
    """Utilisation of each executor, of the busiest ``link``, and of the busiest ``links`` of several.

    ``each_link`` has all links in the order of the topology, where they are not too many to be drawn.
    """

    executors: tuple[float, ...]
    link: float
    links: tuple[LinkLoad, ...]
    each_link: tuple[LinkLoad, ...] = ()


class GanttBar(Document):
    """A task on its executor or a message on the link; times from the first request, seconds."""

    row: str
    job: int
    model: str
    what: str
    start_s: float
    end_s: float
    wait_s: float


class PilotCurve(Document):
    """Start-up of one scheduler's pilot runs.

    ``jct_s`` is the moving average of the JCT at numbers of jobs ``at``; ``statistic`` the MSER
    statistic over its least value at numbers of jobs ``statistic_at``; ``cut`` where it is least.
    """

    at: tuple[float, ...]
    jct_s: tuple[float, ...]
    statistic_at: tuple[int, ...]
    statistic: tuple[float, ...]
    cut: int
    too_short: bool


class WarmupSeries(Document):
    """The common cut in jobs, and every scheduler's start-up."""

    jobs: int
    schedulers: Mapping[str, PilotCurve]


Distributions = Mapping[str, Mapping[str, Distribution]]
"""Scheduler → model, and ``"all"`` → distribution of the JCT."""
Slos = Mapping[str, Figure]
"""Model → SLO in seconds, or ``None``."""
