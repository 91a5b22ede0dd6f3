"""A job walked through the queues as they stand: when would a sub-graph be done, placed so or so?"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nona.schedulers.live_slots import Slots
from nona.schedulers.live_tables import Floats, Ints, LiveTables

# Ways through a sub-graph: 2·c + n is configuration c, n = 1 with executors of the first server preferred.
LOCAL = -1  # all with the root
EARLIEST = -2  # each task where it ends first
EARLIEST_BACK = -3  # the same, with the way back to the root's server counted


class Walk(NamedTuple):
    """Where a job stands, in seconds from now.

    By slot: ``free_s``, when it is done with what the job gave it, −1 if nothing; ``kept_s`` the same
    where the sub-graph began. By task: ``end_s``, ``slot``. By tensor: ``server`` it was sent to last,
    ``there_s`` when it arrives there, ``trial`` the walk that sent it. ``sent``: until when the job's
    own messages hold the link, the request of the last, the bytes
    sent, the number of the walk, the first two as they were where the sub-graph began, and the bytes of
    the job. ``price_s``: of a byte; what the sub-graph's visits risk; when it ends.
    """

    free_s: Floats
    kept_s: Floats
    end_s: Floats
    slot: Ints
    server: Ints
    there_s: Floats
    trial: Ints
    sent: Floats
    price_s: Floats


def make_walk(t: LiveTables) -> Walk:
    """A walk of a job that has just arrived."""
    tasks, tensors, slots = t.most_tasks, t.most_tensors, t.most_slots
    floats = np.full(2 * slots + tasks + tensors, -1.0)
    ints = np.zeros(tasks + 2 * tensors, dtype=np.int64)
    return Walk(
        floats[:slots],
        floats[slots : 2 * slots],
        floats[2 * slots : 2 * slots + tasks],
        ints[:tasks],
        ints[tasks : tasks + tensors],
        floats[2 * slots + tasks :],
        ints[tasks + tensors :],
        np.zeros(7),
        np.zeros(3),
    )


def grown(work_s: float, wait_s: float) -> float:
    """The wait behind newcomers with so much work: all of it at first, ``wait_s`` at last."""
    if work_s <= 0.0 or wait_s <= 0.0:
        return 0.0
    return wait_s * work_s / (wait_s + work_s)


def link_wait_s(request_s: float, queue_s: float, t: LiveTables) -> float:
    """The wait at the link of a message requested then, if the link has ``queue_s`` seconds of work now."""
    if t.live == 0:
        return t.link_wait_s
    return max(queue_s - (1.0 - t.link_load) * request_s, grown(t.link_load * request_s, t.link_wait_s))


def start_s(query: int, slot: int, ready_s: float, w: Walk, s: Slots, t: LiveTables) -> float:
    """When a task that is ready then starts in a slot, by the work that is known.

    A queue is served in order of readiness, so what comes before ``ready_s`` goes first: where work
    waits now, ``t.busy_load`` seconds a second and the burst that the job may belong to. A task that is
    ready when the job's last one ends there starts at once.
    """
    free_s, busy_s = w.free_s[slot], s.backlog_s[slot]
    if free_s >= 0.0 and ready_s <= free_s:
        return float(free_s)
    if busy_s <= 0.0:
        return float(ready_s)
    came_s = t.busy_load * ready_s + min(ready_s, t.burst_s[query])
    if free_s < 0.0:
        return float(max(ready_s, busy_s + came_s))
    return float(ready_s + max(0.0, came_s - (ready_s - free_s)))


def risk_s(query: int, slot: int, ready_s: float, w: Walk, s: Slots, t: LiveTables) -> float:
    """The wait to be expected on top: others may have come to the executor while the job was not there.

    Background comes blindly. Queries take the idle executors first: of those that come until
    ``ready_s`` only the share that finds none left counts.
    """
    gap_s = ready_s - max(w.free_s[slot], 0.0)
    if gap_s <= 0.0:
        return 0.0
    spilt = scarcity(query, ready_s, s, t)
    work_s = t.query_load * gap_s + min(gap_s, t.burst_s[query])
    return grown(t.load * gap_s, t.wait_s) + grown(
        t.crowding * spilt * work_s, t.query_wait_s + t.burst_s[query]
    )


def scarcity(query: int, until_s: float, s: Slots, t: LiveTables) -> float:
    """The share of newcomers until then that find no idle executor: wanted / (wanted + idle)."""
    wanted = t.burst_wanted[query] + t.wanted_rate * until_s
    return float(wanted / (wanted + s.idle[0])) if wanted > 0.0 else 0.0


def foreign_s(query: int, gap_s: float, ready_s: float, s: Slots, t: LiveTables) -> float:
    """The wait to be expected at an executor that was left alone for ``gap_s``: others came in between.

    Background comes blindly. Queries take the idle executors first: of those that come until
    ``ready_s`` only the share that finds none left counts.
    """
    spilt = scarcity(query, ready_s, s, t)
    work_s = t.query_load * gap_s + min(gap_s, t.burst_s[query])
    return grown(t.load * gap_s, t.wait_s) + grown(
        t.crowding * spilt * work_s, t.query_wait_s + t.burst_s[query]
    )


def ready_s(n: int, slot: int, store: bool, queue_s: float, w: Walk, s: Slots, t: LiveTables) -> float:
    """When task number ``n`` (of all) has its inputs in a slot; ``store``: send them, else only ask."""
    latest, here = 0.0, s.server[slot]
    held_s, last_s = w.sent[0], w.sent[1]
    for i in range(t.inputs[n], t.inputs[n + 1]):
        made, tensor = t.source[i], t.tensor[i]
        at = w.end_s[made]
        there = s.server[w.slot[made]]
        if there != here:
            if w.trial[tensor] == w.sent[3] and w.server[tensor] == here:
                at = w.there_s[tensor]
            else:
                path_s = t.core_s
                if t.rack[there] == t.rack[here]:
                    path_s = t.rack_s
                begin = at + link_wait_s(at, queue_s, t)
                if at >= last_s:
                    begin = max(begin, held_s)
                    last_s = at
                held_s = max(held_s, begin + t.size_bytes[i] / t.core_bytes_s)
                at = begin + t.size_bytes[i] * max(path_s[there], path_s[here]) + t.latency_s
                if store:
                    w.sent[0], w.sent[1] = held_s, last_s
                    w.sent[2] += t.size_bytes[i]
                    w.server[tensor] = here
                    w.there_s[tensor] = at
                    w.trial[tensor] = int(w.sent[3])
        latest = max(latest, at)
    return latest


def begin_walk(w: Walk) -> None:
    """Back to where the sub-graph began."""
    for i in range(len(w.free_s)):
        w.free_s[i] = w.kept_s[i]
    w.sent[0], w.sent[1], w.sent[2] = w.sent[4], w.sent[5], 0.0
    w.sent[3] += 1.0
    w.price_s[1] = 0.0


def run_task(query: int, task: int, slot: int, queue_s: float, w: Walk, s: Slots, t: LiveTables) -> None:
    """Send a task its inputs and run it in a slot.

    What its visit risks is added to the cost of the sub-graph, whatever branch it stands on: waits that
    are rare and long add up at a join, where the mean of the longest is about the sum of the means.
    """
    n = t.tasks[query] + task
    ready = ready_s(n, slot, True, queue_s, w, s, t)
    w.price_s[1] += risk_s(query, slot, ready, w, s, t)
    end = start_s(query, slot, ready, w, s, t) + t.time_s[n * t.classes + s.kind[slot]]
    w.free_s[slot] = w.end_s[task] = end
    w.slot[task] = slot


def slot_of(label: int, root: int, far: int, count: int, near: bool) -> int:
    """The slot that a label stands for when the root is in slot ``root``.

    Others come in order, dealt out in turn; ``near``: first those of the first server.
    """
    if label == 0:
        return root
    if near:
        at = far + label - 1
        if root >= far and at >= root:
            at += 1
        if at < count:
            return at
        label = at - count + 1
    others = far - 1 if root < far else far
    if others == 0:
        return root
    at = (label - 1) % others
    return at + 1 if at >= root else at


def earliest_slot(
    query: int,
    n: int,
    root: int,
    far: int,
    count: int,
    back: bool,
    queue_s: float,
    w: Walk,
    s: Slots,
    t: LiveTables,
) -> int:
    """The slot in which task number ``n`` would end first; ``back``: and have its result back at the root's.

    Of the slots that the job does not use yet only the first on another server and the first on the
    first server are looked at.
    """
    best, least, new_far, new_near = root, math.inf, False, False
    for slot in range(count):
        if w.free_s[slot] < 0.0 and slot != root:
            if (new_far and slot < far) or (new_near and slot >= far):
                continue
            new_far, new_near = new_far or slot < far, new_near or slot >= far
        ready = ready_s(n, slot, False, queue_s, w, s, t)
        done = start_s(query, slot, ready, w, s, t) + risk_s(query, slot, ready, w, s, t)
        done += t.time_s[n * t.classes + s.kind[slot]]
        if back and s.server[slot] != s.server[root]:
            done += t.latency_s + t.link_wait_s + t.back_bytes[n] / t.core_bytes_s
        if done < least:
            best, least = slot, done
    return best


def walk_graph(
    query: int,
    g: int,
    way: int,
    root: int,
    far: int,
    count: int,
    queue_s: float,
    w: Walk,
    s: Slots,
    t: LiveTables,
) -> float:
    """Place and run the sub-graph ``g``; when its last task ends."""
    base, last = t.tasks[query], 0.0
    begin, end = t.order[g], t.order[g + 1]
    for i in range(begin, end):
        task = t.task[i]
        slot = root
        if way <= EARLIEST:
            slot = earliest_slot(query, base + task, root, far, count, way == EARLIEST_BACK, queue_s, w, s, t)
        elif way != LOCAL:
            slot = slot_of(t.label[t.labels[way // 2] + i - begin], root, far, count, way % 2 == 1)
        run_task(query, task, slot, queue_s, w, s, t)
        last = max(last, w.end_s[task])
    return float(last)
