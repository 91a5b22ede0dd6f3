"""Data for drawings of a simulation: series, live figures, network story, the outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from nona.core.document import Document, ErrorRange, Figure, ModelFacts, RunResult, read_without
from nona.queries.placement.results import PlacementReport
from nona.queries.results import Differences, SimulationReport


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
    """A task on its executor or a message on the link; times from the first request, seconds.

    A task is number ``place``, from 0, of the ``members`` of its batch.
    """

    row: str
    job: int
    model: str
    what: str
    start_s: float
    end_s: float
    wait_s: float
    members: int = 1
    place: int = 0


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


class LiveLine(Document):
    """One scheduler so far.

    ``jct_s`` over ``t`` (seconds since its first measured job) is that of the first replication;
    ``counts`` are completion times by bin from number ``first`` on, see
    :func:`nona.queries.report.live.bin_edge_s`. ``jobs`` are complete,
    ``waiting`` have arrived and are not; ``busy`` are executors and busiest link.
    """

    _earlier = model_validator(mode="before")(read_without("dropped"))
    t: tuple[float, ...]
    jct_s: tuple[float, ...]
    first: int
    counts: tuple[int, ...]
    jobs: int
    mean_s: float
    hit_rate: float | None
    busy: tuple[float, float] | None
    waiting: int = 0

    @property
    def arrived(self) -> int:
        """Of which shares are."""
        return self.jobs + self.waiting


LiveLines = Mapping[str, LiveLine]


class LiveRun(Document):
    """A simulation so far.

    ``slo`` has label and seconds of each class with one; ``schedulers`` their order; ``jobs`` are done
    ``of`` all (``None`` where that depends on a precision); ``now`` is who runs; ``loads`` are the
    utilisations so far of each scheduler's executors and links.
    """

    slo: tuple[tuple[str, float], ...] = ()
    schedulers: tuple[str, ...] = ()
    of: int | None = None
    series: LiveLines = Field(default_factory=dict)
    jobs: int = 0
    now: str = ""
    loads: Mapping[str, ResourceLoad] = Field(default_factory=dict)


# The Overview's story: its scenario, what it compares, and the number that its slider sets.
STORY_SCENARIO = "slides_example"
STRATEGIES = ("local", "spread", "nona")
LINK_LOAD = "background.network.utilization"


class StoryBlock(Document):
    """A task or a message on its lane; asked for, started and ended, in milliseconds."""

    lane: str
    what: Literal["task", "message"]
    label: str
    asked_ms: float
    start_ms: float
    end_ms: float


class StoryChart(Document):
    """One strategy: predicted and simulated mean JCT with its half-width, one typical job in blocks."""

    predicted_ms: Figure
    mean_ms: float
    half_ms: Figure
    jct_ms: float
    servers: int
    blocks: tuple[StoryBlock, ...]


class StoryLoad(Document):
    """All strategies with the share ``load`` of the link taken by others, and the finding."""

    load: float
    runs: Mapping[str, StoryChart]
    headline: str


class LinkLoadExample(Document):
    """All loads; splitting pays up to the load ``limit`` (``None``: always); ``jobs`` at each point.

    ``command``, ``version`` and ``seed`` say how it was made.
    """

    points: tuple[StoryLoad, ...]
    limit: Figure
    jobs: int
    command: str
    version: str
    seed: int


class SimulationOutcome(RunResult):
    """A simulation with its provenance.

    ``predicted`` is scheduler → predicted mean JCT (seconds; ``None``: overloaded), for those that have a
    prediction; ``models`` is label → times of that model; ``off`` is scheduler → the range of its mean if
    modelled times are off, for those with a mean, and empty where no time is modelled; ``cautions`` are
    lines to read beside the results of some schedulers.
    """

    report: SimulationReport
    differences: Differences
    warmup: WarmupSeries | None
    ecdf: Distributions
    over_time: Mapping[str, OverTime]
    load: Mapping[str, ResourceLoad]
    gantt: Mapping[str, tuple[GanttBar, ...]]
    slo_s: Slos
    predicted: Mapping[str, Figure]
    models: Mapping[str, ModelFacts]
    off: Mapping[str, ErrorRange] = Field(default_factory=dict)
    cautions: tuple[str, ...] = ()
    placement: PlacementReport | None
