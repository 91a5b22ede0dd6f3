"""Waits at the links on a message's route, as rows, as a sentence, and as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nona.placement.result.prediction import Prediction
from nona.report.text import percent_text, share_text, time_text
from nona.units import format_bandwidth, format_time

Row = Mapping[str, Any]


def links_report(prediction: Prediction) -> list[dict[str, Any]]:
    """Every role of links: what ``predicted.links`` of ``nona place --json`` holds."""
    return [
        {
            "name": link.name,
            "kind": link.kind,
            "links": link.links,
            "share": link.share,
            "capacity": link.capacity,
            "utilization": link.utilization,
            "wait_s": link.wait_s,
        }
        for link in prediction.links
    ]


def bottleneck(links: Sequence[Row]) -> Row:
    """The most utilised links; the slowest of them if several are equally utilised."""
    return max(links, key=lambda r: (round(r["utilization"], 9), -r["capacity"]))


def link_finding(links: Sequence[Row]) -> str:
    """The most utilised links, and the links where a message waits longest.

    >>> core = {"name": "core", "share": 0.5, "capacity": 2e9, "utilization": 0.6, "wait_s": 0.004}
    >>> card = {"name": "server in", "share": 1.0, "capacity": 1e9, "utilization": 0.2, "wait_s": 0.006}
    >>> link_finding([core, card])
    'Bottleneck: core, 60.0 % busy; a message waits 8 ms on its route, most of it (75 %) at server in'
    """
    worst = bottleneck(links)
    told = f"Bottleneck: {worst['name']}, {percent_text(worst['utilization'])} busy"
    if any(r["wait_s"] is None or r["wait_s"] == float("inf") for r in links):
        return f"{told}: overloaded, waits of messages grow without bound"
    parts = [(r["share"] * r["wait_s"], r["name"]) for r in links]
    total = sum(p for p, _ in parts)
    if total <= 0:
        return f"{told}; messages do not wait"
    most, name = max(parts, key=lambda p: p[0])
    where = f"most of it ({share_text(most / total)}) at {name}"
    return f"{told}; a message waits {format_time(total)} on its route, {where}"


def link_rows(links: Sequence[Row]) -> list[dict[str, str]]:
    """The roles as text for a table."""
    return [
        {
            "link": r["name"],
            "number": f"{r['links']:,}",
            "capacity of each": format_bandwidth(r["capacity"]),
            "crossed by": f"{share_text(r['share'], 1)} of messages",
            "busy": percent_text(r["utilization"]),
            "mean wait": time_text(r["wait_s"]),
        }
        for r in links
    ]
