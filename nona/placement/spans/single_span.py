"""The recursion of :mod:`nona.placement.spans.longest_paths` for one configuration, in plain numbers.

Where a sub-graph has but one or two configurations in use, NumPy's price for each call is many times
that of the arithmetic. The operations are the same in the same order, so the results are the same to
the last bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from nona.placement.spans.candidates import Candidates

Path = tuple[float, float, float, float, float]  # value, then compute, transfer, link, visits
_AT_ONCE: Path = (0.0, 0.0, 0.0, 0.0, 0.0)
_NEVER: Path = (-math.inf, 0.0, 0.0, 0.0, 0.0)
_MOST_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class Input:
    """An edge of one configuration: node that it comes from, transfer, coefficient of the link's wait."""

    source: int
    through_s: float
    slope: float
    remote: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """One configuration: for each interior task its server, seconds and inputs; then the sink's inputs."""

    labels: tuple[int, ...]
    seconds: tuple[float, ...]
    inputs: tuple[tuple[Input, ...], ...]
    servers: int
    has_root: bool
    has_sink: bool
    sink_visit: bool


def single_span(
    c: Candidates, row: int, link_wait: float, server_wait_s: float
) -> tuple[float, tuple[float, float, float, float]]:
    """Span of configuration ``row`` and the terms of its longest path, as :func:`~.longest_paths.spans`."""
    plan = plan_of(c, row)
    done = [_AT_ONCE]
    last = [_NEVER] * plan.servers
    if plan.has_root:
        last[0] = _AT_ONCE
    for label, seconds, inputs in zip(plan.labels, plan.seconds, plan.inputs, strict=False):
        best = last[label]
        for edge in inputs:
            arrival = _arrival(done[edge.source], edge, link_wait)
            if edge.remote:
                arrival = _visit(arrival, server_wait_s)
            if arrival[0] > best[0]:
                best = arrival
        if not inputs:
            queued = _visit(_AT_ONCE, server_wait_s)
            if queued[0] > best[0]:
                best = queued
        best = (best[0] + seconds, best[1] + seconds, *best[2:])
        last[label] = best
        done.append(best)
    return _finish(plan, done, link_wait, server_wait_s)


def _finish(
    plan: Plan, done: list[Path], link_wait: float, server_wait_s: float
) -> tuple[float, tuple[float, float, float, float]]:
    best = _AT_ONCE
    for edge in plan.inputs[-1]:
        arrival = _arrival(done[edge.source], edge, link_wait)
        if arrival[0] > best[0]:
            best = arrival
    if not plan.has_sink:
        for path in done[1:]:
            if path[0] > best[0]:
                best = path
    if plan.sink_visit:
        best = _visit(best, server_wait_s)
    return best[0], best[1:]


def _visit(path: Path, server_wait_s: float) -> Path:
    return path[0] + server_wait_s, path[1], path[2], path[3], path[4] + 1.0


def _arrival(path: Path, edge: Input, link_wait: float) -> Path:
    through, slope = edge.through_s, edge.slope
    return path[0] + (through + slope * link_wait), path[1], path[2] + through, path[3] + slope, path[4]


def plan_of(c: Candidates, row: int) -> Plan:
    """The plan of configuration ``row``, made when first asked for."""
    plan = c.plans.get(row)
    if not isinstance(plan, Plan):
        if len(c.plans) >= _MOST_KEPT:
            c.plans.clear()
        plan = c.plans[row] = _make_plan(c, row)
    return plan


def _make_plan(c: Candidates, row: int) -> Plan:
    shape, kept = c.shape, c.messages
    remote, through = kept.remote[:, row].tolist(), kept.through_s[:, row].tolist()
    if c.link.discipline == "fifo":
        slope = [float(r and c.link.crosses) for r in remote]
    else:
        slope = kept.stretched_s[:, row].tolist()
    source = shape.source.tolist()
    return Plan(
        labels=tuple(c.labels[row, : shape.m].tolist()),
        seconds=tuple(shape.mean_s.tolist()),
        inputs=tuple(
            tuple(Input(source[e], through[e], slope[e], remote[e]) for e in shape.edges_into[v])
            for v in range(1, shape.m + 2)
        ),
        servers=int(c.labels[row].max(initial=0)) + 1,
        has_root=shape.has_root,
        has_sink=shape.has_sink,
        sink_visit=bool(c.sink_visit[row]),
    )
