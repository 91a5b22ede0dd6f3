"""The price of congestion as a curve: mean JCT by formula over the link's background load."""

from __future__ import annotations

from nona.results.document import Document, Figure


class CongestionPoint(Document):
    """Mean JCT by formula (s) at one background utilisation of the link; ``None``: no steady state.

    ``kept_s`` is local on nona's own executor classes: what splitting is held against.
    """

    background: float
    nona_s: Figure
    local_s: Figure
    spread_s: Figure
    kept_s: Figure = None


class CongestionCurve(Document):
    """``stops``: the background above which splitting no longer pays; ``None``: it pays throughout."""

    points: tuple[CongestionPoint, ...]
    now: float
    stops: Figure
