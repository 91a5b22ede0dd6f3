"""Waits at the links on a message's route, as rows and as a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from nona.report.text import percent_text, share_text, time_text
from nona.results.placement.prediction import PredictedLink
from nona.units import format_bandwidth, format_time


def bottleneck(links: Sequence[PredictedLink]) -> PredictedLink:
    """The most utilised links; the slowest of them if several are equally utilised."""
    return max(links, key=lambda r: (round(r.utilization, 9), -r.capacity))


def link_finding(links: Sequence[PredictedLink]) -> str:
    """The most utilised links, and the links where a message waits longest.

    >>> more = {"kind": "link", "links": 1, "capacity": 1e9}
    >>> core = PredictedLink(name="core", share=0.5, utilization=0.6, wait_s=0.004, **more)
    >>> card = PredictedLink(name="server in", share=1.0, utilization=0.2, wait_s=0.006, **more)
    >>> link_finding([core, card])
    'Bottleneck: core, 60.0 % busy; a message waits 8 ms on its route, most of it (75 %) at server in'
    """
    worst = bottleneck(links)
    told = f"Bottleneck: {worst.name}, {percent_text(worst.utilization)} busy"
    parts = [(r.share * r.wait_s, r.name) for r in links if r.wait_s is not None]
    if len(parts) < len(links):
        return f"{told}: overloaded, waits of messages grow without bound"
    total = sum(p for p, _ in parts)
    if total <= 0:
        return f"{told}; messages do not wait"
    most, name = max(parts, key=lambda p: p[0])
    where = f"most of it ({share_text(most / total)}) at {name}"
    return f"{told}; a message waits {format_time(total)} on its route, {where}"


def link_rows(links: Sequence[PredictedLink]) -> list[dict[str, str]]:
    """The roles as text for a table."""
    return [
        {
            "link": r.name,
            "number": f"{r.links:,}",
            "capacity of each": format_bandwidth(r.capacity),
            "crossed by": f"{share_text(r.share, 1)} of messages",
            "busy": percent_text(r.utilization),
            "mean wait": time_text(r.wait_s),
        }
        for r in links
    ]
