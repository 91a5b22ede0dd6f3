"""The events still to come: a binary heap of (seconds, key)."""

from __future__ import annotations

from nona.serverless.engine.compiled.layout import APPLICATION_BIT, KIND_BIT, STAGE_BIT, State


def push(s: State, time_s: float, key: int) -> None:
    """An event is to come."""
    c = s.clock[0]
    i = c.coming
    c.coming = i + 1
    while i > 0:
        up = (i - 1) >> 1
        if s.event_s[up] < time_s or (s.event_s[up] == time_s and s.event_key[up] < key):
            break
        s.event_s[i], s.event_key[i] = s.event_s[up], s.event_key[up]
        i = up
    s.event_s[i], s.event_key[i] = time_s, key


def drop_first(s: State) -> None:
    """The first event has happened."""
    c = s.clock[0]
    n = c.coming - 1
    c.coming = n
    time_s, key = s.event_s[n], s.event_key[n]
    i = 0
    while True:
        k = 2 * i + 1
        if k >= n:
            break
        if k + 1 < n and is_before(s, k + 1, s.event_s[k], s.event_key[k]):
            k += 1
        if not is_before(s, k, time_s, key):
            break
        s.event_s[i], s.event_key[i] = s.event_s[k], s.event_key[k]
        i = k
    s.event_s[i], s.event_key[i] = time_s, key


def is_before(s: State, i: int, time_s: float, key: int) -> bool:
    """Whether the i-th entry comes before an event."""
    return bool(s.event_s[i] < time_s or (s.event_s[i] == time_s and s.event_key[i] < key))


def key_of(kind: int, application: int, stage: int, number: int) -> int:
    """The key of an event."""
    return (kind << KIND_BIT) + (application << APPLICATION_BIT) + (stage << STAGE_BIT) + number
