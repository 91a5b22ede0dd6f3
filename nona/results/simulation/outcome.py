"""All that is shown of a simulation: its report, and everything that charts and tables need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.results.about import About, ModelFacts
from nona.results.document import Document, Figure
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
    prediction; ``models`` is label → times of that model.
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
    # The JSON of the placement's report, until that has a type of its own to nest here.
    placement: Mapping[str, Any] | None
