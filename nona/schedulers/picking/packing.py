"""Demands of a ready task against what an executor and the network cards have left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.schedulers.base import Ready, View
from nona.schedulers.reads import server_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


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


def best_executors(view: View, ready: Ready, i: int, t: Packing, into: Ints) -> tuple[float, int]:
    """The best alignment of entry i with a free executor, −1 if it fits none, and how many have it: ``into``.

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
        if is_among(here, there):
            some, less = sent(here, rates, there, promised, capacity, start)
            fit = received(promised[there], capacity[there], some, less, t.remote_penalty)
        elif promised[there] > 0:
            fit = received(promised[there], capacity[there], a, wanted, t.remote_penalty)
        else:
            if capacity[there] != like:
                like = capacity[there]
                unused = received(0.0, like, a, wanted, t.remote_penalty)
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
    """The alignment ``a`` with the cards that send to server ``there``, −1 where one has no room, and the
    bytes/s that are read from them. Inputs are on servers ``here``; any server without one is as −1."""
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
        a += aligned(promised[card], rates[r], capacity[card])
    return a, wanted


def received(promised: float, capacity: float, a: float, wanted: float, penalty: float) -> float:
    """The alignment ``a`` with the card that receives, less the penalty for reading over the network."""
    if a < 0 or wanted <= 0:
        return a
    if not has_room(promised, wanted, capacity):
        return -1.0
    return (a + aligned(promised, wanted, capacity)) * (1.0 - penalty)


def is_among(servers: Ints, server: int) -> bool:
    """Whether a server is one of a few."""
    found = 0
    for other in servers:
        found += other == server
    return found > 0


def has_room(promised: float, more: float, capacity: float) -> bool:
    """Whether a card can be promised ``more``."""
    return promised == 0.0 or promised + more <= capacity


def aligned(promised: float, rate: float, capacity: float) -> float:
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
    """The share of complete tasks in the stage of entry i."""
    first, base = t.first[ready.query[i]], ready.base[i]
    stage = t.stage[first + ready.task[i]]
    done, tasks = 0, 0
    for task in range(t.first[ready.query[i] + 1] - first):
        if t.stage[first + task] == stage:
            tasks += 1
            if ready.places[base + task] < -1:
                done += 1
    return done / tasks
