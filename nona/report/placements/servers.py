"""Executor classes and memory of a placement: findings as text, rows of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.report.text import or_dash, percent_text, time_text
from nona.units import format_size

Row = Mapping[str, Any]
_ALIKE = 1e-6


def servers_finding(report: Row) -> str:
    """The busiest executor class, and the range of mean waits.

    >>> one = {"class": "t4", "executors": 2, "utilization": 0.5, "wait_s": 0.001}
    >>> servers_finding({"predicted": {"classes": [one]}})
    'All executors are of one class: 50.0 % busy, a visit waits 1 ms'
    """
    classes = report["predicted"]["classes"]
    if len(classes) == 1:
        (only,) = classes
        busy, wait = percent_text(only["utilization"]), time_text(only["wait_s"])
        return f"All executors are of one class: {busy} busy, a visit waits {wait}"
    busiest = max(classes, key=lambda c: c["utilization"])
    waits = [c["wait_s"] for c in classes if c["wait_s"] is not None]
    busy = percent_text(busiest["utilization"])
    return (
        f"{busiest['class']} is the busiest of {len(classes)} executor classes, {busy}; "
        f"a visit waits {time_text(min(waits))} to {time_text(max(waits))} by class"
    )


def memory_finding(report: Row) -> str:
    """The memory of all replicas, and the executor class where it is tightest."""
    memory = report["memory"]
    total = memory["replicas_bytes"]
    if total == 0:
        return "No model states weights, so memory does not limit the placement"
    text = f"Replicas of weights take {format_size(total)} over the cluster"
    known = [c for c in memory["classes"] if c["memory_bytes"]]
    if not known:
        return text
    tight = max(known, key=lambda c: c["resident_bytes"] / c["memory_bytes"])
    return f"{text}, at most {percent_text(tight['resident_bytes'] / tight['memory_bytes'])} of an executor"


def class_rows(report: Row) -> list[dict[str, Any]]:
    """A row for each executor class: number, load, wait, memory."""
    return [
        {
            "executor class": told["class"],
            "executors": told["executors"],
            "busy": percent_text(told["utilization"]),
            "wait of a visit": time_text(told["wait_s"]),
            "memory per executor": or_dash(held["memory_bytes"], format_size),
            "weights held": format_size(held["resident_bytes"]),
            "free": or_dash(held["free_bytes"], format_size),
            "models": ", ".join(held["weights_bytes"]) or "–",
        }
        for told, held in zip(report["predicted"]["classes"], report["memory"]["classes"], strict=True)
    ]


def replica_rows(report: Row) -> list[dict[str, Any]]:
    """A row for each model: its weights, how many executors hold them, the total of the replicas."""
    return [
        {
            "model": name,
            "weights": format_size(m["weight_bytes"]),
            "replicas": m["replicas"],
            "replicas in all": format_size(m["replicas_bytes"]),
        }
        for name, m in report["memory"]["models"].items()
    ]


def share_rows(report: Row) -> list[dict[str, Any]]:
    """A row for each query class: the probability of each executor class; no rows for a single class."""
    shares = report["class_shares"]
    if len(report["predicted"]["classes"]) == 1:
        return []
    return [
        {
            "model": name,
            **{kind: percent_text(share) if share > _ALIKE else "–" for kind, share in row.items()},
        }
        for name, row in shares.items()
    ]
