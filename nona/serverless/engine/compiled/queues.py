"""AFW queues, as :mod:`nona.serverless.engine.queues` has them, as lists of places."""

from __future__ import annotations

from nona.serverless.engine.compiled.layout import RECENT_MASK, State


def join(s: State, queue: int, call: int) -> None:
    """A call joins a queue; of those that join at one instant the one with the least number is first."""
    c, q = s.clock[0], s.queues[queue]
    account_queue(s, queue)
    s.recent_s[queue * (RECENT_MASK + 1) + q.recent_at] = c.now_s
    q.recent_at = (q.recent_at + 1) & RECENT_MASK
    q.recent = min(q.recent + 1, RECENT_MASK + 1)
    place, tail = call * c.width + q.stage, q.tail
    s.joined_s[place] = c.now_s
    q.length += 1
    if q.length == 1:
        q.head, q.tail, q.least_head, q.least_tail = place, place, -1, -1
        add_least(s, queue, place)
    elif tail > place and s.joined_s[tail] == c.now_s:
        squeeze_in(s, queue, place)
    else:
        s.next[tail] = place
        q.tail = place
        add_least(s, queue, place)


def squeeze_in(s: State, queue: int, place: int) -> None:
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
        add_least(s, queue, at)
        at = s.next[at]


def add_least(s: State, queue: int, place: int) -> None:
    """Of the calls still here, those that no later one undercuts are candidates for the oldest."""
    q = s.queues[queue]
    while q.least_tail > place:
        q.least_tail = s.least_before[q.least_tail]
    s.least_before[place] = q.least_tail
    if q.least_tail < 0:
        q.least_head = place
    else:
        s.least_next[q.least_tail] = place
    q.least_tail = place


def leave(s: State, queue: int, count: int) -> None:
    """The first ``count`` calls leave; their places stay linked."""
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


def account_queue(s: State, queue: int) -> None:
    """Add what has passed since the last change to the area, as far as it lies in the window."""
    c, q = s.clock[0], s.queues[queue]
    begin, until = max(q.last_s, c.start_s), min(c.now_s, c.end_s)
    if until > begin:
        q.area += q.length * (until - begin)
    q.last_s = c.now_s


def slack_s(s: State, queue: int) -> float:
    """The SLO less the age of the oldest call."""
    c, q = s.clock[0], s.queues[queue]
    return float(q.slo_s - (c.now_s - s.arrival_s[q.least_head // c.width]))


def rate(s: State, queue: int) -> float:
    """Jobs per second lately: those that followed the first of the last 64, per time since it."""
    q, now_s = s.queues[queue], s.clock[0].now_s
    first = (q.recent_at - q.recent) & RECENT_MASK
    since_s = s.recent_s[queue * (RECENT_MASK + 1) + first]
    if q.recent < 2 or now_s <= since_s:
        return 0.0
    return float((q.recent - 1) / (now_s - since_s))
