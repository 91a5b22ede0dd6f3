"""The decision: score every ready task on every executor, and take the best pair.

This is code for the compiled engine too: arrays, loops, scalars. Executors of one class that must fetch
equally many bytes and have equally many free neighbours are alike for a task; one of them is scored.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.core.arrays import Floats, Ints
from nona.queries.placement.capacity import allowed_classes
from nona.queries.schedulers.base import Ready, SystemView, reads_of, server_of
from nona.queries.schedulers.learned.network import (
    BLIND_PAIR,
    HIDDEN,
    SCALE,
    SLOPE,
    STATE,
    WIDTH,
    Layer,
    PolicyNetwork,
    embed,
    mean_work_s,
    task_features,
)
from nona.queries.system import System

MOST_READY = 256  # the oldest ready tasks are scored
MOST_KINDS = 32  # kinds of free executors that are scored for a task


class Learned(NamedTuple):
    """Q query classes with T tasks in all, K executor classes; 16 numbers a row are a hidden layer's inputs.

    ``first`` (Q+1,) delimits the tasks of each query class; ``time_s`` (K·T,): seconds of task i on class k
    at k·T + i; ``may`` (Q·K,): 1 where the class can hold the model. ``inputs`` (T+1,) delimits the tensors
    that a task reads: of ``source``, a task of its query, ``size_bytes`` each. ``task`` and ``job``
    (T·16,): what a task adds to the first layer of the score, and what it adds for its job while it is not
    complete. ``score`` holds the weights of that layer for the features of pair and state, then its bias;
    ``second`` and ``third`` the layers after it, each followed by its bias.
    """

    first: Ints
    time_s: Floats
    may: Ints
    inputs: Ints
    source: Ints
    size_bytes: Floats
    task: Floats
    job: Floats
    score: Floats
    second: Floats
    third: Floats
    classes: int
    pair: int
    unit_s: float
    capacity: float
    latency_s: float


class ReadyCandidates(NamedTuple):
    """The C candidates of a decision.

    (C,) entry of the ready list, executor, executors that are alike, bytes to fetch, and score of each; (C,
    P+4) the features of pair and state.
    """

    entry: Ints
    executor: Ints
    alike: Ints
    fetched: Floats
    score: Floats
    features: Floats


class DecisionInput(NamedTuple):
    """The input common to all candidates of a decision.

    The time, (S,) free executors of each server, and the share of executors that are free.
    """

    now: float
    near: Ints
    free: float


def candidates(now: float, view: SystemView, ready: Ready, t: Learned) -> ReadyCandidates:
    """Return all that may be chosen: every ready task on the first of each kind of free executor.

    Where the executor of a task's last predecessor is busy, also the task on that: then it waits there.
    """
    executors, entries = len(view.queue_length), min(ready.n, MOST_READY)
    c = _room_for(entries * (min(executors, MOST_KINDS) + 1), t.pair + STATE)
    near, hidden = _free_neighbours(view), np.zeros(HIDDEN)
    m = DecisionInput(now, near, near.sum() / executors)
    n = 0
    for i in range(entries):
        _job_part(ready, i, t, hidden)
        begin = n
        for e in range(executors):
            if view.queue_length[e] != 0 or not _may_run(view, ready, i, e, t):
                continue
            fetched = _fetched_bytes(view, ready, i, e, t)
            same = _row_of_kind(view, near, c, begin, n, e, fetched)
            if same < n:
                c.alike[same] += 1
            elif n - begin < MOST_KINDS:
                n = add(m, view, ready, t, hidden, c, n, i, e, fetched)
        home = ready.home[i]
        if home >= 0 and view.queue_length[home] != 0 and _may_run(view, ready, i, home, t):
            n = add(m, view, ready, t, hidden, c, n, i, home, _fetched_bytes(view, ready, i, home, t))
    return ReadyCandidates(
        c.entry[:n], c.executor[:n], c.alike[:n], c.fetched[:n], c.score[:n], c.features[:n]
    )


def _room_for(rows: int, features: int) -> ReadyCandidates:
    return ReadyCandidates(
        np.zeros(rows, dtype=np.int64),
        np.zeros(rows, dtype=np.int64),
        np.zeros(rows, dtype=np.int64),
        np.zeros(rows),
        np.zeros(rows),
        np.zeros((rows, features)),
    )


def add(
    m: DecisionInput,
    view: SystemView,
    ready: Ready,
    t: Learned,
    hidden: Floats,
    c: ReadyCandidates,
    n: int,
    i: int,
    e: int,
    fetched: float,
) -> int:
    """Score entry i on executor e as candidate n; the number of the next one."""
    c.entry[n] = i
    c.executor[n] = e
    c.alike[n] = 1
    c.fetched[n] = fetched
    _describe(m, view, ready, t, i, e, fetched, c.features[n])
    c.score[n] = score(t, hidden, c.features[n])
    return n + 1


def _may_run(view: SystemView, ready: Ready, i: int, e: int, t: Learned) -> bool:
    return bool(t.may[ready.query[i] * t.classes + view.executor_class[e]] != 0)


def _free_neighbours(view: SystemView) -> Ints:
    free = np.zeros(view.executor_server.max() + 1, dtype=np.int64)
    for e in range(len(view.queue_length)):
        if view.queue_length[e] == 0:
            free[view.executor_server[e]] += 1
    return free


def _row_of_kind(
    view: SystemView, near: Ints, c: ReadyCandidates, begin: int, n: int, e: int, fetched: float
) -> int:
    """Return the candidate from ``begin`` to ``n`` that executor e is like; ``n``: there is none."""
    for row in range(begin, n):
        if c.fetched[row] == fetched and _are_alike(view, near, c.executor[row], e):
            return row
    return n


def _are_alike(view: SystemView, near: Ints, a: int, b: int) -> bool:
    same_class = view.executor_class[a] == view.executor_class[b]
    return bool(same_class and near[view.executor_server[a]] == near[view.executor_server[b]])


def one_of(view: SystemView, ready: Ready, t: Learned, c: ReadyCandidates, chosen: int, u: float) -> int:
    """Return an executor drawn uniformly among those that are alike for a candidate."""
    first, near = c.executor[chosen], _free_neighbours(view)
    left = int(u * c.alike[chosen])
    for e in range(first, len(view.queue_length)):
        if view.queue_length[e] != 0 or not _are_alike(view, near, first, e):
            continue
        if _fetched_bytes(view, ready, c.entry[chosen], e, t) == c.fetched[chosen]:
            left -= 1
            if left < 0:
                return e
    return int(first)


def _fetched_bytes(view: SystemView, ready: Ready, i: int, e: int, t: Learned) -> float:
    task = t.first[ready.query[i]] + ready.task[i]
    total = 0.0
    for r in range(t.inputs[task], t.inputs[task + 1]):
        place = ready.base[i] + t.source[r]
        if server_of(view.executor_server, ready.places, place) != view.executor_server[e]:
            total += t.size_bytes[r]
    return total


def _describe(
    m: DecisionInput, view: SystemView, ready: Ready, t: Learned, i: int, e: int, fetched: float, out: Floats
) -> None:
    """Write the features of entry i on executor e, and of the state, to ``out``.

    Times are log(1 + 10 x) in units of a query's work: the task's time, its transfers, whether there are any,
    the work before it at a busy executor, whether it is busy, the free neighbours; with eight also the link's
    queue before its transfers, and both together. Of the state: free executors, open jobs, executors that the
    job holds, age of the task.
    """
    per_unit = SCALE / t.unit_s
    busy = view.queue_length[e] != 0
    fetch_s = fetched / t.capacity + t.latency_s if fetched > 0 else 0.0
    task = t.first[ready.query[i]] + ready.task[i]
    executors = len(view.queue_length)
    others = m.near[view.executor_server[e]] - (0 if busy else 1)
    out[0] = math.log1p(per_unit * t.time_s[view.executor_class[e] * t.first[-1] + task])
    out[1] = math.log1p(per_unit * fetch_s)
    out[2] = 1.0 if fetched > 0 else 0.0
    out[3] = math.log1p(per_unit * view.backlog_s[e]) if busy else 0.0
    out[4] = 1.0 if busy else 0.0
    out[5] = others / (others + 2.0)
    if t.pair > BLIND_PAIR and fetched > 0:
        queue_s = view.link_queue_bytes / t.capacity
        out[6] = math.log1p(per_unit * queue_s)
        out[7] = math.log1p(per_unit * (queue_s + fetch_s))
    out[t.pair] = m.free
    out[t.pair + 1] = ready.open_jobs / (ready.open_jobs + executors)
    out[t.pair + 2] = math.log1p(ready.job_running[i])
    out[t.pair + 3] = math.log1p(per_unit * max(0.0, m.now - ready.since_s[i]))


def _job_part(ready: Ready, i: int, t: Learned, out: Floats) -> None:
    """Write the first layer's input of entry i into ``out``: by its task, and its job's incomplete tasks."""
    first, base = t.first[ready.query[i]], ready.base[i]
    bias = (t.pair + STATE) * HIDDEN
    for h in range(HIDDEN):
        out[h] = t.score[bias + h] + t.task[(first + ready.task[i]) * HIDDEN + h]
    for task in range(t.first[ready.query[i] + 1] - first):
        if ready.places[base + task] >= -1:
            for h in range(HIDDEN):
                out[h] += t.job[(first + task) * HIDDEN + h]


def score(t: Learned, hidden: Floats, features: Floats) -> float:
    """Return the score from the first layer's known part ``hidden`` and the features of pair and state."""
    one = np.zeros(HIDDEN)
    for h in range(HIDDEN):
        x = hidden[h]
        for f in range(t.pair + STATE):
            x += features[f] * t.score[f * HIDDEN + h]
        one[h] = max(x, SLOPE * x)
    total = t.third[WIDTH]
    for w in range(WIDTH):
        x = t.second[HIDDEN * WIDTH + w]
        for h in range(HIDDEN):
            x += one[h] * t.second[h * WIDTH + w]
        total += max(x, SLOPE * x) * t.third[w]
    return float(total)


def learned_tables(system: System, network: PolicyNetwork) -> Learned:
    """Compute the tables of the decision.

    The graph network passes over every query class only here, as the tasks after a ready one are not complete
    either.

    Raises ``PlacementError`` when a model fits no executor.
    """
    unit_s = mean_work_s(system)
    passes = [embed(network, q.tasks.dag, task_features(system, q, unit_s)) for q in system.queries]
    task = np.concatenate([p.task for p in passes])
    job = np.concatenate([p.job for p in passes])
    first = network.score1.weight
    reads = reads_of(system)
    return Learned(
        first=reads.first,
        time_s=np.concatenate([q.tasks.compute_s for q in system.queries], axis=1).ravel(),
        may=allowed_classes(system).astype(np.int64).ravel(),
        inputs=reads.inputs,
        source=reads.source,
        size_bytes=reads.size_bytes,
        task=(task @ first[:WIDTH]).ravel(),
        job=(job @ first[WIDTH : 2 * WIDTH]).ravel(),
        score=_flat(Layer(first[2 * WIDTH :], network.score1.bias)),
        second=_flat(network.score2),
        third=_flat(network.score3),
        classes=len(system.class_names),
        pair=len(first) - 2 * WIDTH - STATE,
        unit_s=unit_s,
        capacity=system.capacity,
        latency_s=system.latency_s,
    )


def _flat(layer: Layer) -> Floats:
    return np.concatenate([layer.weight.ravel(), layer.bias])


def decide(now: float, view: SystemView, ready: Ready, tables: Learned, u: Any, out: NDArray[Any]) -> bool:
    """Pick the pair of highest score.

    A task whose best executor is busy waits for it, and the next best task is considered; when all that are
    ready wait, nothing is picked.
    """
    pairs = candidates(now, view, ready, tables)
    waiting = np.zeros(ready.n, dtype=np.int64)
    while True:
        best = -1
        for c in range(len(pairs.entry)):
            if not waiting[pairs.entry[c]] and (best < 0 or pairs.score[c] > pairs.score[best]):
                best = c
        if best < 0:
            return False
        if view.queue_length[pairs.executor[best]] == 0:
            out[0] = pairs.entry[best]
            out[1] = one_of(view, ready, tables, pairs, best, u[0])
            return True
        waiting[pairs.entry[best]] = 1
