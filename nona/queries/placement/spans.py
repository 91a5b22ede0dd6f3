"""Spans: the longest path through a configuration, at given waits and as lines in the wait.

From the end of the root, each task of a part runs after the one before it in the part and after
its inputs. An input from another server arrives after W_n (wait of a message at the link) and its
transfer, and its task then waits W_c in the queue of its executor; a task whose last input was
made on its own executor runs on without queueing. With u over the predecessors of v::

    f(v) = p(v) + max( f(task before v in its part),
                       max over u of f(u) + [other server]·(W_n + transfer(u, v) + W_c) )
    span = max over u into the sink of f(u) + [other server]·(W_n + transfer(u, sink)), + W_c

where the last W_c, the sink queueing again, is left out when all is local or the sink is virtual.
This is equation 10 and 11 of the project page (nona.csail.mit.edu) where interior tasks do not
depend on each other, and their extension to tasks that do. It is piecewise linear, convex and
increasing in both waits. All paths count with their waits: to follow only the path that is
longest without waits would make traffic beside that path look free. Under processor sharing a
transfer is stretched by 1 + w, w = ρ/(1 − ρ), in place of the wait.

It says as well which tasks the longest path leads through. Searches of large interiors have the recursion
once more each, as machine code: of whole configurations in
:mod:`nona.queries.placement.interiors.compiled_searches`, task by task in
:mod:`nona.queries.placement.interiors.compiled_searches`.

Where a sub-graph has but one or two configurations in use, NumPy's price for each call is many times
that of the arithmetic. The operations are the same in the same order, so the results are the same to
the last bit.

At a fixed server wait the span is convex and piecewise linear in the link's wait w. Its lines are
found by the method of Eisner and Severance: where the two outermost lines meet, evaluate; if the
span is higher there, the line found is a new one, and the two sides are searched in turn. The
number of evaluations is about twice the number of lines. All configurations are searched at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nona.core.arrays import Bools, Floats, Ints
from nona.queries.placement.messages import ShapeCandidates

COMPUTE, TRANSFER, LINK, VISITS = range(4)


def spans(
    candidates: ShapeCandidates,
    link_wait: Floats | float,
    server_wait_s: float,
    rows: Ints | None = None,
) -> tuple[Floats, Floats]:
    """Span of each configuration from the root's end to the sink's start, and its longest path.

    ``link_wait``: w_n in seconds under FIFO, the stretch w under processor sharing; scalar or (n,).
    ``server_wait_s``: w_c, mean wait of one visit to an executor.
    ``rows``: which configurations; all by default.

    Returns ``span_s`` (n,) and ``path`` (4, n), of a longest path: compute seconds, transfer seconds,
    coefficient of ``link_wait`` (messages under FIFO, transfer seconds under processor sharing), number of
    visits. So ``span = path[0] + path[1] + path[2]·link_wait + path[3]·server_wait_s``.
    """
    walk = _Walk(candidates, link_wait, server_wait_s, rows)
    for v in range(1, candidates.shape.m + 1):
        walk.run_task(v)
    return walk.finish()


def ends(candidates: ShapeCandidates, rows: Ints) -> Floats:
    """Return the ends (m + 1, n) of root and interior tasks of some configurations without waits, in s."""
    walk = _Walk(candidates, 0.0, 0.0, rows)
    for v in range(1, candidates.shape.m + 1):
        walk.run_task(v)
    return np.array([done[0] for done in walk.done])


class _Walk:
    """The recursion of the module's head over (1 + 4, n) arrays: value, then the path's four terms."""

    def __init__(
        self, c: ShapeCandidates, link_wait: Floats | float, server_wait_s: float, rows: Ints | None
    ) -> None:
        chosen = slice(None) if rows is None else rows
        self.c, self.shape = c, c.shape
        self.labels = c.labels[chosen].T
        self.sink_visit = c.sink_visit[chosen]
        n = self.labels.shape[1]
        self.columns = np.arange(n)
        self.link_wait, self.server_wait_s = (
            np.broadcast_to(np.asarray(link_wait, dtype=float), (n,)),
            server_wait_s,
        )
        self.never = np.zeros((5, n))
        self.never[0] = -np.inf
        self.at_once = np.zeros((5, n))
        self.done: list[Floats] = [self.at_once]
        self.last = np.tile(self.never[:, None, :], (1, int(self.labels.max(initial=0)) + 1, 1))
        if self.shape.has_root:
            self.last[:, 0, :] = 0.0
        kept = c.messages
        self.remote = kept.remote[:, chosen]
        self.through = kept.through_s[:, chosen]
        fifo = c.link.discipline == "fifo"
        self.slope = self.remote * float(c.link.crosses) if fifo else kept.stretched_s[:, chosen]

    def _visit(self, path: Floats, where: Bools) -> Floats:
        out = path.copy()
        out[0] += where * self.server_wait_s
        out[1 + VISITS] += where
        return out

    def _arrival(self, edge: int, visit: bool) -> Floats:
        """Return the path through ``edge``: its transfer and waits added to the end of its source."""
        out = self.done[self.shape.source[edge]].copy()
        out[1 + TRANSFER] += self.through[edge]
        out[1 + LINK] += self.slope[edge]
        out[0] += self.through[edge] + self.slope[edge] * self.link_wait
        return self._visit(out, self.remote[edge]) if visit else out

    def run_task(self, v: int) -> None:
        label = self.labels[v - 1]
        best = self.last[:, label, self.columns]
        for edge in self.shape.edges_into[v]:
            best = _longer(best, self._arrival(edge, visit=True))
        if not self.shape.edges_into[v]:
            # A source of the graph (its root is virtual) queues; a source on the root's own
            # server that depends on nothing behind a real root cannot exist.
            best = _longer(best, self._visit(self.at_once, np.ones(len(self.columns), dtype=bool)))
        best[:2] += self.shape.mean_s[v - 1]
        self.last[:, label, self.columns] = best
        self.done.append(best)

    def finish(self) -> tuple[Floats, Floats]:
        best = self.at_once
        for edge in self.shape.edges_into[self.shape.m + 1]:
            best = _longer(best, self._arrival(edge, visit=False))
        if not self.shape.has_sink:
            for v in range(1, self.shape.m + 1):
                best = _longer(best, self.done[v])
        best = self._visit(best, self.sink_visit)
        return best[0], best[1:]


def _longer(a: Floats, b: Floats) -> Floats:
    return np.where(b[0] > a[0], b, a)


_MOST_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class EdgeInput:
    """An edge of one configuration: node that it comes from, transfer, coefficient of the link's wait."""

    source: int
    through_s: float
    slope: float
    remote: bool


@dataclass(frozen=True, slots=True)
class SpanPlan:
    """One configuration: for each interior task its server, seconds and inputs; then the sink's inputs."""

    labels: tuple[int, ...]
    seconds: tuple[float, ...]
    inputs: tuple[tuple[EdgeInput, ...], ...]
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
    edges: list[EdgeInput | None]
    last: EdgeInput | None
    visits: int


def single_span(
    c: ShapeCandidates, row: int, link_wait: float, server_wait_s: float
) -> tuple[float, tuple[float, float, float, float]]:
    """Span of configuration ``row`` and the terms of its longest path, as :func:`spans`."""
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


def longest_path(
    plan: SpanPlan, seconds: Sequence[float], link_wait: float, server_wait_s: float
) -> LongestPath:
    """Return the longest path with ``seconds`` (m,) for the tasks.

    They take the place of the plan's own, so that one plan serves all shares of the executor classes.
    """
    ends, before = [0.0], [-1]  # of the root, then of the tasks: when it ends, and what it waited for
    over: list[EdgeInput | None] = [None]
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


def _end(plan: SpanPlan, ends: list[float], link_wait: float) -> tuple[float, int, EdgeInput | None]:
    """Return the end of all, the task that decides it (the root is 0), and the sink's input from it."""
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
    plan: SpanPlan,
    value: float,
    at: int,
    last: EdgeInput | None,
    before: list[int],
    over: list[EdgeInput | None],
) -> LongestPath:
    """Return the path that ends at ``at``, followed back."""
    tasks: list[int] = []
    edges: list[EdgeInput | None] = []
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


def plan_of(c: ShapeCandidates, row: int) -> SpanPlan:
    """Return the plan of configuration ``row``, made when first asked for."""
    plan = c.plans.get(row)
    if not isinstance(plan, SpanPlan):
        if len(c.plans) >= _MOST_KEPT:
            c.plans.clear()
        plan = c.plans[row] = _make_plan(c, row)
    return plan


def _make_plan(c: ShapeCandidates, row: int) -> SpanPlan:
    shape, kept = c.shape, c.messages
    remote, through = kept.remote[:, row].tolist(), kept.through_s[:, row].tolist()
    if c.link.discipline == "fifo":
        slope = [float(r and c.link.crosses) for r in remote]
    else:
        slope = kept.stretched_s[:, row].tolist()
    source = shape.source.tolist()
    return SpanPlan(
        labels=tuple(c.labels[row, : shape.m].tolist()),
        seconds=tuple(shape.mean_s.tolist()),
        inputs=tuple(
            tuple(EdgeInput(source[e], through[e], slope[e], remote[e]) for e in shape.edges_into[v])
            for v in range(1, shape.m + 2)
        ),
        servers=int(c.labels[row].max(initial=0)) + 1,
        has_root=shape.has_root,
        has_sink=shape.has_sink,
        sink_visit=bool(c.sink_visit[row]),
    )


_TOLERANCE = 1e-12
_KEPT = 4  # server waits whose lines are kept
_ROUNDS = 200


@dataclass(frozen=True, eq=False)
class Envelope:
    """Lines of n configurations: span(w) = max over its lines of ``const`` + ``slope``·w.

    Lines are sorted by configuration; those of c are ``start[c]`` … ``start[c+1]`` − 1.
    """

    start: Ints
    const: Floats
    slope: Floats

    def __call__(self, link_wait: float) -> Floats:
        """(n,) spans at one wait."""
        result: Floats = np.maximum.reduceat(self.const + self.slope * link_wait, self.start[:-1])
        return result

    def tangents(self, link_wait: float) -> tuple[Floats, Floats]:
        """(n,) spans at one wait, and the slopes of the lines that are active there (the steepest)."""
        values = self.const + self.slope * link_wait
        top = np.maximum.reduceat(values, self.start[:-1])
        active = values >= np.repeat(top, np.diff(self.start))
        return top, np.maximum.reduceat(np.where(active, self.slope, 0.0), self.start[:-1])

    def spans(self, columns: Ints, link_wait: float) -> Floats:
        """Spans of some configurations only."""
        if not len(columns):
            return np.zeros(0)
        counts = self.start[columns + 1] - self.start[columns]
        ends = np.cumsum(counts)
        at = np.repeat(self.start[columns] - (ends - counts), counts) + np.arange(counts.sum())
        result: Floats = np.maximum.reduceat(self.const[at] + self.slope[at] * link_wait, ends - counts)
        return result


def envelope(candidates: ShapeCandidates, server_wait_s: float) -> Envelope:
    """Return the lines of every configuration at ``server_wait_s``, exact for all waits that matter.

    They are exact up to the wait at which everything that crosses the link takes 1000 times the
    local span longer; beyond it they remain a lower bound. The last few are kept with the candidates:
    a bound solves many problems that differ in other columns only.
    """
    kept = candidates.envelopes
    lines = kept.get(server_wait_s)
    if not isinstance(lines, Envelope):
        lines = _envelope(candidates, server_wait_s)
        while len(kept) >= _KEPT:
            del kept[next(iter(kept))]
        kept[server_wait_s] = lines
    return lines


def _envelope(candidates: ShapeCandidates, server_wait_s: float) -> Envelope:
    every = np.arange(len(candidates))
    ends = [
        _lines(candidates, wait, server_wait_s, every)
        for wait in (np.zeros(len(every)), _far(candidates, server_wait_s))
    ]
    lines = [(every, *line) for line in ends]
    rows, (lc, ls), (rc, rs) = every, *ends
    for _ in range(_ROUNDS):
        kept = np.flatnonzero(rs - ls > _TOLERANCE * (1.0 + np.abs(rs)))
        if not len(kept):
            break
        rows, lc, ls, rc, rs = rows[kept], lc[kept], ls[kept], rc[kept], rs[kept]
        meet = np.maximum((lc - rc) / (rs - ls), 0.0)
        const, slope = _lines(candidates, meet, server_wait_s, rows)
        up = np.flatnonzero(const + slope * meet > (lc + ls * meet) * (1 + _TOLERANCE) + 1e-300)
        lines.append((rows[up], const[up], slope[up]))
        rows = np.tile(rows[up], 2)
        lc, ls = np.concatenate([lc[up], const[up]]), np.concatenate([ls[up], slope[up]])
        rc, rs = np.concatenate([const[up], rc[up]]), np.concatenate([slope[up], rs[up]])
    return _sorted(len(every), lines)


def _lines(c: ShapeCandidates, link_wait: Floats, server_wait_s: float, rows: Ints) -> tuple[Floats, Floats]:
    span, path = spans(c, link_wait, server_wait_s, rows)
    const = span - path[LINK] * link_wait
    # The subtraction loses digits at large waits, the path's own terms do not.
    return np.where(path[LINK] > 0, path[0] + path[1] + path[3] * server_wait_s, const), path[LINK]


def _far(c: ShapeCandidates, server_wait_s: float) -> Floats:
    """Return a wait so large that every configuration's last line is active."""
    kept = c.messages
    if c.link.discipline == "fifo":
        unit = np.ones(len(c))
    else:
        moved = np.where(kept.stretched_s > 0, kept.stretched_s, np.inf)
        unit = np.minimum(moved.min(axis=0, initial=np.inf), 1e9)
    longest = c.shape.local_s + kept.through_s.sum(axis=0) + (c.shape.m + 1) * server_wait_s
    far: Floats = 1e3 * (longest + 1e-9) / unit
    return far


def _sorted(n: int, pieces: list[tuple[Ints, Floats, Floats]]) -> Envelope:
    rows, const, slope = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    order = np.lexsort((const, slope, rows))
    rows, const, slope = rows[order], const[order], slope[order]
    twin = np.zeros(len(rows), dtype=bool)
    twin[1:] = (rows[1:] == rows[:-1]) & (slope[1:] == slope[:-1]) & (const[1:] == const[:-1])
    rows, const, slope = rows[~twin], const[~twin], slope[~twin]
    return Envelope(np.searchsorted(rows, np.arange(n + 1)), const, slope)
