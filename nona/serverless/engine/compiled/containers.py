"""Containers, as :mod:`nona.serverless.dispatch.containers` has them, in rings.

Containers become idle in order of time, and so do those that start become ready: a function's cold start is
always as long, and a predicted one starts only where there is no other.
"""

from __future__ import annotations

from nona.serverless.engine.compiled.heap import key_of, push
from nona.serverless.engine.compiled.layout import CONTAINERS, State


def take_container(s: State, invoker: int, function: int) -> bool:
    """A batch takes a container; whether it has to start one."""
    c = s.clock[0]
    place = function * c.invokers + invoker
    kept, inside = s.containers[place], c.start_s <= c.now_s <= c.end_s
    cold = kept.idle == 0
    if cold:
        c.cold_starts += inside
    else:
        kept.idle -= 1
    kept.busy += 1
    if c.predicts:
        learn(s, place)
    if kept.idle + kept.starting < c.spare:
        start(s, invoker, function, c.now_s + s.cold_start_s[function])
        c.prewarms += inside
    return bool(cold)


def give_back_container(s: State, invoker: int, function: int) -> None:
    """A batch ends; its container is idle."""
    place = function * s.clock[0].invokers + invoker
    s.containers[place].busy -= 1
    become_idle(s, place)
    check(s, invoker, function)


def containers_due(s: State, invoker: int, function: int) -> None:
    """Containers whose start has ended are idle, those idle for too long are removed."""
    c = s.clock[0]
    place = function * c.invokers + invoker
    kept, base, gone = s.containers[place], place * c.ring, False
    while kept.starting > 0 and s.starting_s[base + kept.starting_at] <= c.now_s:
        kept.starting_at = (kept.starting_at + 1) % c.ring
        kept.starting -= 1
        become_idle(s, place)
    while kept.idle > 0 and s.idle_s[base + kept.idle_at] + c.keep_s <= c.now_s:
        kept.idle_at = (kept.idle_at + 1) % c.ring
        kept.idle -= 1
        gone = True
    if kept.check_s <= c.now_s:
        kept.check_s = -1.0
    told = check(s, invoker, function)
    if gone and c.predicts and kept.idle + kept.starting + kept.busy == 0:
        told = predict(s, invoker, function) or told
    if told and kept.idle == 0 and c.start_s <= c.now_s <= c.end_s:
        c.prewarms += 1


def become_idle(s: State, place: int) -> None:
    """One more is idle, from now on."""
    c, kept = s.clock[0], s.containers[place]
    s.idle_s[place * c.ring + (kept.idle_at + kept.idle) % c.ring] = c.now_s
    kept.idle += 1


def check(s: State, invoker: int, function: int) -> bool:
    """See to it that the expiry of the longest idle one is looked for; whether that is new."""
    c = s.clock[0]
    place = function * c.invokers + invoker
    kept = s.containers[place]
    if kept.check_s >= 0 or kept.idle == 0:
        return False
    kept.check_s = s.idle_s[place * c.ring + kept.idle_at] + c.keep_s
    push(s, kept.check_s, key_of(CONTAINERS, invoker, function, 0))
    return True


def start(s: State, invoker: int, function: int, ready_s: float) -> None:
    """A container starts that no batch waits for."""
    c = s.clock[0]
    place = function * c.invokers + invoker
    kept = s.containers[place]
    s.starting_s[place * c.ring + (kept.starting_at + kept.starting) % c.ring] = ready_s
    kept.starting += 1
    push(s, ready_s, key_of(CONTAINERS, invoker, function, 0))


def learn(s: State, place: int) -> None:
    """The mean gap between batches, the later ones counting more."""
    c, kept = s.clock[0], s.containers[place]
    if kept.last_s >= 0:
        gap_s = c.now_s - kept.last_s
        kept.gap_s = gap_s if kept.gap_s < 0 else c.weight * gap_s + (1 - c.weight) * kept.gap_s
    kept.last_s = c.now_s


def predict(s: State, invoker: int, function: int) -> bool:
    """The last container is gone: start one so that it is ready for the next batch, unless that is past."""
    c = s.clock[0]
    kept = s.containers[function * c.invokers + invoker]
    next_s = kept.last_s + kept.gap_s
    if kept.gap_s < 0 or next_s <= c.now_s:
        return False
    start(s, invoker, function, max(next_s, c.now_s + s.cold_start_s[function]))
    return True
