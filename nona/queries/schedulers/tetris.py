"""``tetris``: the task and the executor that fit each other best, network cards included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.core.arrays import Floats, Ints
from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.queries.placement.result import Placement
from nona.queries.schedulers.base import (
    NetworkView,
    Ready,
    Scheduler,
    SchedulerTables,
    SystemView,
    card_rate,
    reads_of,
    server_of,
)
from nona.queries.system import System


class Packing(NamedTuple):
    """Q query classes with T tasks in all, which read R tensors, K executor classes, S servers.

    ``first`` (Q+1,) delimits the tasks of each query class; ``work_s`` and ``stage`` (T,): mean seconds and
    depth of a task. ``inputs`` (T+1,) delimits the tensors that a task reads: of ``source`` (R,), the number
    of a task of its query. ``rate`` (K·R,): the bytes/s at which its task on class k would read tensor r, at
    k·R + r.
    ``memory`` (Q·K,): the share of an executor's memory that the model takes. ``card_bytes_s`` (2S,): the
    cards, in and then out. The rest are the options.
    """

    first: Ints
    work_s: Floats
    stage: Ints
    inputs: Ints
    source: Ints
    rate: Floats
    memory: Floats
    classes: int
    card_bytes_s: Floats
    fairness: float
    barrier: float
    remote_penalty: float


def best_executors(view: SystemView, ready: Ready, i: int, t: Packing, into: Ints) -> tuple[float, int]:
    """Find the best alignment of entry i with a free executor (−1: none fits), and how many have it.

    Alignment is demand · available, each as a share of the capacity. A free executor and its memory are
    available as a whole. A card counts with what is not promised. It fits when no card is promised more than
    it has; a card of which nothing is promised takes any task.

    Servers that hold none of the inputs differ only in the card that receives: what they have in common is
    computed once for each class, and once for all such cards that are alike and not promised.
    """
    query = ready.query[i]
    task = t.first[query] + ready.task[i]
    first, last = t.inputs[task], t.inputs[task + 1]
    here = np.empty(last - first, np.int64)
    for r in range(len(here)):
        here[r] = server_of(view.executor_server, ready.places, ready.base[i] + t.source[first + r])
    promised, capacity, most, equal = view.card_bytes_s, t.card_bytes_s, -1.0, 0
    k, start, a, wanted = -1, 0.0, 0.0, 0.0
    unused, like = 0.0, -1.0  # the alignment where a card like this one is not promised
    rates = t.rate[:0]
    for e in range(len(view.queue_length)):
        if view.queue_length[e] > 0:
            continue
        there = view.executor_server[e]
        if view.executor_class[e] != k:
            k, like = view.executor_class[e], -1.0
            rates = t.rate[k * t.inputs[-1] + first : k * t.inputs[-1] + last]
            start = 1.0 + t.memory[query * t.classes + k]
            a, wanted = sent(here, rates, -1, promised, capacity, start)
        if _is_among(here, there):
            some, less = sent(here, rates, there, promised, capacity, start)
            fit = _received(promised[there], capacity[there], some, less, t.remote_penalty)
        elif promised[there] > 0:
            fit = _received(promised[there], capacity[there], a, wanted, t.remote_penalty)
        else:
            if capacity[there] != like:
                like = capacity[there]
                unused = _received(0.0, like, a, wanted, t.remote_penalty)
            fit = unused
        if fit > most:
            most, equal = fit, 0
        if fit == most and fit >= 0:
            into[equal] = e
            equal += 1
    return most, equal


def sent(
    here: Ints, rates: Floats, there: int, promised: Floats, capacity: Floats, a: float
) -> tuple[float, float]:
    """Return the alignment ``a`` with the sending cards of server ``there``, and the bytes/s they read.

    The alignment is −1 where a card has no room. Inputs are on servers ``here``; any server without one is as
    −1.
    """
    servers, wanted = len(capacity) // 2, 0.0
    for r in range(len(here)):
        if here[r] == there:
            continue
        wanted += rates[r]
        together = rates[r]
        for q in range(r):
            if here[q] == here[r]:
                together += rates[q]
        card = servers + here[r]
        if not has_room(promised[card], together, capacity[card]):
            return -1.0, wanted
        a += _aligned(promised[card], rates[r], capacity[card])
    return a, wanted


def _received(promised: float, capacity: float, a: float, wanted: float, penalty: float) -> float:
    """Return the alignment ``a`` with the receiving card, less the penalty for reading remotely."""
    if a < 0 or wanted <= 0:
        return a
    if not has_room(promised, wanted, capacity):
        return -1.0
    return (a + _aligned(promised, wanted, capacity)) * (1.0 - penalty)


def _is_among(servers: Ints, server: int) -> bool:
    matches = 0
    for other in servers:
        matches += other == server
    return matches > 0


def has_room(promised: float, more: float, capacity: float) -> bool:
    """Return whether a card has ``more`` left to promise; the first promise may be of any size."""
    return promised == 0.0 or promised + more <= capacity


def _aligned(promised: float, rate: float, capacity: float) -> float:
    """Demand times what is available, as shares of a card."""
    return min(1.0, rate / capacity) * max(0.0, 1.0 - promised / capacity)


def work_left_s(ready: Ready, i: int, t: Packing) -> float:
    """Seconds of the tasks of the job of entry i that are not complete."""
    first, base, total = t.first[ready.query[i]], ready.base[i], 0.0
    for task in range(t.first[ready.query[i] + 1] - first):
        if ready.places[base + task] >= -1:
            total += t.work_s[first + task]
    return total


def progress(ready: Ready, i: int, t: Packing) -> float:
    """Return the share of complete tasks in the stage of entry i."""
    first, base = t.first[ready.query[i]], ready.base[i]
    stage = t.stage[first + ready.task[i]]
    done, tasks = 0, 0
    for task in range(t.first[ready.query[i] + 1] - first):
        if t.stage[first + task] == stage:
            tasks += 1
            if ready.places[base + task] < -1:
                done += 1
    return done / tasks


def _packing_of(system: System, fairness: float, barrier: float, remote_penalty: float) -> Packing:
    reads = reads_of(system)
    time_s = np.concatenate([q.tasks.compute_s for q in system.queries], axis=1)
    time_s = np.repeat(time_s, np.diff(reads.inputs), axis=1)  # (K, R) of the task that reads
    return Packing(
        first=reads.first,
        work_s=np.concatenate([system.class_weights @ q.tasks.compute_s for q in system.queries]),
        stage=np.array([s for q in system.queries for s in q.tasks.dag.levels()], dtype=np.int64),
        inputs=reads.inputs,
        source=reads.source,
        rate=np.array(
            [card_rate(size, s) for row in time_s for size, s in zip(reads.size_bytes, row, strict=True)]
        ),
        memory=_memory(system).ravel(),
        classes=len(system.class_names),
        card_bytes_s=_cards(system),
        fairness=fairness,
        barrier=barrier,
        remote_penalty=remote_penalty,
    )


def _memory(system: System) -> Floats:
    """(Q, K) Share of an executor's memory; 0 where that has no limit."""
    room = system.class_memory_bytes
    if room is None:
        return np.zeros((len(system.queries), len(system.class_names)))
    weights = np.array([q.weight_bytes for q in system.queries])
    shares: Floats = weights[:, None] / np.maximum(np.asarray(room, dtype=float), 1.0)[None, :]
    return np.minimum(shares, 1.0)


def _cards(system: System) -> Floats:
    """(2S,) Bytes/s of each server's card, in and then out."""
    if system.topology is None:
        return np.full(2 * system.servers, system.capacity)
    capacity, topology = system.topology.link_capacity, system.topology
    links = np.concatenate([topology.in_link, topology.out_link])
    return np.where(links < 0, system.capacity, capacity[links])


SPAN = 1 << 40  # above the number of any job, so that what a job holds decides before its arrival


def neediest(ready: Ready, fairness: float) -> int:
    """Return the greatest key (executors held, then order of arrival) among the ⌈(1 − f)·J⌉ neediest jobs."""
    keys = np.sort(ready.job_running * SPAN + ready.job)
    jobs = 1
    for i in range(1, len(keys)):
        if keys[i] != keys[i - 1]:
            jobs += 1
    wanted = max(1, int(np.ceil((1.0 - fairness) * jobs)))
    seen, at = 1, 0
    while seen < wanted:
        at += 1
        if keys[at] != keys[at - 1]:
            seen += 1
    return int(keys[at])


def _best_task(view: SystemView, ready: Ready, t: Packing, into: Ints) -> int:
    """Return the entry of highest a − ε·p among those that may start; −1: there is none.

    a: the best alignment of the task with a free executor on which it fits; p: the work left of its job;
    ε: the mean of a over the mean of p. Tasks of a stage that is nearly done come before others.
    ``into`` has room for all executors.
    """
    limit = neediest(ready, t.fairness)
    fit, left = np.full(ready.n, -1.0), np.zeros(ready.n)
    last, sum_fit, sum_left = False, 0.0, 0.0
    for i in range(ready.n):
        if ready.job_running[i] * SPAN + ready.job[i] > limit:
            continue
        fit[i], _ = best_executors(view, ready, i, t, into)
        if fit[i] < 0:
            continue
        near_end = progress(ready, i, t) >= t.barrier
        if near_end and not last:  # what came before does not count
            fit[:i] = -1.0
            last, sum_fit, sum_left = True, 0.0, 0.0
        if last and not near_end:
            fit[i] = -1.0
            continue
        left[i] = work_left_s(ready, i, t)
        sum_fit, sum_left = sum_fit + fit[i], sum_left + left[i]
    share = sum_fit / sum_left if sum_left > 0 else 0.0
    best, highest = -1, 0.0
    for i in range(ready.n):
        if fit[i] >= 0 and (best < 0 or fit[i] - share * left[i] > highest):
            best, highest = i, fit[i] - share * left[i]
    return best


def decide(now: float, view: SystemView, ready: Ready, tables: Packing, u: Any, out: NDArray[Any]) -> bool:
    """Return the task of :func:`_best_task`, on the free executor that it fits best.

    Ties are drawn.
    """
    if ready.n == 0:
        return False
    executors = np.empty(len(view.queue_length), np.int64)
    best = 0 if ready.n == 1 else _best_task(view, ready, tables, executors)
    if best < 0:
        return False
    _, equal = best_executors(view, ready, best, tables, executors)
    if equal == 0:
        return False
    out[0] = best
    out[1] = executors[int(u[0] * equal)]
    return True


def _build(system: System, placement: Placement | None, options: Mapping[str, Any]) -> SchedulerTables:
    return SchedulerTables(_packing_of(system, **options), 1)


SCHEDULER = Scheduler(
    name="tetris",
    kind="pick",
    family="heuristic",
    network_view=NetworkView.N3,
    summary="Packs: the task whose demands align best with a free executor and cards that are not promised.",
    source=(
        "Grandl, Ananthanarayanan, Kandula, Rao and Akella: Multi-Resource Packing for Cluster Schedulers "
        "(Tetris), SIGCOMM 2014, section 3 (recollected; there is no public code)"
    ),
    adaptation=(
        "Dimensions are the executor, its memory and both network cards. Until it is complete, a task takes "
        "of a card the bytes that it reads from other servers, over its own time. A task waits where a card "
        "would be promised more than it has, unless nothing is promised yet. A stage is the tasks of equal "
        "depth in the query. A job is needier the fewer executors it holds; remaining work is modelled "
        "seconds. Where cards are not given, each is as fast as the link. Tetris does not see the link's "
        "queue."
    ),
    decide=decide,
    build=_build,
    settings={
        "fairness": PolicyOption(0.25, "f: only the neediest 1 − f of the jobs may be served", most=1.0),
        "barrier": PolicyOption(
            0.9, "share of a stage's tasks after which its last ones come first", most=1.0
        ),
        "remote_penalty": PolicyOption(
            0.1, "part of its alignment that a task loses where inputs are remote", most=1.0
        ),
    },
    reads_queues=True,
    style=ChartStyle("#4f7d3a", "dash", "diamond-wide"),
)
