"""Capacity and stability: loads by executor class, memory, overloaded resources.

Any part of a job may run on any executor of a class that its query class uses, so every executor of
that class holds the weights of the whole model; with several models, of all that use the class
together. Weights alone are counted, each parameter once: no activations, no workspace of the
runtime. A client of MPS is a process with weights of its own and an equal part of the memory.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from nona.core.arrays import Bools, Floats
from nona.core.errors import PlacementError
from nona.core.units import format_bandwidth, format_size
from nona.queries.system import System


@dataclass(frozen=True, eq=False)
class ExecutorLoads:
    """Loads of the executors by shares: ρ_k = ``background`` + Σ_j ``load``_jk s_jk.

    ``load`` (J, K): λ_j·(seconds of all tasks)/n_k; 0 where there are no executors. ``allowed`` (J, K): where
    a query class may run. ``background``: ρ of an executor by background work alone.
    """

    load: Floats
    allowed: Bools
    background: float

    def utilization(self, shares: Floats) -> Floats:
        """(K,) ρ of each executor class."""
        result: Floats = self.background + (self.load * shares).sum(axis=0)
        return result

    def least_peak(self) -> tuple[float, Floats]:
        """Return the least ρ that the busiest class can have, and shares (J, K) that reach it.

        Of the shares that do, those with the least work in all are taken.
        """
        tie = 1e-6 / max(float(self.load.max(initial=0.0)), 1e-300)
        shares = self._program(tie * self.load, None)
        if shares is None:  # only rounding can bring this about: any shares fulfil this program
            shares = without_negligible(self.allowed.astype(float), self.allowed)
        return float(self.utilization(shares)[self.used].max(initial=self.background)), shares

    def cheapest(self, cost: Floats, peak: float) -> Floats | None:
        """Shares of least Σ ``cost``_jk s_jk with no class busier than ``peak``; None: there are none."""
        return self._program(cost, peak)

    @property
    def used(self) -> Bools:
        """(K,) Classes that some query class may run on."""
        return np.asarray(self.allowed.any(axis=0), dtype=bool)

    def _program(self, cost: Floats, peak: float | None) -> Floats | None:
        """Return the program over the allowed shares, and over the ``peak`` if it has no value (price 1)."""
        rows, columns = np.nonzero(self.allowed)
        n, (queries, classes) = len(rows), self.allowed.shape
        free = int(peak is None)
        at, sparse = np.arange(n), scipy.sparse.csr_array
        once: Any = sparse((np.ones(n), (rows, at)), shape=(queries, n + free))
        below: Any = sparse((self.load[rows, columns], (columns, at)), shape=(classes, n + free))
        if free:
            peak_of = (np.full(classes, -1.0), (np.arange(classes), np.full(classes, n)))
            below = below + sparse(peak_of, shape=below.shape)
        price = np.concatenate([cost[rows, columns], np.ones(free)])
        room = np.full(classes, (peak or 0.0) - self.background)
        result = scipy.optimize.linprog(
            price, A_ub=below, b_ub=room, A_eq=once, b_eq=np.ones(queries), bounds=(0, None)
        )
        if result.x is None:
            return None
        shares = np.zeros(self.allowed.shape)
        shares[rows, columns] = np.clip(result.x[:n], 0.0, None)
        return without_negligible(shares, self.allowed)


def loads_of(system: System, allowed: Bools) -> ExecutorLoads:
    """Return the loads of ``system``'s queries."""
    counts, stream = system.class_counts, system.background_compute
    work = np.array([q.rate * q.load_s.sum(axis=1) for q in system.queries]).reshape(allowed.shape)
    load = np.divide(work, counts, out=np.zeros(work.shape), where=counts > 0)
    return ExecutorLoads(load, allowed & (counts > 0), stream.rate * stream.mean)


def without_negligible(shares: Floats, allowed: Bools) -> Floats:
    """Return the shares without negligible or forbidden ones; every row adds up to 1."""
    kept = np.where(allowed & (shares > 1e-9), shares, 0.0)
    total = kept.sum(axis=1, keepdims=True)
    result: Floats = kept / total
    return result


Chosen = tuple[frozenset[int], ...]  # for each executor class, the models that live there
_LISTED = 12
_TRIED = 600
_SLACK = 1 + 1e-12


@dataclass(frozen=True, slots=True)
class Replica:
    """A model's weights: bytes, and the query classes that use them."""

    name: str
    size_bytes: float
    queries: tuple[int, ...]


def replicas(system: System) -> tuple[Replica, ...]:
    """Return the models of a system; query classes with one ``replica`` name share their weights."""
    by_name: dict[str, list[int]] = {}
    for j, q in enumerate(system.queries):
        by_name.setdefault(q.replica or f"\0{j}", []).append(j)
    return tuple(
        Replica(system.queries[js[0]].name, max(system.queries[j].weight_bytes for j in js), tuple(js))
        for js in by_name.values()
    )


def allowed_classes(system: System) -> Bools:
    """Return the executor classes (J, K) on which each query class may run, so that all weights fit.

    Where all models fit everywhere, all classes are allowed. Where they do not, models are distributed
    over the classes: of all ways (up to 12 models and 600 ways; beyond, those that a search which changes
    one class at a time finds) the one whose busiest executor is the least busy.

    Raises ``PlacementError`` when a model fits nowhere, or not all of them fit beside one another.
    """
    there = np.tile(system.class_counts > 0, (len(system.queries), 1))
    if system.class_memory_bytes is None:
        return there
    models, room = replicas(system), np.asarray(system.class_memory_bytes, dtype=float) * _SLACK
    options = []
    for k in np.flatnonzero(system.class_counts > 0).tolist():
        single = [m for m, r in enumerate(models) if r.size_bytes <= room[k]]
        options.append(_options(models, single, float(room[k])))
    _check_each(system, models, options)
    if all(len(sets) == 1 for sets in options):
        return _mask(system, models, tuple(sets[0] for sets in options))
    return _mask(system, models, _least_loaded_choice(system, models, options))


def default_shares(system: System) -> Floats | None:
    """Shares of a uniform draw over the executors that hold the model; ``None``: those are all."""
    allowed = allowed_classes(system)
    if allowed[:, system.class_counts > 0].all():
        return None
    rows = np.where(allowed, system.class_counts, 0).astype(float)
    shares: Floats = rows / rows.sum(axis=1, keepdims=True)
    return shares


def resident_bytes(system: System, allowed: Bools) -> Floats:
    """(models, K) Bytes of weights of each model on one executor of each class."""
    return np.array([r.size_bytes * allowed[list(r.queries)].any(axis=0) for r in replicas(system)])


def _options(models: Sequence[Replica], single: Sequence[int], room: float) -> list[frozenset[int]]:
    """Return the largest sets of models that fit together: all maximal ones, or for many models a few."""
    if sum(models[m].size_bytes for m in single) <= room:
        return [frozenset(single)]
    if len(single) > _LISTED:
        orders = [sorted(single, key=lambda m: (s * models[m].size_bytes, m)) for s in (1, -1)]
        orders += [[*single[i:], *single[:i]] for i in range(len(single))]
        return sorted({_filled(models, order, room) for order in orders}, key=sorted)
    sets = {
        frozenset(chosen)
        for size in range(len(single), -1, -1)
        for chosen in itertools.combinations(single, size)
        if sum(models[m].size_bytes for m in chosen) <= room
    }
    return sorted((s for s in sets if not any(s < other for other in sets)), key=sorted)


def _filled(models: Sequence[Replica], order: Sequence[int], room: float) -> frozenset[int]:
    taken: set[int] = set()
    for m in order:
        if sum(models[t].size_bytes for t in taken) + models[m].size_bytes <= room:
            taken.add(m)
    return frozenset(taken)


def _least_loaded_choice(
    system: System, models: Sequence[Replica], options: Sequence[Sequence[frozenset[int]]]
) -> Chosen:
    """Return the executor classes of each model whose busiest executor is the least busy."""
    if math.prod(len(sets) for sets in options) <= _TRIED:
        scored = ((_score(system, models, c), i, c) for i, c in enumerate(itertools.product(*options)))
        score, _, best = min(scored)
    else:
        best = tuple(max(sets, key=len) for sets in options)
        score = _score(system, models, best)
        for _ in range(len(options)):
            before = score
            for k, sets in enumerate(options):
                for other in sets:
                    tried = (*best[:k], other, *best[k + 1 :])
                    new_score = _score(system, models, tried)
                    if new_score < score:
                        best, score = tried, new_score
            if score == before:
                break
    if score[0]:
        left_out = max(set(range(len(models))) - set().union(*best), key=lambda m: models[m].size_bytes)
        raise _too_large(system, models, left_out)
    return best


def _score(system: System, models: Sequence[Replica], chosen: Chosen) -> tuple[int, float]:
    """Return the number of models without a place, and the least ρ of the busiest class."""
    without = len(models) - len(frozenset().union(*chosen))
    if without:
        return without, math.inf
    return 0, round(loads_of(system, _mask(system, models, chosen)).least_peak()[0], 9)


def _mask(system: System, models: Sequence[Replica], chosen: Chosen) -> Bools:
    mask = np.zeros((len(system.queries), len(system.class_names)), dtype=bool)
    for k, live in zip(np.flatnonzero(system.class_counts > 0).tolist(), chosen, strict=True):
        for m in live:
            mask[list(models[m].queries), k] = True
    return mask


def _check_each(
    system: System, models: Sequence[Replica], options: Sequence[Sequence[frozenset[int]]]
) -> None:
    for m in range(len(models)):
        if not any(m in s for sets in options for s in sets):
            raise _too_large(system, models, m)


def _too_large(system: System, models: Sequence[Replica], m: int) -> PlacementError:
    room = np.where(system.class_counts > 0, np.asarray(system.class_memory_bytes, dtype=float), 0.0)
    k = int(np.argmax(room))
    need, have = models[m].size_bytes, f"{format_size(float(room[k]))} ({system.class_names[k]})"
    batched = any(system.queries[j].batching for j in models[m].queries)
    content = "its weights and the activations of its largest batch" if batched else "its weights"
    what = f"Model {models[m].name!r}: {content}, {format_size(need)},"
    if need > room[k]:
        rule = f"must fit one executor, and the largest has {have}"
    else:
        total = sum(r.size_bytes for r in models)
        rule = f"must fit an executor with the others ({format_size(total)} in all), the largest has {have}"
    return PlacementError(
        f"{what} {rule}; take a larger GPU or slice, fewer MPS clients, a lower precision, or fewer models."
    )


def check_feasible(system: System, shares: Floats | None = None) -> None:
    """Raise unless the local placement is stable.

    Under given shares of the executor classes (a uniform draw by default) the load on the executors
    is the same for every placement, and a placement that sends nothing exists, so a stable placement
    exists exactly when every executor class is loaded below 1 and the link's background alone is
    below 1.

    Raises ``PlacementError``, which names the resource, its utilisation, and what servers or capacity
    would do.
    """
    if not system.queries:
        raise PlacementError("Workload: it has no query classes; add at least one model with a rate.")
    _check_executors(system, shares)
    _check_links(system)


def _check_links(system: System) -> None:
    """Every link's background must leave it some capacity."""
    offered = np.array([stream.rate * stream.mean for _, stream in system.link_streams])
    worst = int(np.argmax(offered / system.link_capacity))
    traffic, capacity = float(offered[worst]), float(system.link_capacity[worst])
    if traffic <= 0 or traffic < capacity:
        return
    several = len(system.link_names) > 1
    raise PlacementError(
        f"{f'Link {system.link_names[worst]!r}' if several else 'Link'}: background traffic "
        f"{format_bandwidth(traffic)} is {traffic / capacity:.3g} times the capacity "
        f"{format_bandwidth(capacity)} and must be less. Raise the capacity above "
        f"{format_bandwidth(traffic)} or lower the background; more servers do not help."
    )


def executor_utilization(system: System, shares: Floats | None = None) -> tuple[float, tuple[float, ...]]:
    """Background utilisation of an executor, and the queries' for each executor class."""
    stream = system.background_compute
    rows = system.uniform_shares if shares is None else shares
    work = np.zeros(len(system.class_names))
    for q, row in zip(system.queries, rows, strict=True):
        work += q.rate * row * q.load_s.sum(axis=1)
    counts = system.class_counts
    used = np.divide(work, counts, out=np.zeros(len(work)), where=counts > 0)
    return stream.rate * stream.mean, tuple(used.tolist())


def least_utilization(system: System) -> float:
    """Utilisation of the busiest executors where every task runs where that is least.

    No scheduler does better; from 1 on there is no steady state under any. It is the linear program of
    :class:`ExecutorLoads`, over tasks in place of query classes.
    """
    counts, stream = system.class_counts, system.background_compute
    present = counts > 0
    work = np.vstack([q.rate * q.load_s.T for q in system.queries])
    load, background = work[:, present] / counts[present], stream.rate * stream.mean
    if load.shape[1] == 1:  # nothing to share out, and no solver to load
        return float(background + load.sum())
    return ExecutorLoads(load, np.ones(load.shape, dtype=bool), background).least_peak()[0]


def servers_needed(system: System, shares: Floats | None = None) -> int | None:
    """Servers of the present mix that bring every executor below utilisation 1; None: no number does."""
    background, queries = executor_utilization(system, shares)
    if background >= 1:
        return None
    factor = max(queries) / (1.0 - background)
    needed = math.floor(system.servers * factor * (1 + 1e-12)) + 1
    return max(needed, 1)


def _check_executors(system: System, shares: Floats | None) -> None:
    background, queries = executor_utilization(system, shares)
    worst, k = max(
        (background + q, k)
        for k, (q, n) in enumerate(zip(queries, system.class_counts.tolist(), strict=True))
        if n > 0
    )
    if worst < 1:
        return
    needed = servers_needed(system, shares)
    what = (
        f"Executors of class {system.class_names[k]!r}: utilisation {worst:.3g} must be below 1 "
        f"(background {background:.3g}, queries {queries[k]:.3g} on {system.class_counts[k]} executors)"
    )
    if needed is None:
        raise PlacementError(
            f"{what}; lower the background load, which overloads executors for any number of servers."
        )
    raise PlacementError(
        f"{what}; use {needed} servers of this mix in place of {system.servers}, or lower the rates."
    )
