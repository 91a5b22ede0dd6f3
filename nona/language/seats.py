"""Requests at one engine, in arrays: who waits, who runs, the blocks that each holds, prefixes that are kept.

The machine code of :class:`nona.language.engine.Server`; −1 stands for none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nona.language.records import Floats, Sums, Times, Whole
from nona.language.routers import Board
from nona.language.system import BLOCK_TOKENS, blocks_of


class State(NamedTuple):
    """All of a run: ``running`` (E, S) are the requests of each engine in the order of admission."""

    clock: Any
    engines: Any
    requests: Any
    running: Whole
    events: Any
    next_of_loop: Whole
    cached: Whole
    users: Whole
    idle_after: Whole
    idle_before: Whole
    prefix_tokens: Whole
    outputs: Floats
    places: Whole
    trace: Floats
    row_tokens: Whole
    row_decodes: Whole
    fill: Whole
    background_s: Floats
    background_work_s: Floats
    board: Board
    times: Times
    sums: Sums


def left_of(q: Any) -> int:
    return int(q.inputs + q.made - q.computed)


def decoding(q: Any) -> bool:
    return bool(q.made > 0 and q.inputs + q.made - q.computed == 1)


def wait(s: State, e: int, r: int, behind: int) -> None:
    """Wait behind all of its priority, or before them."""
    x, q = s.engines[e], s.requests[r]
    before, after = -1, x.head
    if behind and x.tail >= 0 and s.requests[x.tail].priority <= q.priority:
        before, after = x.tail, -1
    while after >= 0 and s.requests[after].priority < q.priority + behind:
        before, after = after, s.requests[after].following
    q.following = after
    if before < 0:
        x.head = r
    else:
        s.requests[before].following = r
    if after < 0:
        x.tail = r
    x.waits += 1
    s.board.requests[e] += 1
    if not decoding(q):
        s.board.queued[e] += left_of(q)


def hold(s: State, e: int, r: int, blocks: int) -> None:
    more = blocks - s.requests[r].held
    s.engines[e].spare -= more
    s.board.used[e] += more
    s.requests[r].held = blocks
    x = s.engines[e]
    while x.idle_blocks > x.spare:  # idle prefixes give way, from their ends
        p = x.idle_head
        fewer = min(s.cached[e, p], x.idle_blocks - x.spare)
        s.cached[e, p] -= fewer
        x.idle_blocks -= fewer
        if s.cached[e, p] == 0:
            unlink(s, e, p)


def compute(s: State, e: int, r: int, tokens: int) -> None:
    """The step computes so many tokens of a request."""
    q = s.requests[r]
    blocks = blocks_of(q.computed + tokens)
    if blocks > q.held:
        hold(s, e, r, blocks)
    if not decoding(q):
        s.board.queued[e] -= tokens
    q.step = tokens
    s.engines[e].members += 1


def admit(s: State, e: int, tokens: int) -> int:
    """The first who waits runs; return how many of the tokens it computes: the rest lie in its prefix."""
    x = s.engines[e]
    r = x.head
    x.head = s.requests[r].following
    if x.head < 0:
        x.tail = -1
    x.waits -= 1
    s.running[e, x.runs] = r
    x.runs += 1
    q = s.requests[r]
    if sharing(s, e, q):
        if s.users[e, q.prefix] == 0:
            set_idle(s, e, q, 0)
        s.users[e, q.prefix] += 1
        q.taken = q.held = min(s.cached[e, q.prefix], q.prefix_blocks)
        q.computed = q.taken * BLOCK_TOKENS
        x.hits += q.computed
        s.board.queued[e] -= q.computed
        tokens = min(tokens, left_of(q))
    if tokens > 0:
        compute(s, e, r, tokens)
    return tokens


def leave(s: State, e: int, place: int) -> None:
    """Whoever runs at the place runs no longer."""
    x = s.engines[e]
    q = s.requests[s.running[e, place]]
    s.board.requests[e] -= 1
    if not decoding(q):
        s.board.queued[e] -= left_of(q)
    x.runs -= 1
    for k in range(place, x.runs):
        s.running[e, k] = s.running[e, k + 1]


def preempt(s: State, e: int, place: int) -> None:
    """Forget what was computed, keep the tokens that were made, wait before all of its priority."""
    r = s.running[e, place]
    leave(s, e, place)
    s.requests[r].computed = 0
    give_back(s, e, r)
    wait(s, e, r, 0)
    s.times.preemptions[r] += 1


def may_start(s: State, e: int) -> bool:
    x = s.engines[e]
    if x.head < 0 or x.runs >= x.sequences:
        return False
    q = s.requests[x.head]
    spare = x.spare - (x.margin if x.runs > 0 else 0)
    blocks = blocks_of(q.inputs + q.made)
    return bool(q.seen_s <= x.visible_s and more_of(s, e, q, blocks) <= spare)


def sharing(s: State, e: int, q: Any) -> bool:
    return bool(s.engines[e].shares_prefixes and q.computed == 0 and q.prefix >= 0 and q.prefix_blocks > 0)


def more_of(s: State, e: int, q: Any, blocks: int) -> int:
    """Return by how much the free blocks shrink if a request that starts holds so many."""
    if not sharing(s, e, q):
        return blocks
    there = s.cached[e, q.prefix]
    return int(blocks - min(there, q.prefix_blocks) + (0 if s.users[e, q.prefix] else there))


def set_idle(s: State, e: int, q: Any, now_idle: int) -> None:
    """The prefix of a request is used by nobody any more, or is used again."""
    x, p = s.engines[e], q.prefix
    blocks = s.cached[e, p] if now_idle else -s.cached[e, p]
    x.spare += blocks
    s.board.used[e] -= blocks
    x.idle_blocks += blocks
    s.prefix_tokens[e, q.row] -= blocks * BLOCK_TOKENS
    if now_idle:
        s.idle_before[e, p], s.idle_after[e, p] = x.idle_tail, -1
        if x.idle_tail < 0:
            x.idle_head = p
        else:
            s.idle_after[e, x.idle_tail] = p
        x.idle_tail = p
    else:
        unlink(s, e, p)


def unlink(s: State, e: int, p: int) -> None:
    """The prefix is no longer among the idle ones, if it was."""
    x = s.engines[e]
    before, after = s.idle_before[e, p], s.idle_after[e, p]
    if before < 0 and x.idle_head != p:
        return
    if before < 0:
        x.idle_head = after
    else:
        s.idle_after[e, before] = after
    if after < 0:
        x.idle_tail = before
    else:
        s.idle_before[e, after] = before
    s.idle_before[e, p] = s.idle_after[e, p] = -1


def keep_prefix(s: State, e: int, q: Any) -> None:
    """What a request has computed of its prefix beyond what lies there is now used by others too."""
    full = min(q.computed // BLOCK_TOKENS, q.prefix_blocks)
    if q.taken == s.cached[e, q.prefix] and q.taken < full:
        s.prefix_tokens[e, q.row] += (full - q.taken) * BLOCK_TOKENS
        s.cached[e, q.prefix] = full
        q.taken = full


def give_back(s: State, e: int, r: int) -> None:
    """A request gives its blocks back, but for those of its prefix."""
    q = s.requests[r]
    if q.taken >= 0:
        s.engines[e].spare -= q.taken
        s.board.used[e] += q.taken
        q.taken = -1
        s.users[e, q.prefix] -= 1
        if s.users[e, q.prefix] == 0:
            set_idle(s, e, q, 1)
    hold(s, e, r, 0)
