"""Containers on invokers: cold and warm starts, keep-alive, pre-warming, lives, limited memory.

A batch takes the idle container that was used last, or starts one (a cold start); at its end the container is
idle, and goes away when it has been so for ``keep_alive``. Pre-warming:

* ``spare``: whenever a batch leaves fewer than ``spare`` idle or starting, one more starts;
* ``ewma``: when the last container goes away, one is started so as to be ready at

      last + m,   m ← weight · gap + (1 − weight) · m,

  where ``last`` is when the last batch came and the gaps are those between batches; as soon as it can be if
  that is too early, and not at all if that time has passed, for then the prediction failed.

Source of the second: recollected from ESG (HPDC 2024), where the pre-warming is by an exponentially weighted
mean of gaps.

A container holds its function's memory from when its start is decided until it is removed. Where memory is
limited, one that a batch needs and that does not fit removes idle ones of its node; where busy and starting
ones leave too little, the node has no room, and the batch waits. Starts ahead of a batch remove nothing:
without room there is none.

Containers of a function on an invoker become idle in order of time, and so do those that start become ready:
a cold start is always as long, and a predicted one starts only where there is no other.
"""

from __future__ import annotations

import math

from nona.serverless.engine.layout import CONTAINERS, PlatformState, key_of
from nona.serverless.engine.queues import push


def take_container(s: PlatformState, invoker: int, function: int, configuration: int) -> tuple[bool, int]:
    """Take a container for a batch or an instance: whether it has to start, and its life."""
    c = s.clock[0]
    place = function * c.invokers + invoker
    kept, inside = s.containers[place], c.start_s <= c.now_s <= c.end_s
    cold = kept.idle == 0
    if cold:
        while c.limited and not _may_start(s, invoker, function):
            _evict(s, invoker)
        c.cold_starts += inside
        life = _born(s, invoker, function, c.now_s)
    else:
        life = s.idle[place * c.ring + (kept.idle_at + kept.idle - 1) % c.ring]
        kept.idle -= 1
        s.spells[s.lives[life].spell].until_s = c.now_s
    s.lives[life].configuration = configuration
    kept.busy += 1
    if c.predicts:
        _learn(s, place)
    if kept.idle + kept.starting < c.spare and _may_start(s, invoker, function):
        _start(s, invoker, function, c.now_s + s.cold_start_s[function], c.now_s)
        c.prewarms += inside
    return bool(cold), life


def give_back_container(s: PlatformState, life: int) -> None:
    """Return the container of a batch or an instance that ended: it is idle."""
    own = s.lives[life]
    invoker, function = own.invoker, own.function
    s.containers[function * s.clock[0].invokers + invoker].busy -= 1
    _become_idle(s, life)
    _check(s, invoker, function)


def containers_due(s: PlatformState, invoker: int, function: int) -> bool:
    """Containers whose start has ended are idle, those idle for too long are removed.

    That all are gone may start one for the next call. Returns whether memory may be had that could not
    before: of a container that was starting and is idle now.
    """
    c = s.clock[0]
    place = function * c.invokers + invoker
    kept, base, gone, made_room = s.containers[place], place * c.ring, False, False
    if c.limited and kept.starting > 0 and s.lives[s.starting[base + kept.starting_at]].since_s <= c.now_s:
        for other in range(c.functions):
            made_room = made_room or not has_memory(s, invoker, other)
    while kept.starting > 0 and s.lives[s.starting[base + kept.starting_at]].since_s <= c.now_s:
        life = s.starting[base + kept.starting_at]
        kept.starting_at = (kept.starting_at + 1) % c.ring
        kept.starting -= 1
        _become_idle(s, life)
    while kept.idle > 0 and s.lives[s.idle[base + kept.idle_at]].since_s + c.keep_s <= c.now_s:
        _remove_longest_idle(s, place)
        gone = True
    if kept.check_s <= c.now_s:
        kept.check_s = -1.0
    changed = _check(s, invoker, function)
    lonely = gone and c.predicts and kept.idle + kept.starting + kept.busy == 0
    if lonely and _may_start(s, invoker, function):
        changed = _predict(s, invoker, function) or changed
    if changed and kept.idle == 0 and c.start_s <= c.now_s <= c.end_s:
        c.prewarms += 1
    return made_room


def _born(s: PlatformState, invoker: int, function: int, now_s: float) -> int:
    """Return the life of a container that starts."""
    c = s.clock[0]
    own = s.lives[c.lives]
    own.invoker, own.function, own.configuration = invoker, function, s.ranked[0]
    own.born_s, own.gone_s = now_s, math.nan
    c.lives += 1
    if c.lives + c.headroom > len(s.lives):
        c.grow = 1
    return int(c.lives - 1)


def _become_idle(s: PlatformState, life: int) -> None:
    c, own = s.clock[0], s.lives[life]
    place = own.function * c.invokers + own.invoker
    kept = s.containers[place]
    s.idle[place * c.ring + (kept.idle_at + kept.idle) % c.ring] = life
    kept.idle += 1
    own.since_s, own.spell = c.now_s, c.spells
    spell = s.spells[c.spells]
    spell.container, spell.configuration = life, own.configuration
    spell.from_s, spell.until_s = c.now_s, math.nan
    c.spells += 1
    if c.spells + c.headroom > len(s.spells):
        c.grow = 1


def _remove_longest_idle(s: PlatformState, place: int) -> int:
    c, kept = s.clock[0], s.containers[place]
    life = s.idle[place * c.ring + kept.idle_at]
    kept.idle_at = (kept.idle_at + 1) % c.ring
    kept.idle -= 1
    s.spells[s.lives[life].spell].until_s = c.now_s
    s.lives[life].gone_s = c.now_s
    return int(life)


def _check(s: PlatformState, invoker: int, function: int) -> bool:
    """Schedule the look for the expiry of the longest idle container; return whether the look is new."""
    c = s.clock[0]
    place = function * c.invokers + invoker
    kept = s.containers[place]
    if kept.check_s >= 0 or kept.idle == 0:
        return False
    kept.check_s = s.lives[s.idle[place * c.ring + kept.idle_at]].since_s + c.keep_s
    push(s, kept.check_s, key_of(CONTAINERS, invoker, function, 0))
    return True


def _start(s: PlatformState, invoker: int, function: int, ready_s: float, from_s: float) -> None:
    """Start a container that no batch waits for."""
    c = s.clock[0]
    place = function * c.invokers + invoker
    kept, life = s.containers[place], _born(s, invoker, function, from_s)
    s.lives[life].since_s = ready_s
    s.starting[place * c.ring + (kept.starting_at + kept.starting) % c.ring] = life
    kept.starting += 1
    push(s, ready_s, key_of(CONTAINERS, invoker, function, 0))


def _learn(s: PlatformState, place: int) -> None:
    """Return the mean gap between batches, the later ones counting more."""
    c, kept = s.clock[0], s.containers[place]
    if kept.last_s >= 0:
        gap_s = c.now_s - kept.last_s
        kept.gap_s = gap_s if kept.gap_s < 0 else c.weight * gap_s + (1 - c.weight) * kept.gap_s
    kept.last_s = c.now_s


def _predict(s: PlatformState, invoker: int, function: int) -> bool:
    """Schedule a start after the last container is gone, ready for the next batch unless that is past."""
    c = s.clock[0]
    kept = s.containers[function * c.invokers + invoker]
    next_s = kept.last_s + kept.gap_s
    if kept.gap_s < 0 or next_s <= c.now_s:
        return False
    ready_s = max(next_s, c.now_s + s.cold_start_s[function])
    _start(s, invoker, function, ready_s, max(c.now_s, ready_s - s.cold_start_s[function]))
    return True


def _resident(s: PlatformState, invoker: int, idle_too: bool) -> int:
    """Bytes that containers hold on an invoker."""
    c, resident_bytes = s.clock[0], 0
    for function in range(c.functions):
        kept = s.containers[function * c.invokers + invoker]
        resident_bytes += s.needs[function] * (kept.busy + kept.starting + (kept.idle if idle_too else 0))
    return int(resident_bytes)


def _may_start(s: PlatformState, invoker: int, function: int) -> bool:
    """Return whether there is room for one container more; always where memory is not limited."""
    if not s.clock[0].limited:
        return True
    return bool(_resident(s, invoker, True) + s.needs[function] <= s.invokers[invoker].memory)


def has_memory(s: PlatformState, invoker: int, function: int) -> bool:
    """Return whether a batch would get a container: an idle one, or one for which others make room."""
    if s.containers[function * s.clock[0].invokers + invoker].idle > 0:
        return True
    return bool(_resident(s, invoker, False) + s.needs[function] <= s.invokers[invoker].memory)


def _evict(s: PlatformState, invoker: int) -> None:
    """Remove the idle container that has waited longest; of equal ones that of the first function."""
    c, longest_s, longest = s.clock[0], math.inf, -1
    for function in range(c.functions):
        place = function * c.invokers + invoker
        kept = s.containers[place]
        if kept.idle > 0 and s.lives[s.idle[place * c.ring + kept.idle_at]].since_s < longest_s:
            longest_s, longest = s.lives[s.idle[place * c.ring + kept.idle_at]].since_s, place
    s.lives[_remove_longest_idle(s, longest)].evicted = 1
