"""The working of a placement: every formula of its prediction with its numbers."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document, Figure
from nona.results.placement.configuration import SubgraphEnds

Cells = Mapping[str, str | Figure]
"""Heading → cell of one row of a table."""


class WorkingLine(Document):
    """One formula: a title, the formula and the same with numbers (LaTeX), the value (SI) and its unit.

    ``table`` holds the terms of a sum, a row each.
    """

    key: str
    title: str
    formula: str
    filled: str
    value: Figure
    unit: str
    table: tuple[Cells, ...] = ()


class WorkingConfiguration(Document):
    """The terms of a configuration's longest path, seconds; waits are counts of messages and visits."""

    probability: float
    local: bool
    compute_s: float
    transfer_s: float
    link_waits: float
    visits: float
    span_s: Figure


class WorkingSubgraph(SubgraphEnds):
    """The configurations in use of one sub-graph, and their mean time."""

    interior: int
    span_s: Figure
    configurations: tuple[WorkingConfiguration, ...]


class WorkingModel(Document):
    """The lines and the sub-graphs of one row of the workload."""

    lines: tuple[WorkingLine, ...]
    subgraphs: tuple[WorkingSubgraph, ...]


class Working(Document):
    """All lines of a placement's prediction, and those of each row of the workload."""

    lines: tuple[WorkingLine, ...]
    models: Mapping[str, WorkingModel]
