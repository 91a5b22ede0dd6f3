"""A placement: objective, certificate, prediction, configurations, memory, search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from nona.results.document import Document, Figure
from nona.results.placement.configuration import PlacedModel
from nona.results.placement.memory import MemoryReport
from nona.results.placement.prediction import PredictedMix
from nona.results.placement.response import ResponseReport
from nona.results.placement.search import SampledSearch


class CertifiedOptimum(Document):
    """The formula's optimum: its mean JCT by formula, the certified bound below it, and the gap."""

    objective_s: Figure
    lower_bound_s: Figure
    gap: Figure


class PlacementReport(Document):
    """A placement with its prediction and its certificate; times in seconds.

    ``objective`` says how ``objective_s`` was found: by sampled jobs, or by the formula alone; ``slo`` is
    a search for fewer missed SLOs. ``class_shares``: model → executor class → probability that a server
    drawn for it is of that class. ``origin`` says which start or search the placement comes from.
    """

    objective_s: Figure
    objective_error_s: Figure
    lower_bound_s: Figure
    gap: Figure
    global_bound_s: Figure
    global_gap: Figure
    formula: CertifiedOptimum
    solver: str
    seconds: float
    predicted: PredictedMix
    models: Mapping[str, PlacedModel]
    class_shares: Mapping[str, Mapping[str, float]]
    memory: MemoryReport
    notes: tuple[str, ...]
    objective: Literal["mean-jct", "slo", "formula"]
    origin: str
    sampled: SampledSearch | None


class FullPlacementReport(PlacementReport):
    """The same with the response of its jobs: what ``nona place --json`` prints."""

    response: ResponseReport

    @classmethod
    def of(cls, report: PlacementReport, response: ResponseReport) -> Self:
        """The report with its response."""
        return cls(**dict(report), response=response)
