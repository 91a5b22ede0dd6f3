"""Demands of a ready task against what an executor and the network cards have left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.schedulers.base import Ready, View, card_rate
from nona.schedulers.reads import server_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Packing(NamedTuple):
    """Q query classes with T tasks in all, K executor classes, S servers.

    ``first`` (Q+1,) delimits the tasks of each query class; ``time_s`` (K·T,): seconds of task i on class k
    at k·T + i; ``work_s`` and ``stage`` (T,): its mean seconds and its depth. ``inputs`` (T+1,) delimits
    the tensors that a task reads: of ``source``, the number of a task of its query, ``size_bytes`` each.
    ``memory`` (Q·K,): the share of an executor's memory that the model takes. ``card_bytes_s`` (2S,): the
    cards, in and then out. The rest are the options.
    """

    first: Ints
    time_s: Floats
    work_s: Floats
    stage: Ints
    inputs: Ints
    source: Ints
    size_bytes: Floats
    memory: Floats
    classes: int
    card_bytes_s: Floats
    fairness: float
    barrier: float
    remote_penalty: float


def alignment(view: View, ready: Ready, i: int, e: int, t: Packing) -> float:
    """Demand · available of entry i on executor e, each as a share of the capacity; −1: it does not fit.

    A free executor and its memory are available as a whole. A card counts with what is not promised. It
    fits when no card is promised more than it has; a card of which nothing is promised takes any task.
    """
    query = ready.query[i]
    task = t.first[query] + ready.task[i]
    k, there = view.executor_class[e], view.executor_server[e]
    servers = len(t.card_bytes_s) // 2
    seconds = t.time_s[k * t.first[-1] + task]
    a: float = 1.0 + t.memory[query * t.classes + k]
    wanted = 0.0
    for r in range(t.inputs[task], t.inputs[task + 1]):
        here = server_of(view, ready, i, t.source[r])
        if here == there:
            continue
        rate = card_rate(t.size_bytes[r], seconds)
        wanted += rate
        card = servers + here
        sent = rate
        for q in range(t.inputs[task], r):
            if server_of(view, ready, i, t.source[q]) == here:
                sent += card_rate(t.size_bytes[q], seconds)
        if not has_room(view.card_bytes_s[card], sent, t.card_bytes_s[card]):
            return -1.0
        a += aligned(view.card_bytes_s[card], rate, t.card_bytes_s[card])
    if wanted > 0:
        if not has_room(view.card_bytes_s[there], wanted, t.card_bytes_s[there]):
            return -1.0
        a += aligned(view.card_bytes_s[there], wanted, t.card_bytes_s[there])
        a *= 1.0 - t.remote_penalty
    return a


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
