"""``nexus``: models packed onto executors with a batch size each, so that every duty cycle keeps the SLOs.

A session is a query class. One whose rate fills executors gets them for itself, with the largest batch b for
which a query waits for one batch and runs in the next within its SLO, 2·ℓ(b) ≤ SLO. What is left of its rate
r shares executors: a cycle of b/r seconds gathers b queries, and b is the largest with b/r + ℓ(b) ≤ SLO.
Sessions are put together, in order of the share ℓ(b)·r/b of an executor that they take, at the shortest of
their cycles, where all batches fit into it and all SLOs are kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from nona.arrays import Floats, Ints
from nona.errors import SimulationError
from nona.options import Setting
from nona.placement.capacity import allowed_classes
from nona.placement.result import Placement
from nona.registry import Look
from nona.schedulers.base import BatchLimits, NetworkView, Prepared, Scheduler, View
from nona.system import System

WITHOUT_SLO = 10.0  # times its own time: the SLO of a row that has none
_HALVINGS = 30
_MOST = 2.0**20  # times the rates: tasks may take no time


class Shares(NamedTuple):
    """``tasks`` (Q,); ``up_to`` (Q·E,): the share of each class's queries on executors up to e."""

    tasks: Ints
    up_to: Floats


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a session's rate on one executor, in batches of ``batch``."""

    session: int
    rate: float
    batch: int


@dataclass(slots=True)
class _Node:
    """An executor of class ``kind`` with its parts, and the length of its duty cycle."""

    kind: int
    parts: list[_Part] = field(default_factory=list)
    cycle_s: float = math.inf


class _Packing:
    """Packs sessions: ``times_s[q]`` (B, classes), ``slo_s`` (Q,), ``kinds`` the class of each executor."""

    def __init__(self, times_s: list[Floats], slo_s: Floats, kinds: list[int]) -> None:
        self.times_s, self.slo_s, self.kinds = times_s, slo_s, kinds

    def pack(self, rates: Floats) -> list[_Node] | None:
        """A node for every executor; ``None`` where the rates do not fit."""
        nodes, left = [_Node(k) for k in self.kinds], rates.copy()
        for node in nodes:
            full = [self.saturated(q, node.kind) for q in range(len(left))]
            wanted = [
                left[q] * self.times_s[q][b - 1, node.kind] / b if b else 0.0 for q, b in enumerate(full)
            ]
            q = int(np.argmax(wanted))
            if wanted[q] < 1:
                continue
            rate = full[q] / float(self.times_s[q][full[q] - 1, node.kind])
            node.parts, node.cycle_s = [_Part(q, rate, full[q])], 0.0
            left[q] -= rate
        rest = {q: rate for q, rate in enumerate(left.tolist()) if rate > 1e-12}
        order = sorted(rest, key=lambda q: -self._share(q, rest[q]))
        return nodes if all(self._place(q, rest[q], nodes) for q in order) else None

    def saturated(self, q: int, kind: int) -> int:
        """The largest batch with 2·ℓ(b) ≤ SLO; 0: not even one of one query."""
        fits = np.flatnonzero(2 * self.times_s[q][:, kind] <= self.slo_s[q])
        return int(fits[-1]) + 1 if len(fits) else 0

    def _residual(self, q: int, rate: float, kind: int) -> int:
        sizes = np.arange(1, len(self.times_s[q]) + 1)
        fits = np.flatnonzero(sizes / rate + self.times_s[q][:, kind] <= self.slo_s[q])
        alone = self.times_s[q][0, kind] <= self.slo_s[q]
        return int(fits[-1]) + 1 if len(fits) else int(alone)

    def _share(self, q: int, rate: float) -> float:
        batch = max(self._residual(q, rate, self.kinds[0]), 1)
        return float(self.times_s[q][batch - 1, self.kinds[0]]) * rate / batch

    def _place(self, q: int, rate: float, nodes: list[_Node]) -> bool:
        """Put a part where it leaves least; on an executor of its own if it fits nowhere beside others."""
        best: tuple[float, _Node, list[_Part], float] | None = None
        for node in nodes:
            merged = self._merged(node, q, rate)
            if merged is not None:
                parts, cycle_s = merged
                busy = sum(self.times_s[p.session][p.batch - 1, node.kind] for p in parts) / cycle_s
                key = busy if node.parts else busy - 1.0  # an empty executor comes last
                if best is None or key > best[0]:
                    best = key, node, parts, cycle_s
        if best is None:
            return False
        _, node, node.parts, node.cycle_s = best
        return True

    def _merged(self, node: _Node, q: int, rate: float) -> tuple[list[_Part], float] | None:
        """The parts of a node and its cycle with one more part, if that keeps all SLOs."""
        batch = self._residual(q, rate, node.kind)
        if not batch or node.cycle_s == 0:
            return None
        cycle_s = min(node.cycle_s, batch / rate)
        parts = [
            _Part(p.session, p.rate, max(int(cycle_s * p.rate + 1e-9), 1))
            for p in (*node.parts, _Part(q, rate, batch))
        ]
        steps_s = [float(self.times_s[p.session][p.batch - 1, node.kind]) for p in parts]
        late = any(
            cycle_s + step_s > self.slo_s[p.session] and p.batch > 1
            for p, step_s in zip(parts, steps_s, strict=True)
        )
        # A batch of one may come more often than once a cycle.
        load = sum(p.rate * step_s / p.batch for p, step_s in zip(parts, steps_s, strict=True))
        return None if late or load > 1 else (parts, cycle_s)


def decide(now: float, query: int, view: View, tables: Shares, u: Any, out: Any) -> None:
    """Draw an executor by the shares of the class."""
    base, executors, chosen = query * len(view.executor_server), len(view.executor_server), 0
    while chosen < executors - 1 and u[0] >= tables.up_to[base + chosen]:
        chosen += 1
    for i in range(tables.tasks[query]):
        out[i] = chosen


def _build(system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
    """Pack the largest multiple of the rates that fits; where they do not fit, all executors serve all."""
    drops = options["early_drop"]
    _check_drops(system, drops)
    allowed = allowed_classes(system)
    times_s = []
    for q, row in zip(system.queries, allowed, strict=True):
        times_s.append(np.where(row, q.step_s.sum(axis=2), math.inf))
    slo_s = np.array(
        [q.slo_s or WITHOUT_SLO * float(t[0].min()) for q, t in zip(system.queries, times_s, strict=True)]
    )
    packing = _Packing(times_s, slo_s, system.executor_class.tolist())
    rates = np.array([q.rate for q in system.queries])
    nodes, low, high = packing.pack(rates), 1.0, 1.0
    while nodes and high < _MOST and (more := packing.pack(rates * 2 * high)):
        nodes, low, high = more, 2 * high, 2 * high
    for _ in range(_HALVINGS if nodes else 0):
        middle = (low + 2 * high) / 2
        if more := packing.pack(rates * middle):
            nodes, low = more, middle
        else:
            high = middle / 2
    may = allowed[:, system.executor_class]
    limits, shares = np.ones(may.shape, dtype=np.int64), np.where(may, 1.0, 0.0)
    if nodes is None:
        limits = np.array(
            [
                [max(packing.saturated(q, k), 1) if drops else len(t) for k in packing.kinds]
                for q, t in enumerate(times_s)
            ]
        )
    else:
        shares = np.zeros(may.shape)
        for e, node in enumerate(nodes):
            for part in node.parts:
                shares[part.session, e] += part.rate
                limits[part.session, e] = max(limits[part.session, e], part.batch)
    shares = np.where(shares.sum(axis=1, keepdims=True) > 0, shares, may)
    up_to = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
    tasks = np.array([len(q.tasks) for q in system.queries], dtype=np.int64)
    begin_s = _latest_begins_s(system, times_s, limits) if drops else None
    return Prepared(Shares(tasks, up_to.ravel()), 1, batches=BatchLimits(limits, begin_s=begin_s))


def _latest_begins_s(system: System, times_s: list[Floats], limits: Ints) -> Floats:
    """(Q, E) How long after its arrival a query may begin and be in time, in a batch of the largest size."""
    begin_s = np.full(limits.shape, math.inf)
    for q, (query, times) in enumerate(zip(system.queries, times_s, strict=True)):
        if query.slo_s is not None:
            begin_s[q] = query.slo_s - times[limits[q] - 1, system.executor_class]
    return begin_s


def _check_drops(system: System, drops: bool) -> None:
    if drops and not system.batches:
        raise SimulationError(
            "Scheduler 'nexus': early_drop=True needs executors that batch; give a row batching with a "
            "max_batch of at least 2, or leave early_drop out."
        )
    for query in system.queries if drops else ():
        if query.batching and query.batching.rule == "triton" and query.batching.form_ahead:
            raise SimulationError(
                "Scheduler 'nexus': early_drop=True drops queries as a batch starts, but batches of "
                f"{query.name!r} form ahead; set its form_ahead to 0, or leave early_drop out."
            )


SCHEDULER = Scheduler(
    name="nexus",
    kind="bind",
    family="practice",
    network_view=NetworkView.N0,
    summary="Packs models onto executors with fixed batches, so that duty cycles keep every SLO.",
    source=(
        "Shen et al.: Nexus: A GPU Cluster Engine for Accelerating DNN-Based Video Analysis, SOSP 2019 "
        "(recollected)"
    ),
    adaptation=(
        "Packed once, for the rates of the scenario times the largest factor that still fits, as all "
        "executors are there to be used; if even the rates do not fit, every executor serves every model. "
        "Queries are drawn by the rates of the parts. Executors take batches first come, first served, in "
        "place of a fixed cycle. With early_drop, as a batch is about to start, the oldest queries leave "
        "that a batch of the packed size would serve after their SLO. A row without an SLO has ten times its "
        "own time, and drops none. Without batching in the scenario all batches are of one."
    ),
    decide=decide,
    build=_build,
    takes_lists=True,
    settings={
        "early_drop": Setting(False, "drop queries that a batch would serve too late, before they begin"),
    },
    look=Look("#3d6f9e", "longdashdot", "hexagon2"),
)
