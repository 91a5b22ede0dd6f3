"""KV blocks of an engine over arrays: the machine code of :class:`nona.language.cache.Cache`."""

from __future__ import annotations

from typing import Any

from nona.language.machine_state import State
from nona.language.system import BLOCK_TOKENS


def more_of(s: State, e: int, q: Any, blocks: int) -> int:
    """Return by how much the free blocks shrink if a request that starts holds so many."""
    if not _shares(s, e, q):
        return blocks
    there = s.cached[e, q.prefix]
    return int(blocks - min(there, q.prefix_blocks) + (0 if s.users[e, q.prefix] else there))


def _shares(s: State, e: int, q: Any) -> bool:
    return bool(s.engines[e].shares_prefixes and q.computed == 0 and q.prefix >= 0 and q.prefix_blocks > 0)


def use_prefix(s: State, e: int, q: Any) -> None:
    """A request that starts uses what is there of its prefix."""
    if not _shares(s, e, q):
        return
    if s.users[e, q.prefix] == 0:
        _count_idle(s, e, q, -s.cached[e, q.prefix])
        _unchain(s, e, q.prefix)
    s.users[e, q.prefix] += 1
    q.taken = q.held = min(s.cached[e, q.prefix], q.prefix_blocks)
    q.computed = q.taken * BLOCK_TOKENS
    s.engines[e].hits += q.computed
    s.board.queued[e] -= q.computed


def _count_idle(s: State, e: int, q: Any, blocks: int) -> None:
    """So many blocks of the prefix of a request are used no more, or again where they are below 0."""
    s.board.free[e] += blocks
    s.engines[e].idle_blocks += blocks
    s.prefix_tokens[e, q.row] -= blocks * BLOCK_TOKENS


def _unchain(s: State, e: int, p: int) -> None:
    """A prefix is not among the idle ones; who is not among them is chained to itself."""
    before, after = s.idle_before[e, p], s.idle_after[e, p]
    s.idle_after[e, before], s.idle_before[e, after] = after, before
    s.idle_after[e, p] = s.idle_before[e, p] = p


def _chain_last(s: State, e: int, p: int) -> None:
    """A prefix is the last of the idle ones."""
    end = s.cached.shape[1]
    last = s.idle_before[e, end]
    s.idle_before[e, p], s.idle_after[e, p] = last, end
    s.idle_after[e, last] = s.idle_before[e, end] = p


def keep_prefix(s: State, e: int, q: Any) -> None:
    """What a request has computed of its prefix beyond what lies there is now used by others too."""
    if q.taken < 0:
        return
    full = min(q.computed // BLOCK_TOKENS, q.prefix_blocks)
    if q.taken == s.cached[e, q.prefix] and q.taken < full:
        s.prefix_tokens[e, q.row] += (full - q.taken) * BLOCK_TOKENS
        s.cached[e, q.prefix] = q.taken = full


def hold(s: State, e: int, q: Any, blocks: int) -> None:
    """A request holds so many blocks; idle prefixes give way, from their ends."""
    x = s.engines[e]
    s.board.free[e] -= blocks - q.held
    q.held = blocks
    while x.idle_blocks > s.board.free[e]:
        oldest = s.idle_after[e, s.cached.shape[1]]
        lost = min(s.cached[e, oldest], x.idle_blocks - s.board.free[e])
        s.cached[e, oldest] -= lost
        x.idle_blocks -= lost
        if s.cached[e, oldest] == 0:
            _unchain(s, e, oldest)


def release(s: State, e: int, q: Any) -> None:
    """A request gives its blocks back, but for those of its prefix."""
    if q.taken >= 0:
        s.board.free[e] -= q.taken
        q.taken = -1
        s.users[e, q.prefix] -= 1
        if s.users[e, q.prefix] == 0:
            _count_idle(s, e, q, s.cached[e, q.prefix])
            _chain_last(s, e, q.prefix)
    hold(s, e, q, 0)
