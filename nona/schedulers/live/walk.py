"""A job walked through the queues as they stand: when would a sub-graph be done, placed so or so?"""

from __future__ import annotations

import math

from nona.schedulers.live.slots import Job, Slots
from nona.schedulers.live.state import Walk
from nona.schedulers.live.tables import LiveTables
from nona.schedulers.live.waits import link_wait_s, risk_s, start_s

# Ways through a sub-graph: 2·c + n is configuration c, n = 1 with executors of the first server preferred.
LOCAL = -1  # all with the root
EARLIEST = -2  # each task where it ends first
EARLIEST_BACK = -3  # the same, with the way back to the root's server counted


def ready_s(n: int, slot: int, job: Job, w: Walk, s: Slots, t: LiveTables, store: bool) -> float:
    """When task number ``n`` (of all) has its inputs in a slot; ``store``: send them, else only ask."""
    latest, here, x = 0.0, s.server[slot], t.expected
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
                begin = at + link_wait_s(at, job.queue_s, x, t.live)
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


def run_task(task: int, slot: int, job: Job, w: Walk, s: Slots, t: LiveTables) -> None:
    """Send a task its inputs and run it in a slot.

    What its visit risks is added to the cost of the sub-graph, whatever branch it stands on: waits that
    are rare and long add up at a join, where the mean of the longest is about the sum of the means.
    """
    n, x = t.tasks[job.query] + task, t.expected
    ready = ready_s(n, slot, job, w, s, t, store=True)
    w.price_s[1] += risk_s(slot, ready, job, w, s, x)
    end = start_s(slot, ready, job, w, s, x) + t.time_s[n * t.classes + s.kind[slot]]
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


def earliest_slot(n: int, root: int, job: Job, w: Walk, s: Slots, t: LiveTables, back: bool) -> int:
    """The slot in which task number ``n`` would end first; ``back``: and have its result back at the root's.

    Of the slots that the job does not use yet only the first on another server and the first on the
    first server are looked at.
    """
    far, x = job.far, t.expected
    best, least, new_far, new_near = root, math.inf, False, False
    for slot in range(job.size):
        if w.free_s[slot] < 0.0 and slot != root:
            if (new_far and slot < far) or (new_near and slot >= far):
                continue
            new_far, new_near = new_far or slot < far, new_near or slot >= far
        ready = ready_s(n, slot, job, w, s, t, store=False)
        done = start_s(slot, ready, job, w, s, x) + risk_s(slot, ready, job, w, s, x)
        done += t.time_s[n * t.classes + s.kind[slot]]
        if back and s.server[slot] != s.server[root]:
            done += t.latency_s + x.link_wait_s + t.back_bytes[n] / t.core_bytes_s
        if done < least:
            best, least = slot, done
    return best


def walk_graph(g: int, way: int, root: int, job: Job, w: Walk, s: Slots, t: LiveTables) -> float:
    """Place and run the sub-graph ``g``; when its last task ends."""
    base, last = t.tasks[job.query], 0.0
    begin, end = t.order[g], t.order[g + 1]
    for i in range(begin, end):
        task = t.task[i]
        slot = root
        if way <= EARLIEST:
            slot = earliest_slot(base + task, root, job, w, s, t, back=way == EARLIEST_BACK)
        elif way != LOCAL:
            label = t.label[t.labels[way // 2] + i - begin]
            slot = slot_of(label, root, job.far, job.size, near=way % 2 == 1)
        run_task(task, slot, job, w, s, t)
        last = max(last, w.end_s[task])
    return float(last)
