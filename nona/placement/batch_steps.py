"""One executor that takes tasks of several kinds in batches, simulated in compiled code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nona.compiled import compiled

_WAITS, _STARTED = 1, 2


@compiled
def take_steps(
    time_s: Any,
    begin: Any,
    end: Any,
    kind: Any,
    after: Any,
    factor: Any,
    offset: Any,
    delay_s: Any,
    step_s: Any,
    preferred: Any,
) -> tuple[Any, Any, Any]:
    """When the step of each task begins and ends, and how many are in it; nan and 0 where it never does.

    Visit i, at ``time_s[i]``, has tasks ``begin[i]`` to ``end[i] - 1``. A task joins the queue when that of
    number ``after`` ends, or for −1 when its visit comes. A step runs on where all its members have a task of
    one kind waiting.

    Kind k has steps of up to ``offset[k + 1] - offset[k]``; b of them take ``step_s[offset[k] + b - 1]``
    times the ``factor`` of the first. ``preferred`` there is the largest number up to b that starts before
    ``delay_s[k]`` is over, 0 where there is none.
    """
    tasks, kinds = len(kind), len(delay_s)
    begin_s, end_s = np.full(tasks, np.nan), np.full(tasks, np.nan)
    members, state = np.zeros(tasks, dtype=np.int64), np.zeros(tasks, dtype=np.int64)
    child, sibling = _children(after)
    visit, first = np.empty(tasks, dtype=np.int64), begin.copy()  # ``first``: of a visit that has not started
    for i in range(len(time_s)):
        visit[begin[i] : end[i]] = i
    behind, joined_s = np.full(tasks, -1), np.zeros(tasks)  # ``behind``: the next one of its kind
    head, tail, waiting = np.full(kinds, -1), np.full(kinds, -1), np.zeros(kinds, dtype=np.int64)
    turn, order = np.zeros(tasks, dtype=np.int64), np.zeros(1, dtype=np.int64)
    step, last, idle = np.empty(np.max(offset[1:] - offset[:-1]), dtype=np.int64), 0, True
    now, i = 0.0, 0
    while True:
        while i < len(time_s) and time_s[i] <= now:
            for t in range(begin[i], end[i]):
                if after[t] < 0:
                    _join(t, time_s[i], kind, head, tail, waiting, behind, joined_s, turn, order, state)
            i += 1
            if idle:
                break  # an idle executor looks at each
        for m in range(last):
            t = child[step[m]]
            while t >= 0:
                _join(t, now, kind, head, tail, waiting, behind, joined_s, turn, order, state)
                t = sibling[t]
        if last == 0 or not _run_on(step[:last], kind, visit, first, end, state):
            chosen, last, wake_s = _next(
                now, head, waiting, behind, state, joined_s, turn, offset, delay_s, preferred
            )
            idle = chosen < 0
            if idle:
                now = min(wake_s, time_s[i] if i < len(time_s) else math.inf)
                if now == math.inf:
                    return begin_s, end_s, members
                continue
            t = head[chosen]
            for m in range(last):
                while state[t] == _STARTED:
                    t = behind[t]
                step[m], t = t, behind[t]
        now += step_s[offset[kind[step[0]]] + last - 1] * factor[step[0]]
        for m in range(last):
            t = step[m]
            begin_s[t] = now - step_s[offset[kind[t]] + last - 1] * factor[step[0]]
            end_s[t], members[t], state[t] = now, last, _STARTED
            waiting[kind[t]] -= 1


@compiled
def _children(after: Any) -> tuple[Any, Any]:
    """For each task the first one that joins when it ends, and the next one that joins with it; −1: none."""
    child, sibling = np.full(len(after), -1), np.full(len(after), -1)
    for t in range(len(after) - 1, -1, -1):
        if after[t] >= 0:
            sibling[t] = child[after[t]]
            child[after[t]] = t
    return child, sibling


@compiled
def _join(
    t: Any,
    now: Any,
    kind: Any,
    head: Any,
    tail: Any,
    waiting: Any,
    behind: Any,
    joined_s: Any,
    turn: Any,
    order: Any,
    state: Any,
) -> None:
    k = kind[t]
    if waiting[k] == 0:
        head[k] = t
    else:
        behind[tail[k]] = t
    tail[k], joined_s[t], turn[t], state[t] = t, now, order[0], _WAITS
    order[0] += 1
    waiting[k] += 1


@compiled
def _next(
    now: Any,
    head: Any,
    waiting: Any,
    behind: Any,
    state: Any,
    joined_s: Any,
    turn: Any,
    offset: Any,
    delay_s: Any,
    preferred: Any,
) -> tuple[Any, Any, Any]:
    """The kind that starts now and its members, -1 where none does, and when a delay is over."""
    chosen, number, wake_s = -1, 0, math.inf
    for k in range(len(head)):
        if waiting[k] == 0:
            continue
        while state[head[k]] == _STARTED:  # it ran on
            head[k] = behind[head[k]]
        due_s = joined_s[head[k]] + delay_s[k]
        most = min(waiting[k], offset[k + 1] - offset[k])
        best = preferred[offset[k] + most - 1]
        if best > 0 and (delay_s[k] == 0.0 or now < due_s):
            most = best
        elif now < due_s:
            wake_s = min(wake_s, due_s)
            continue
        if chosen < 0 or turn[head[k]] < turn[head[chosen]]:
            chosen, number = k, most
    return chosen, number, wake_s


@compiled
def _run_on(step: Any, kind: Any, visit: Any, first: Any, end: Any, state: Any) -> Any:
    """Fill ``step`` where all members have a task of one kind waiting; return whether they have."""
    own = _waiting_task(visit[step[0]], -1, kind, first, end, state)
    if own < 0:
        return False
    for t in step:
        if _waiting_task(visit[t], kind[own], kind, first, end, state) < 0:
            return False
    for m in range(len(step)):
        step[m] = _waiting_task(visit[step[m]], kind[own], kind, first, end, state)
    return True


@compiled
def _waiting_task(i: Any, k: Any, kind: Any, first: Any, end: Any, state: Any) -> Any:
    """The first task of visit i that waits, of kind k unless that is -1; -1 where none does."""
    while first[i] < end[i] and state[first[i]] == _STARTED:
        first[i] += 1
    for t in range(first[i], end[i]):
        if state[t] == _WAITS and (k < 0 or kind[t] == k):
            return t
    return -1
