"""Python's side of the live platform: plain data in, nothing out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import PALETTE
from nona.ui.widgets.component import declare
from nona.units import format_time

MOST_NODES = 96  # that are drawn
MOST_VGPUS = 56  # of a node, that are drawn
_component = declare(Path(__file__).parent, "platform")


def platform_data(live: Mapping[str, Any], fraction: float, told: str) -> dict[str, Any]:
    """What is sent to the browser: a job's ``live``, how each policy looks, what the panels say."""
    snapshot = live.get("snapshot") or {}
    policies = [_policy(name, live["policies"][name]) for name in live["order"]]
    queues = _queues(live["applications"], snapshot)
    nodes = _nodes(live["nodes"], snapshot)
    focus = live.get("focus", "")
    hidden = len(live["nodes"]) - MOST_NODES
    return {
        "fraction": fraction,
        "told": told,
        "policies": policies,
        "queues": queues,
        "nodes": nodes,
        "colours": [PALETTE[1], PALETTE[0]],
        "now": f"under {focus}, after {format_time(snapshot['time_s'])}" if snapshot else "",
        "more": f"{hidden} more nodes are not drawn" if hidden > 0 else "",
        "alts": _alts(policies, queues, nodes, focus),
    }


def _policy(name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    cost = row["cost_per_call_usd"]
    return {
        "name": name,
        "colour": scheduler_style(name).colour,
        "hits": row["hits"],
        "cost": None if cost is None else 1000 * cost,
        "curve": row["curve"],
    }


def _queues(applications: list[Any], snapshot: Mapping[str, Any]) -> list[dict[str, Any]]:
    jobs = list(snapshot.get("queues", ()))
    made, at = [], 0
    for number, (name, stages) in enumerate(applications):
        here = jobs[at : at + len(stages)] or [0] * len(stages)
        at += len(stages)
        colour = PALETTE[number % len(PALETTE)]
        made.append({"application": name, "stages": stages, "jobs": here, "colour": colour})
    return made


def _nodes(nodes: list[Any], snapshot: Mapping[str, Any]) -> list[dict[str, int]]:
    made = []
    for k, (vcpus, vgpus) in enumerate(nodes[:MOST_NODES]):
        free_cpu = snapshot["free_vcpus"][k] if snapshot else vcpus
        free_gpu = snapshot["free_vgpus"][k] if snapshot else vgpus
        made.append(
            {
                "vcpus": vcpus,
                "vgpus": min(vgpus, MOST_VGPUS),
                "cpu_held": max(0, vcpus - free_cpu),
                "gpu_held": max(0, min(vgpus, MOST_VGPUS) - free_gpu),
                "stranded": min(snapshot["stranded"][k], MOST_VGPUS) if snapshot else 0,
            }
        )
    return made


def _alts(
    policies: list[dict[str, Any]], queues: list[dict[str, Any]], nodes: list[dict[str, int]], focus: str
) -> list[str]:
    known = [f"{p['name']} {100 * p['hits']:.1f} %" for p in policies if p["hits"] is not None]
    waiting = sum(sum(q["jobs"]) for q in queues)
    cpu, gpu = (
        100 * sum(n[f"{kind}_held"] for n in nodes) / max(1, sum(n[of] for n in nodes))
        for kind, of in (("cpu", "vcpus"), ("gpu", "vgpus"))
    )
    return [
        f"SLOs kept so far: {', '.join(known) or 'none known yet'}.",
        f"{waiting} jobs wait in all queues under {focus or 'no policy yet'}.",
        f"{len(nodes)} nodes: {cpu:.0f} % of the vCPUs and {gpu:.0f} % of the vGPUs are held.",
    ]


def platform_view(key: str, data: Mapping[str, Any]) -> None:
    """Draw the platform, or bring it up to date."""
    _component(key=key, data=dict(data))
