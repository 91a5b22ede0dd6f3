"""One engine at work: the KV blocks that requests hold, who waits, who runs, the members of a step.

The rules of ``vllm`` are those of vLLM V1 (0.19 to 0.27, ``vllm/v1/core/sched/scheduler.py``); those of
``sglang`` are SGLang's (0.5), the figures of what it reserves and whom it retracts recollected.
"""

from __future__ import annotations

from typing import Any

from nona.language.state import SGLANG, VLLM, EngineState
from nona.language.system import (
    BLOCK_TOKENS,
    FIRST_RATIO,
    LEAST_RATIO,
    MOST_RESERVED,
    RATIO_STEPS,
    RETRACTED_STEPS,
    blocks_of,
)


def _more_of(s: EngineState, e: int, q: Any, blocks: int) -> int:
    """Return by how much the free blocks shrink if a request that starts holds so many."""
    if not _shares(s, e, q):
        return blocks
    there = s.cached[e, q.prefix]
    return int(blocks - min(there, q.prefix_blocks) + (0 if s.users[e, q.prefix] else there))


def _shares(s: EngineState, e: int, q: Any) -> bool:
    return bool(s.engines[e].shares_prefixes and q.computed == 0 and q.prefix >= 0 and q.prefix_blocks > 0)


def _use_prefix(s: EngineState, e: int, q: Any) -> None:
    """Let a starting request use the cached blocks of its prefix."""
    if not _shares(s, e, q):
        return
    if s.users[e, q.prefix] == 0:
        _count_idle(s, e, q, -s.cached[e, q.prefix])
        _unchain(s, e, q.prefix)
    s.users[e, q.prefix] += 1
    q.taken = q.held = min(s.cached[e, q.prefix], q.prefix_blocks)
    q.computed = q.taken * BLOCK_TOKENS
    s.engines[e].hits += q.computed
    s.router.queued[e] -= q.computed


def _count_idle(s: EngineState, e: int, q: Any, blocks: int) -> None:
    """So many blocks of the prefix of a request are used no more, or again where they are below 0."""
    s.router.free[e] += blocks
    s.engines[e].idle_blocks += blocks
    s.prefix_tokens[e, q.row] -= blocks * BLOCK_TOKENS


def _unchain(s: EngineState, e: int, p: int) -> None:
    """Remove a prefix from the list of idle ones; one that is in no list links to itself."""
    before, after = s.idle_before[e, p], s.idle_after[e, p]
    s.idle_after[e, before], s.idle_before[e, after] = after, before
    s.idle_after[e, p] = s.idle_before[e, p] = p


def _chain_last(s: EngineState, e: int, p: int) -> None:
    """Append a prefix to the list of idle ones."""
    end = s.cached.shape[1]
    last = s.idle_before[e, end]
    s.idle_before[e, p], s.idle_after[e, p] = last, end
    s.idle_after[e, last] = s.idle_before[e, end] = p


def keep_prefix(s: EngineState, e: int, q: Any) -> None:
    """Share what a request has computed of its prefix beyond what lies there."""
    if q.taken < 0:
        return
    full = min(q.computed // BLOCK_TOKENS, q.prefix_blocks)
    if q.taken == s.cached[e, q.prefix] and q.taken < full:
        s.prefix_tokens[e, q.row] += (full - q.taken) * BLOCK_TOKENS
        s.cached[e, q.prefix] = q.taken = full


def hold(s: EngineState, e: int, q: Any, blocks: int) -> None:
    """Give a request so many blocks; idle prefixes are evicted from their ends."""
    x = s.engines[e]
    s.router.free[e] -= blocks - q.held
    q.held = blocks
    while x.idle_blocks > s.router.free[e]:
        oldest = s.idle_after[e, s.cached.shape[1]]
        lost = min(s.cached[e, oldest], x.idle_blocks - s.router.free[e])
        s.cached[e, oldest] -= lost
        x.idle_blocks -= lost
        if s.cached[e, oldest] == 0:
            _unchain(s, e, oldest)


def release(s: EngineState, e: int, q: Any) -> None:
    """Free a request's blocks, but for those of its prefix."""
    if q.taken >= 0:
        s.router.free[e] -= q.taken
        q.taken = -1
        s.users[e, q.prefix] -= 1
        if s.users[e, q.prefix] == 0:
            _count_idle(s, e, q, s.cached[e, q.prefix])
            _chain_last(s, e, q.prefix)
    hold(s, e, q, 0)


def left_of(q: Any) -> int:
    """Return the tokens of a request that are still to be computed."""
    return int(q.inputs + q.made - q.computed)


def decoding(q: Any) -> bool:
    """Return whether a request has only its newest token to compute."""
    return bool(q.made > 0 and q.inputs + q.made - q.computed == 1)


def runner(s: EngineState, e: int, place: int) -> Any:
    """Return the request that runs at a place."""
    return s.requests[s.running[e, place]]


def wait(s: EngineState, e: int, r: int, behind: int) -> None:
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
    if not decoding(q):
        s.router.queued[e] += left_of(q)


def compose(s: EngineState, e: int, now: float) -> None:
    """Choose the members of the step that begins now."""
    x = s.engines[e]
    x.members, x.preempted = 0, 0
    x.visible_s = x.composed_s if x.lookahead and x.runs > 0 else now
    x.composed_s = now
    if x.order == VLLM:
        _mixed(s, e)
    elif x.order == SGLANG:
        _prompts_first(s, e)
    else:
        _whole_batch(s, e)


def _mixed(s: EngineState, e: int) -> None:
    x = s.engines[e]
    budget, place = x.budget, 0
    while place < x.runs and budget > 0:
        q = runner(s, e, place)
        tokens = min(left_of(q), budget)
        stays = True
        while stays and blocks_of(q.computed + tokens) - q.held > s.router.free[e]:
            victim = x.runs - 1
            for k in range(x.runs - 1, place - 1, -1):
                if runner(s, e, k).priority > runner(s, e, victim).priority:
                    victim = k
            stays = victim != place
            _preempt(s, e, victim)
        if not stays:
            break
        _compute(s, e, q, tokens)
        budget -= tokens
        place += 1
    while not x.preempted and budget > 0 and _may_start(s, e):
        rest = left_of(s.requests[x.head])
        if not x.chunked and budget < min(rest, x.budget):
            break
        budget -= _start(s, e, min(rest, budget) if x.chunked else rest)


def _may_start(s: EngineState, e: int) -> bool:
    x = s.engines[e]
    if x.head < 0 or x.runs >= x.sequences:
        return False
    q = s.requests[x.head]
    spare = s.router.free[e] - (x.margin if x.runs > 0 else 0)
    return bool(q.seen_s <= x.visible_s and _more_of(s, e, q, blocks_of(q.inputs + q.made)) <= spare)


def _prompts_first(s: EngineState, e: int) -> None:
    x = s.engines[e]
    budget, reserved = x.budget, 0.0
    for k in range(x.runs):
        q = runner(s, e, k)
        reserved += x.ratio * min(q.outputs - q.made, MOST_RESERVED)
        if not decoding(q):  # a prompt that was split
            tokens = min(left_of(q), budget, BLOCK_TOKENS * (q.held + s.router.free[e]) - q.computed)
            reserved += left_of(q) - tokens
            if tokens > 0:
                _compute(s, e, q, tokens)
            budget -= tokens
    while budget > 0 and _may_start(s, e):
        q = s.requests[x.head]
        tokens = min(left_of(q), budget) if x.chunked else left_of(q)
        wanted = left_of(q) + min(q.outputs - q.made, MOST_RESERVED)
        if x.runs > 0 and wanted + reserved > BLOCK_TOKENS * s.router.free[e]:
            break
        reserved += wanted - tokens
        budget -= _start(s, e, tokens)
    if x.members > 0 or x.runs == 0:
        return
    _retract(s, e)
    for k in range(x.runs):
        q = runner(s, e, k)
        if decoding(q):
            _compute(s, e, q, 1)
    reserve_less(x)


def reserve_less(x: Any) -> None:
    """After a step of decodes SGLang reserves less for the tokens to come."""
    x.ratio = max(LEAST_RATIO, x.ratio - (FIRST_RATIO - LEAST_RATIO) / RATIO_STEPS)


def _retract(s: EngineState, e: int) -> None:
    """Send back who made the fewest tokens, until each of the others can make one."""
    x = s.engines[e]
    while True:
        wanted, victim = 0, 0
        for k in range(x.runs):
            q, v = runner(s, e, k), runner(s, e, victim)
            if decoding(q):
                wanted += blocks_of(q.computed + 1) - q.held
            if q.made < v.made or (q.made == v.made and q.inputs > v.inputs):
                victim = k
        if wanted <= s.router.free[e]:
            break
        _preempt(s, e, victim)
    if x.preempted and x.runs:
        tokens, outputs = RETRACTED_STEPS * x.runs, 0
        for k in range(x.runs):
            tokens += runner(s, e, k).made
            outputs += runner(s, e, k).outputs
        x.ratio = min(1.0, tokens / outputs)


def _whole_batch(s: EngineState, e: int) -> None:
    """Start a new batch only when the engine runs no request."""
    x = s.engines[e]
    if x.runs == 0:
        while _may_start(s, e):
            q = s.requests[x.head]
            if _more_of(s, e, q, q.most_blocks) > s.router.free[e]:
                break
            _start(s, e, 0)
            hold(s, e, q, q.most_blocks)
    x.members = 0
    budget = x.budget
    for k in range(x.runs):
        q = runner(s, e, k)
        if not decoding(q) and budget > 0:
            tokens = min(left_of(q), budget)
            _compute(s, e, q, tokens)
            budget -= tokens
    if x.members == 0:
        for k in range(x.runs):
            _compute(s, e, runner(s, e, k), 1)


def _start(s: EngineState, e: int, tokens: int) -> int:
    """Admit the first who waits; return how many tokens it computes: the rest lie in its prefix."""
    x = s.engines[e]
    s.running[e, x.runs] = x.head
    q = s.requests[x.head]
    x.head = q.following
    if x.head < 0:
        x.tail = -1
    x.waits -= 1
    x.runs += 1
    _use_prefix(s, e, q)
    tokens = min(tokens, left_of(q))
    _compute(s, e, q, tokens)
    return tokens


def _compute(s: EngineState, e: int, q: Any, tokens: int) -> None:
    blocks = blocks_of(q.computed + tokens)
    if blocks > q.held:
        hold(s, e, q, blocks)
    if not decoding(q):
        s.router.queued[e] -= tokens
    q.step = tokens
    s.engines[e].members += 1


def _preempt(s: EngineState, e: int, place: int) -> None:
    """Forget what was computed, keep the tokens that were made, wait before all of its priority."""
    r = s.running[e, place]
    leave(s, e, place)
    s.requests[r].computed = 0
    release(s, e, s.requests[r])
    wait(s, e, r, 0)
    s.times.preemptions[r] += 1
    s.engines[e].preempted = 1


def leave(s: EngineState, e: int, place: int) -> None:
    """End the request that runs at ``place``; it holds its blocks until these are released."""
    x, q = s.engines[e], runner(s, e, place)
    if not decoding(q):
        s.router.queued[e] -= left_of(q)
    x.runs -= 1
    for k in range(place, x.runs):
        s.running[e, k] = s.running[e, k + 1]
