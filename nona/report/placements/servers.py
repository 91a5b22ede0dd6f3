"""Executor classes and memory of a placement: findings as text, rows of tables."""

from __future__ import annotations

from nona.report.text import or_dash, percent_text, time_text
from nona.results.placement.report import PlacementReport
from nona.units import format_size

_ALIKE = 1e-6


def servers_finding(report: PlacementReport) -> str:
    """The busiest executor class, and the range of mean waits."""
    classes = report.predicted.classes
    if len(classes) == 1:
        (only,) = classes
        busy, wait = percent_text(only.utilization), time_text(only.wait_s)
        return f"All executors are of one class: {busy} busy, a visit waits {wait}"
    busiest = max(classes, key=lambda c: c.utilization)
    waits = [c.wait_s for c in classes if c.wait_s is not None]
    busy = percent_text(busiest.utilization)
    least, most = time_text(min(waits, default=None)), time_text(max(waits, default=None))
    return (
        f"{busiest.executor_class} is the busiest of {len(classes)} executor classes, {busy}; "
        f"a visit waits {least} to {most} by class"
    )


def memory_finding(report: PlacementReport) -> str:
    """The memory of all replicas, and the executor class where it is tightest."""
    total = report.memory.replicas_bytes
    if total == 0:
        return "No model states weights, so memory does not limit the placement"
    text = f"Replicas of weights take {format_size(total)} over the cluster"
    full = [c.resident_bytes / c.memory_bytes for c in report.memory.classes if c.memory_bytes]
    return f"{text}, at most {percent_text(max(full))} of an executor" if full else text


def class_rows(report: PlacementReport) -> list[dict[str, str | int]]:
    """A row for each executor class: number, load, wait, memory."""
    return [
        {
            "executor class": told.executor_class,
            "executors": told.executors,
            "busy": percent_text(told.utilization),
            "wait of a visit": time_text(told.wait_s),
            "memory per executor": or_dash(held.memory_bytes, format_size),
            "weights held": format_size(held.resident_bytes),
            "free": or_dash(held.free_bytes, format_size),
            "models": ", ".join(held.weights_bytes) or "–",
        }
        for told, held in zip(report.predicted.classes, report.memory.classes, strict=True)
    ]


def replica_rows(report: PlacementReport) -> list[dict[str, str | int]]:
    """A row for each model: its weights, how many executors hold them, the total of the replicas."""
    return [
        {
            "model": name,
            "weights": format_size(m.weight_bytes),
            "replicas": m.replicas,
            "replicas in all": format_size(m.replicas_bytes),
        }
        for name, m in report.memory.models.items()
    ]


def share_rows(report: PlacementReport) -> list[dict[str, str]]:
    """A row for each query class: the probability of each executor class; no rows for a single class."""
    shares = report.class_shares
    if len(report.predicted.classes) == 1:
        return []
    return [
        {
            "model": name,
            **{kind: percent_text(share) if share > _ALIKE else "–" for kind, share in row.items()},
        }
        for name, row in shares.items()
    ]
