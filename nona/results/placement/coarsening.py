"""The tasks of a model that stay on one server: what ``nona contract --json`` has as ``coarsening``."""

from __future__ import annotations

from nona.results.document import Document, Figure
from nona.results.placement.configuration import SubgraphEnds


class GlueStep(Document):
    """Two groups of tasks that were joined, the edge between them, and the reason."""

    into: str
    merged: tuple[str, str]
    edge: tuple[str, str]
    reason: str


class GluedSubgraph(SubgraphEnds):
    """The groups of one sub-graph's tasks; times in seconds, ``bound_s`` is the most that is lost."""

    interior: int
    interior_units: int
    units: tuple[tuple[str, ...], ...]
    local_s: float
    bound_s: Figure


class CoarseningReport(Document):
    """The coarsening of one model for a link; times in seconds, ``capacity`` in bytes/s."""

    rule: str
    condition: str
    device: str
    capacity: float
    latency_s: float
    share: float
    interior_tasks: int
    interior_units: int
    bound_s: Figure
    bound_share: Figure
    summary: str
    steps: tuple[GlueStep, ...]
    subgraphs: tuple[GluedSubgraph, ...]
