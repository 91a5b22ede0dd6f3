"""One answer of a policy, as ``nona training allocate`` prints it."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document, Figure


class AllocatedRow(Document):
    """The share of time that a job, or a pair on the same GPUs, has on each type."""

    jobs: tuple[str, ...]
    shares: Mapping[str, float]


class AllocateReport(Document):
    """An allocation; ``throughputs`` are steps/s of each job; ``gap`` is relative to the dual's bound."""

    policy: str
    objective: Figure
    bound: Figure
    gap: Figure
    allocation: tuple[AllocatedRow, ...]
    throughputs: Mapping[str, float]
    warnings: tuple[str, ...]
    seconds: float
