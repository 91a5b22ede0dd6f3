"""What one more GPU of each type buys on a training cluster."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document, Figure, Interval


class OneMoreRow(Document):
    """A cluster with one more GPU of type ``gpu``; "": the cluster as it is.

    ``price_hour``: US dollars per hour of that GPU, ``None`` where no price is known.
    """

    gpu: str
    price_hour: Figure
    mean_jct_s: Figure
    ci95: Interval
    makespan_s: Figure
    worst_rho: Figure
    cost_usd: Figure


class OneMoreReport(Document):
    """One policy on the cluster as it is (``base``) and with one more GPU of each type."""

    policy: str
    gpus: Mapping[str, int]
    base: OneMoreRow
    rows: tuple[OneMoreRow, ...]
