"""Checkpoint intervals of a training cluster's jobs, compared."""

from __future__ import annotations

from nona.results.document import Document
from nona.results.estimate import Estimate


class IntervalRow(Document):
    """One way to choose the interval, for jobs on ``nodes`` nodes, one of which fails every ``mtbf_s``.

    ``formula``: wall seconds per second of work by the model; ``simulated``: the same by simulation.
    """

    nodes: int
    jobs: int
    mtbf_s: float
    method: str
    interval_s: float
    formula: float
    simulated: Estimate


class CheckpointReport(Document):
    """``checkpoint_s`` and ``restart_s`` of the scenario; rows by number of nodes."""

    scenario: str
    mtbf_s: float
    checkpoint_s: float
    restart_s: float
    failures: int
    replications: int
    rows: tuple[IntervalRow, ...]
