"""The study of the throughput estimator: its error over the share of pairs that are profiled."""

from __future__ import annotations

from typing import Literal

from nona.results.document import Document
from nona.results.estimate import Estimate

Way = Literal["match", "completed", "table-mean", "random-reference", "nearest"]
"""How a row is estimated: the matched reference row, the completed row itself, the mean of all reference
rows, a random reference row; ``nearest``: the best reference row there is, with everything known."""


class EstimatorAbout(Document):
    """The command that made it; ``replications``: how often each model was profiled."""

    command: str
    version: str
    made: str
    replications: int
    seed: int
    seconds: float
    table: str
    models: int
    types: tuple[str, ...]


class EstimatorPoint(Document):
    """One share of profiled entries.

    ``reference``: whether the new job's model is in it (``known``) or was left out (``new``). ``stop``: when
    the completion stops, ‖ΔX‖_F per entry. ``errors``: mean |estimated − measured| of the share of its own
    rate that a job keeps beside another. ``found``: how often the match is the job's own model (``known``
    only).
    """

    profiled: float
    reference: Literal["known", "new"]
    stop: float
    errors: dict[Way, Estimate]
    found: Estimate


class EstimatorStudy(Document):
    """Provenance and points."""

    about: EstimatorAbout
    points: tuple[EstimatorPoint, ...]
