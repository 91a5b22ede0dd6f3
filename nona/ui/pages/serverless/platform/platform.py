"""Python's side of the live platform: a drawing in, nothing out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import PALETTE
from nona.results.serverless.live import PlatformLive, PlatformState, PolicySoFar
from nona.ui.pages.serverless.platform.drawing import NodeRow, PlatformDrawing, PolicyRow, QueueRow
from nona.ui.widgets.component import declare
from nona.units import format_time

MOST_NODES = 96  # that are drawn
MOST_VGPUS = 56  # of a node, that are drawn
_component = declare(Path(__file__).parent, "platform")


def platform_data(live: PlatformLive, fraction: float, told: str) -> PlatformDrawing:
    """What is sent to the browser: a job's ``live``, how each policy looks, what the panels say."""
    snapshot, focus = live.snapshot, live.focus
    policies = tuple(_policy(name, live.policies[name]) for name in live.order)
    queues = _queues(live.applications, snapshot)
    nodes = _nodes(live.nodes, snapshot)
    hidden = len(live.nodes) - MOST_NODES
    return PlatformDrawing(
        fraction=fraction,
        told=told,
        policies=policies,
        queues=queues,
        nodes=nodes,
        colours=(PALETTE[1], PALETTE[0]),
        now=f"under {focus}, after {format_time(snapshot.time_s)}" if snapshot else "",
        more=f"{hidden} more nodes are not drawn" if hidden > 0 else "",
        alts=_alts(policies, queues, nodes, focus),
    )


def _policy(name: str, row: PolicySoFar) -> PolicyRow:
    cost = row.cost_per_call_usd
    return PolicyRow(
        name=name,
        colour=scheduler_style(name).colour,
        hits=row.hits,
        cost=None if cost is None else 1000 * cost,
        curve=row.curve,
    )


def _queues(
    applications: Sequence[tuple[str, tuple[str, ...]]], snapshot: PlatformState | None
) -> tuple[QueueRow, ...]:
    jobs = snapshot.queues if snapshot else ()
    made, at = [], 0
    for number, (name, stages) in enumerate(applications):
        here = jobs[at : at + len(stages)] or (0,) * len(stages)
        at += len(stages)
        colour = PALETTE[number % len(PALETTE)]
        made.append(QueueRow(application=name, stages=stages, jobs=here, colour=colour))
    return tuple(made)


def _nodes(nodes: Sequence[tuple[int, int]], snapshot: PlatformState | None) -> tuple[NodeRow, ...]:
    made = []
    for k, (vcpus, vgpus) in enumerate(nodes[:MOST_NODES]):
        free_cpu = snapshot.free_vcpus[k] if snapshot else vcpus
        free_gpu = snapshot.free_vgpus[k] if snapshot else vgpus
        made.append(
            NodeRow(
                vcpus=vcpus,
                vgpus=min(vgpus, MOST_VGPUS),
                cpu_held=max(0, vcpus - free_cpu),
                gpu_held=max(0, min(vgpus, MOST_VGPUS) - free_gpu),
                stranded=min(snapshot.stranded[k], MOST_VGPUS) if snapshot else 0,
            )
        )
    return tuple(made)


def _alts(
    policies: Sequence[PolicyRow], queues: Sequence[QueueRow], nodes: Sequence[NodeRow], focus: str
) -> tuple[str, str, str]:
    known = [f"{p.name} {100 * p.hits:.1f} %" for p in policies if p.hits is not None]
    waiting = sum(sum(q.jobs) for q in queues)
    cpu = 100 * sum(n.cpu_held for n in nodes) / max(1, sum(n.vcpus for n in nodes))
    gpu = 100 * sum(n.gpu_held for n in nodes) / max(1, sum(n.vgpus for n in nodes))
    return (
        f"SLOs kept so far, warm-up included: {', '.join(known) or 'none known yet'}.",
        f"{waiting} jobs wait in all queues under {focus or 'no policy yet'}.",
        f"{len(nodes)} nodes: {cpu:.0f} % of the vCPUs and {gpu:.0f} % of the vGPUs are held.",
    )


def platform_view(key: str, data: PlatformDrawing) -> None:
    """Draw the platform, or bring it up to date."""
    _component(key=key, data=data.to_json())
