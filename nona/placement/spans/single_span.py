"""The recursion of :mod:`nona.placement.spans.longest_paths` for one configuration, in plain numbers.

It says as well which tasks the longest path leads through. Searches of large interiors have the recursion
once more each, as machine code: of whole configurations in :mod:`nona.placement.interiors.cluster_moves`,
task by task in :mod:`nona.placement.interiors.branch_and_bound`.

Where a sub-graph has but one or two configurations in use, NumPy's price for each call is many times
that of the arithmetic. The operations are the same in the same order, so the results are the same to
the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nona.placement.spans.candidates import Candidates

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


class LongestPath(NamedTuple):
    """A path of length ``value_s`` through the interior ``tasks``.

    ``edges`` says over which input each was reached; ``None``: it ran behind the one before it on its
    executor, or it is the first. ``last`` is the sink's input, if the path ends with one; ``visits`` counts
    how often it queues.
    """

    value_s: float
    tasks: list[int]
    edges: list[Input | None]
    last: Input | None
    visits: int


def single_span(
    c: Candidates, row: int, link_wait: float, server_wait_s: float
) -> tuple[float, tuple[float, float, float, float]]:
    """Span of configuration ``row`` and the terms of its longest path, as :func:`~.longest_paths.spans`."""
    plan = plan_of(c, row)
    path = longest_path(plan, plan.seconds, link_wait, server_wait_s)
    compute = transfer = link = 0.0
    seconds = plan.seconds
    for task, edge in zip(path.tasks, path.edges, strict=True):
        compute += seconds[task]
        if edge is not None:
            transfer += edge.through_s
            link += edge.slope
    if path.last is not None:
        transfer += path.last.through_s
        link += path.last.slope
    return path.value_s, (compute, transfer, link, float(path.visits))


def longest_path(plan: Plan, seconds: Sequence[float], link_wait: float, server_wait_s: float) -> LongestPath:
    """The longest path with ``seconds`` (m,) for the tasks.

    They take the place of the plan's own, so that one plan serves all shares of the executor classes.
    """
    ends, before = [0.0], [-1]  # of the root, then of the tasks: when it ends, and what it waited for
    over: list[Input | None] = [None]
    last = [0 if plan.has_root else -1] + [-1] * (plan.servers - 1)  # by server; −1: nothing
    for label, time_s, inputs in zip(plan.labels, seconds, plan.inputs, strict=False):
        at, by = last[label], None
        begin = ends[at] if at >= 0 else -math.inf
        for edge in inputs:
            arrival = ends[edge.source] + (edge.through_s + edge.slope * link_wait)
            if edge.remote:
                arrival += server_wait_s
            if arrival > begin:
                begin, at, by = arrival, edge.source, edge
        if not inputs and server_wait_s > begin:
            begin, at = server_wait_s, -1
        last[label] = len(ends)
        ends.append(begin + time_s)
        before.append(at)
        over.append(by)
    value, at, by = _end(plan, ends, link_wait)
    if plan.sink_visit:
        value += server_wait_s
    return _path(plan, value, at, by, before, over)


def _end(plan: Plan, ends: list[float], link_wait: float) -> tuple[float, int, Input | None]:
    """When all is done, the task that decides it (the root is 0), and the sink's input from it."""
    value, at, by = 0.0, 0, None
    for edge in plan.inputs[-1]:
        arrival = ends[edge.source] + (edge.through_s + edge.slope * link_wait)
        if arrival > value:
            value, at, by = arrival, edge.source, edge
    if not plan.has_sink:
        for number in range(1, len(ends)):
            if ends[number] > value:
                value, at, by = ends[number], number, None
    return value, at, by


def _path(
    plan: Plan, value: float, at: int, last: Input | None, before: list[int], over: list[Input | None]
) -> LongestPath:
    """The path that ends at ``at``, followed back."""
    tasks: list[int] = []
    edges: list[Input | None] = []
    visits = 1 if plan.sink_visit else 0
    while at > 0:
        by = over[at]
        tasks.append(at - 1)
        edges.append(by)
        at = before[at]
        if by.remote if by is not None else at < 0:  # a source of the graph queues too
            visits += 1
    tasks.reverse()
    edges.reverse()
    return LongestPath(value, tasks, edges, last, visits)


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
