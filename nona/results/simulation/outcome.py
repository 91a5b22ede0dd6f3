"""All that is shown of a simulation: its report, and everything that charts and tables need."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from nona.results.about import About, ModelFacts
from nona.results.document import Document, Figure
from nona.results.estimate import OffRange
from nona.results.placement.report import PlacementReport
from nona.results.simulation.differences import Differences
from nona.results.simulation.report import SimulationReport
from nona.results.simulation.series import (
    Distributions,
    GanttBar,
    OverTime,
    ResourceLoad,
    Slos,
    WarmupSeries,
)


class SimulationOutcome(Document):
    """A simulation with its provenance.

    ``predicted`` is scheduler → predicted mean JCT (seconds; ``None``: overloaded), for those that have a
    prediction; ``models`` is label → times of that model; ``off`` is scheduler → the range of its mean if
    modelled times are off, for those with a mean, and empty where no time is modelled; ``cautions`` are
    lines to read beside the results of some schedulers.
    """

    about: About
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
    off: Mapping[str, OffRange] = Field(default_factory=dict)
    cautions: tuple[str, ...] = ()
    placement: PlacementReport | None
