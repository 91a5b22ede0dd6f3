"""Coming events in a heap, and the AFW queues: who joins, leaves, is the oldest, or is dropped as late.

Numbers of calls are in order of arrival, so the oldest call of a queue has the least number. The candidates
for it are, of the calls still here, those that no later one undercuts.
"""

from __future__ import annotations

import math

from nona.serverless.engine.layout import RECENT, PlatformState


def push(s: PlatformState, time_s: float, key: int) -> None:
    """Add an event to the queue."""
    c = s.clock[0]
    i = c.coming
    c.coming = i + 1
    if c.coming + c.headroom > len(s.event_s):
        c.grow = 1
    while i > 0:
        up = (i - 1) >> 1
        if s.event_s[up] < time_s or (s.event_s[up] == time_s and s.event_key[up] < key):
            break
        s.event_s[i], s.event_key[i] = s.event_s[up], s.event_key[up]
        i = up
    s.event_s[i], s.event_key[i] = time_s, key


def drop_first(s: PlatformState) -> None:
    """Remove the first event."""
    c = s.clock[0]
    n = c.coming - 1
    c.coming = n
    time_s, key = s.event_s[n], s.event_key[n]
    i = 0
    while True:
        k = 2 * i + 1
        if k >= n:
            break
        if k + 1 < n and _is_before(s, k + 1, s.event_s[k], s.event_key[k]):
            k += 1
        if not _is_before(s, k, time_s, key):
            break
        s.event_s[i], s.event_key[i] = s.event_s[k], s.event_key[k]
        i = k
    s.event_s[i], s.event_key[i] = time_s, key


def _is_before(s: PlatformState, i: int, time_s: float, key: int) -> bool:
    return bool(s.event_s[i] < time_s or (s.event_s[i] == time_s and s.event_key[i] < key))


def join(s: PlatformState, queue: int, call: int) -> None:
    """Add a call to a queue; of calls at one instant the one with the least number is first."""
    c, q = s.clock[0], s.queues[queue]
    account_queue(s, queue)
    s.log_s[q.log + q.joins] = c.now_s
    q.joins += 1
    place, tail = call * c.width + q.stage, q.tail
    s.joined_s[place] = c.now_s
    q.length += 1
    if q.length == 1:
        q.head, q.tail, q.least_head, q.least_tail = place, place, -1, -1
        _add_least(s, queue, place)
    elif tail > place and s.joined_s[tail] == c.now_s:
        _squeeze_in(s, queue, place)
    else:
        s.next[tail] = place
        q.tail = place
        _add_least(s, queue, place)


def _squeeze_in(s: PlatformState, queue: int, place: int) -> None:
    """Put a place before those of this instant that are larger; then find the candidates again."""
    now_s, q = s.clock[0].now_s, s.queues[queue]
    before, at = -1, q.head
    while s.joined_s[at] != now_s or at < place:
        before, at = at, s.next[at]
    s.next[place] = at
    if before < 0:
        q.head = place
    else:
        s.next[before] = place
    q.least_head, q.least_tail, at = -1, -1, q.head
    for _ in range(q.length):
        _add_least(s, queue, at)
        at = s.next[at]


def _add_least(s: PlatformState, queue: int, place: int) -> None:
    """Add a call to the candidates for the oldest."""
    q = s.queues[queue]
    while q.least_tail > place:
        q.least_tail = s.least_before[q.least_tail]
    s.least_before[place] = q.least_tail
    if q.least_tail < 0:
        q.least_head = place
    else:
        s.least_next[q.least_tail] = place
    q.least_tail = place


def leave(s: PlatformState, queue: int, count: int) -> None:
    """Remove the first ``count`` calls; their places stay linked."""
    q = s.queues[queue]
    account_queue(s, queue)
    for _ in range(count):
        place = q.head
        if q.least_head == place:
            if q.least_tail == place:
                q.least_head, q.least_tail = -1, -1
            else:
                q.least_head = s.least_next[place]
                s.least_before[q.least_head] = -1
        q.head = s.next[place]
    q.length -= count


def drop_late(s: PlatformState, queue: int) -> None:
    """Call of a queue that cannot be in time any more leave all queues of their application."""
    c, q = s.clock[0], s.queues[queue]
    if slack_s(s, queue) >= q.least_left_s:
        return
    place = q.head
    for _ in range(q.length):
        call = place // c.width
        if q.slo_s - (c.now_s - s.arrival_s[call]) < q.least_left_s:
            s.dropped_s[call] = c.now_s
            if c.first <= call < c.end:
                c.open_measured -= 1
        place = s.next[place]
    for stage in range(c.width):
        other = s.queue_at[q.application, stage]
        if other >= 0 and s.queues[other].length > 0:
            _without_dropped(s, other)


def _without_dropped(s: PlatformState, queue: int) -> None:
    """Call that were dropped leave; an emptied queue starts anew."""
    c, q = s.clock[0], s.queues[queue]
    account_queue(s, queue)
    at, last, kept = q.head, -1, 0
    q.least_head, q.least_tail = -1, -1
    for _ in range(q.length):
        after = s.next[at]
        if math.isnan(s.dropped_s[at // c.width]):
            if last < 0:
                q.head = at
            else:
                s.next[last] = at
            _add_least(s, queue, at)
            last = at
            kept += 1
        at = after
    q.tail, q.length = last, kept
    if kept == 0:
        q.failed, q.missed, q.wait = 0, 0, 0


def account_queue(s: PlatformState, queue: int) -> None:
    """Add the time since the last change to the area, as far as it lies in the window."""
    c, q = s.clock[0], s.queues[queue]
    begin, until = max(q.last_s, c.start_s), min(c.now_s, c.end_s)
    if until > begin:
        q.area += q.length * (until - begin)
    q.last_s = c.now_s


def slack_s(s: PlatformState, queue: int) -> float:
    """Return the SLO less the age of the oldest call."""
    c, q = s.clock[0], s.queues[queue]
    return float(q.slo_s - (c.now_s - s.arrival_s[q.least_head // c.width]))


def recent_rate(s: PlatformState, queue: int) -> float:
    """Jobs per second lately: those that followed the first of the last 64, per time since it."""
    q, now_s = s.queues[queue], s.clock[0].now_s
    recent = min(q.joins, RECENT)
    if recent < 2:
        return 0.0
    since_s = s.log_s[q.log + q.joins - recent]
    return float((recent - 1) / (now_s - since_s)) if now_s > since_s else 0.0


def window_rate(s: PlatformState, queue: int) -> float:
    """Jobs per second over a window that reaches back ``window_s`` seconds, or to the start.

    Formula: jobs that joined in (now − w, now] / w with w = min(window, max(now, a look's time)).
    """
    c, q = s.clock[0], s.queues[queue]
    while q.window_at < q.joins and s.log_s[q.log + q.window_at] <= c.now_s - c.window_s:
        q.window_at += 1
    return float((q.joins - q.window_at) / min(c.window_s, max(c.now_s, min(c.every_s, c.window_s))))
