"""A quick answer: few jobs, refined replication after replication."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document, Figure
from nona.results.simulation.report import SimulationReport


class QuickAnswer(Document):
    """Every scheduler's figures so far.

    ``predicted`` as in a simulation's outcome; ``jobs`` are measured per run; ``failed`` is scheduler →
    why it cannot run.
    """

    predicted: Mapping[str, Figure]
    report: SimulationReport
    replications: int
    jobs: int
    engine: str
    failed: Mapping[str, str]
