"""Values that several results have: latencies, spreads of a quantity."""

from __future__ import annotations

from nona.results.document import Document, Figure, Interval
from nona.results.estimate import Estimate


class Latency(Estimate):
    """Mean and percentiles of a latency, in seconds."""

    p5: Figure
    p25: Figure
    p50: Figure
    p75: Figure
    p95: Figure
    p99: Figure


class Spread(Document):
    """Mean and percentiles of a quantity."""

    mean: Figure
    p5: Figure
    p25: Figure
    p50: Figure
    p75: Figure
    p95: Figure
    p99: Figure


class Tail(Document):
    """Mean, median and the largest percentiles of a quantity."""

    mean: Figure
    p50: Figure
    p95: Figure
    p99: Figure


class TailLatency(Tail):
    """Mean with its interval, median and the largest percentiles of a latency, in seconds."""

    ci95: Interval
