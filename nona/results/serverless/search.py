"""A search of ESG, for its drawing: times in milliseconds, costs in US dollars for 1,000 calls."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document, Figure


class CutRow(Document):
    """Extensions that were examined: which was opened (−1: none), how many each blade cut."""

    opened: int
    time: int
    cost: int


class SearchStep(Document):
    """One step: the path taken up, its least time and cost, what it opened, the cost blade, sentences.

    ``best`` is its rank if it is complete, else 0.
    """

    path: tuple[int, ...]
    ms: float
    cost: float
    best: int
    deeper: CutRow | None
    beside: CutRow
    bound: Figure
    lines: tuple[str, ...]


class BestPath(Document):
    """A path of the answer."""

    path: tuple[int, ...]
    cost: float
    ms: float


class SearchSteps(Document):
    """A search: ``labels`` number of a configuration → short and full text; ``all`` steps, some are kept."""

    functions: tuple[str, ...]
    labels: Mapping[str, tuple[str, str]]
    limit_ms: float
    start: CutRow | None
    steps: tuple[SearchStep, ...]
    all: int
    best: tuple[BestPath, ...]
