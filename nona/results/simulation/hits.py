"""SLO hits over time, window by window of the time of arrival."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document, Figure


class HitWindow(Document):
    """Jobs with an SLO that arrived from ``start_s`` to ``end_s`` after the first measured one.

    ``hits`` of the ``jobs`` were completed within their SLO; ``hit_rate`` is unknown where there are none.
    """

    start_s: float
    end_s: float
    jobs: int
    hits: int
    hit_rate: Figure


HitsOverTime = Mapping[str, tuple[HitWindow, ...]]
"""Scheduler → the windows of its first run."""
