"""The executors that ``nona-live`` considers for a job: the least loaded, one to a server."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nona.schedulers.base import View
from nona.schedulers.live.tables import Floats, Ints, LiveTables


class Slots(NamedTuple):
    """A job's executors by slot: the root's, then the best of each other server, then more of the first.

    ``backlog_s`` is the work before the job; ``key_s`` orders the slots: the same plus half of the job's
    own time there, where executors differ. ``idle`` holds one number, of executors that are idle and not
    among the slots.
    """

    executor: Ints
    server: Ints
    kind: Ints
    backlog_s: Floats
    key_s: Floats
    idle: Floats


class Job(NamedTuple):
    """A job of class ``query`` that is to be placed, in numbers.

    Of its ``size`` slots the first ``far`` stand on servers of their own. ``queue_s`` is the work at the
    link, in seconds; 0 where it is not read.
    """

    query: int
    far: int
    size: int
    queue_s: float


def make_slots(most: int) -> Slots:
    """Room for ``most`` slots."""
    ints, floats = np.zeros(3 * most, dtype=np.int64), np.zeros(2 * most)
    return Slots(
        ints[:most], ints[most : 2 * most], ints[2 * most :], floats[:most], floats[most:], np.zeros(1)
    )


def ahead_s(e: int, view: View) -> float:
    """Work before a newcomer: the backlog, the task that runs counted by half."""
    n = view.queue_length[e]
    return float(view.backlog_s[e] * (1.0 - 0.5 / n)) if n > 0 else 0.0


def first_executor(query: int, view: View, t: LiveTables, s: Slots, u: float) -> int:
    """The executor that would be done with the whole query first; of equals that with the shorter queue,
    then the next from where the draw ``u`` points."""
    executors = len(view.executor_server)
    base, e = query * t.classes, int(u * executors)
    best, least, length, idle = e, math.inf, 0, 0
    for _ in range(executors):
        done = view.backlog_s[e] + t.work_s[base + view.executor_class[e]]
        n = view.queue_length[e]
        if n == 0:
            idle += 1
        if done < least or (done == least and n < length):
            best, least, length = e, done, n
        e += 1
        if e == executors:
            e = 0
    s.idle[0] = max(idle - 1.0 - t.others[query], 0.0)
    return int(best)


def put(s: Slots, at: int, e: int, key_s: float, view: View) -> None:
    """Executor ``e`` takes slot ``at``."""
    s.executor[at] = e
    s.server[at] = view.executor_server[e]
    s.kind[at] = view.executor_class[e]
    s.backlog_s[at] = ahead_s(e, view)
    s.key_s[at] = key_s


def insert(s: Slots, begin: int, at: int, e: int, key_s: float, view: View) -> None:
    """Executor ``e`` takes its place by key among the slots ``begin``…``at``; the last of them is lost."""
    while at > begin and s.key_s[at - 1] > key_s:
        s.executor[at] = s.executor[at - 1]
        s.server[at] = s.server[at - 1]
        s.kind[at] = s.kind[at - 1]
        s.backlog_s[at] = s.backlog_s[at - 1]
        s.key_s[at] = s.key_s[at - 1]
        at -= 1
    put(s, at, e, key_s, view)


def find_slots(query: int, view: View, t: LiveTables, s: Slots, u: float) -> Job:
    """Fill the slots for a job that has just arrived; ``u`` chooses among executors that are equally good."""
    root = first_executor(query, view, t, s, u)
    put(s, 0, root, 0.0, view)
    far = 1 + fill(1, query, view, t, s, near=False)
    size = far
    if t.near[query] != 0:
        size += fill(far, query, view, t, s, near=True)
    return Job(query, far, size, view.link_queue_bytes / t.core_bytes_s if t.live != 0 else 0.0)


def fill(begin: int, query: int, view: View, t: LiveTables, s: Slots, near: bool) -> int:
    """Fill slots from ``begin`` on with the least loaded executors, in order; how many.

    ``near``: others of the root's server; else the best of each other server. Of equals the next after
    the root, which has the first slot.
    """
    most = t.near[query] if near else t.others[query]
    root, executors = s.executor[0], len(view.executor_server)
    base, n, e = query * t.classes, 0, root
    for _ in range(executors - 1):
        e += 1
        if e == executors:
            e = 0
        if (view.executor_server[e] == view.executor_server[root]) != near:
            continue
        key_s = ahead_s(e, view)
        if t.classes > 1:
            key_s += 0.5 * t.work_s[base + view.executor_class[e]]
        if key_s == math.inf or (n == most and key_s >= s.key_s[begin + n - 1]):
            continue
        at = begin + n if near else place_of(view.executor_server[e], begin, begin + n, s)
        if at < begin + n:  # its server has a slot
            if key_s < s.key_s[at]:
                insert(s, begin, at, e, key_s, view)
        else:
            if n < most:
                n += 1
            insert(s, begin, begin + n - 1, e, key_s, view)
        if n == most and s.key_s[begin + n - 1] == 0.0:
            break
    return n


def place_of(server: int, begin: int, end: int, s: Slots) -> int:
    """The slot from ``begin`` on that stands on a server, ``end`` if none does."""
    for i in range(begin, end):
        if s.server[i] == server:
            return i
    return end
