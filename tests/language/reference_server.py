"""One engine at work: its requests, the KV blocks they hold, who waits, who runs, the members of a step.

The rules of ``vllm`` are those of vLLM V1 (0.19 to 0.27, ``vllm/v1/core/sched/scheduler.py``); those of
``sglang`` are SGLang's (0.5), the figures of what it reserves and whom it retracts recollected.
"""

from __future__ import annotations

import math
from bisect import insort_left, insort_right
from collections import Counter

from nona.language.records import Requests
from nona.language.routers import RouterState
from nona.language.system import (
    BLOCK_TOKENS,
    FIRST_RATIO,
    LEAST_RATIO,
    MOST_RESERVED,
    RATIO_STEPS,
    RETRACTED_STEPS,
    Engine,
    blocks_of,
)


class Request:
    """``computed`` of ``inputs + made`` tokens lie in ``blocks``; ``step`` of them are of this step.

    Its KV, of ``kv_bytes``, that set out at ``set_out_s``, has yet to join the links of ``path``; those that
    it has joined will have served it at ``through_s``. The last fields are what
    :class:`~nona.language.records.RequestTimes` records.
    """

    def __init__(self, number: int, requests: Requests, priority: int) -> None:
        self.number, self.row, self.priority = number, int(requests.row[number]), priority
        self.inputs, self.outputs = int(requests.inputs[number]), int(requests.outputs[number])
        self.prefix = int(requests.prefix[number])
        # full blocks of its prefix; the last token of a prompt is always computed
        self.prefix_blocks = min(int(requests.shared[number]), self.inputs - 1) // BLOCK_TOKENS
        self.taken = -1  # of these, those that lie in the blocks of its prefix; −1: it does not use these
        self.made = self.computed = self.blocks = self.step = 0
        self.seen_s = self.last_s = math.inf
        self.path: list[int] = []
        self.kv_bytes = self.set_out_s = self.through_s = 0.0
        self.max_gap_s = 0.0
        self.arrival_s = self.first_s = self.end_s = self.gap_end_s = math.nan
        self.sent_s = 0.0
        self.rank = self.engine = self.decoder = -1
        self.preemptions = 0

    @property
    def left(self) -> int:
        """Tokens to compute before it makes its next."""
        return self.inputs + self.made - self.computed

    @property
    def decodes(self) -> bool:
        """True where its next token needs that of the last alone."""
        return self.made > 0 and self.left == 1

    @property
    def most_blocks(self) -> int:
        """Blocks that it needs for its last token."""
        return blocks_of(self.inputs + self.outputs - 1)


class _Cache:
    """The blocks of one engine's cache; how many are free stands on the ``board``.

    Of each prefix ``cached`` blocks lie there, which ``users`` requests use. ``idle`` ones, the longest
    unused first, count as free: they give way to who needs blocks.
    """

    def __init__(self, number: int, engine: Engine, board: RouterState) -> None:
        self.number, self.engine, self.board = number, engine, board
        self.cached: Counter[int] = Counter()
        self.users: Counter[int] = Counter()
        self.idle: dict[int, None] = {}
        self.idle_blocks = 0
        self.prefix_tokens: Counter[int] = Counter()  # by row, of prefixes that are used
        self.hits = 0

    @property
    def free(self) -> int:
        return int(self.board.free[self.number])

    def more(self, r: Request, blocks: int) -> int:
        """Return by how much the free blocks shrink if a request that starts holds so many."""
        if not self._shares(r):
            return blocks
        cached = self.cached[r.prefix]
        return blocks - min(cached, r.prefix_blocks) + (0 if self.users[r.prefix] else cached)

    def _shares(self, r: Request) -> bool:
        return self.engine.shares_prefixes and r.computed == 0 and r.prefix >= 0 and r.prefix_blocks > 0

    def use_prefix(self, r: Request) -> None:
        """A request that starts uses what is there of its prefix."""
        if not self._shares(r):
            return
        if not self.users[r.prefix]:
            self._set_idle(r, False)
        self.users[r.prefix] += 1
        r.taken = r.blocks = min(self.cached[r.prefix], r.prefix_blocks)
        r.computed = r.taken * BLOCK_TOKENS
        self.hits += r.computed
        self.board.queued[self.number] -= r.computed

    def _set_idle(self, r: Request, idle: bool) -> None:
        """The prefix of a request is used by nobody any more, or is used again."""
        blocks = self.cached[r.prefix] if idle else -self.cached[r.prefix]
        self.board.free[self.number] += blocks
        self.idle_blocks += blocks
        self.prefix_tokens[r.row] -= blocks * BLOCK_TOKENS
        if idle:
            self.idle[r.prefix] = None
        else:
            self.idle.pop(r.prefix, None)

    def keep_prefix(self, r: Request) -> None:
        """Share what a request has computed of its prefix beyond what lies there."""
        full = min(r.computed // BLOCK_TOKENS, r.prefix_blocks)
        if r.taken == self.cached[r.prefix] < full:
            self.prefix_tokens[r.row] += (full - r.taken) * BLOCK_TOKENS
            self.cached[r.prefix] = r.taken = full

    def hold(self, r: Request, blocks: int) -> None:
        """A request holds so many blocks; idle prefixes give way, from their ends."""
        self.board.free[self.number] -= blocks - r.blocks
        r.blocks = blocks
        while self.idle_blocks > self.free:
            oldest = next(iter(self.idle))
            lost = min(self.cached[oldest], self.idle_blocks - self.free)
            self.cached[oldest] -= lost
            self.idle_blocks -= lost
            if not self.cached[oldest]:
                del self.idle[oldest]

    def release(self, r: Request) -> None:
        """A request gives its blocks back, but for those of its prefix."""
        if r.taken >= 0:
            self.board.free[self.number] -= r.taken
            r.taken = -1
            self.users[r.prefix] -= 1
            if not self.users[r.prefix]:
                self._set_idle(r, True)
        self.hold(r, 0)


def _priority(r: Request) -> int:
    return r.priority


class Server:
    """Who waits, by priority, and who runs, in the order of admission; the ``members`` of the step."""

    def __init__(self, number: int, engine: Engine, board: RouterState) -> None:
        self.number, self.engine, self.board = number, engine, board
        self.cache = _Cache(number, engine, board)
        self.waiting: list[Request] = []
        self.running: list[Request] = []
        self.members: list[Request] = []
        self.preempted = False  # as the step was composed
        self.ratio = FIRST_RATIO
        self.composed_s = self.visible_s = self.end_s = -math.inf

    def join(self, r: Request, now: float) -> None:
        """Wait behind all of its priority."""
        r.seen_s = now
        insort_right(self.waiting, r, key=_priority)
        self.board.queued[self.number] += 0 if r.decodes else r.left

    def compose(self, now: float) -> None:
        """Choose the members of the step that begins now."""
        self.members, self.preempted = [], False
        self.visible_s = self.composed_s if self.engine.lookahead and self.running else now
        self.composed_s = now
        if self.engine.order == "vllm":
            self._mixed()
        elif self.engine.order == "sglang":
            self._prompts_first()
        else:
            self._whole_batch()

    def _mixed(self) -> None:
        budget, place = self.engine.budget, 0
        while place < len(self.running) and budget > 0:
            r = self.running[place]
            tokens = min(r.left, budget)
            while r in self.running and blocks_of(r.computed + tokens) - r.blocks > self.cache.free:
                self._preempt(max(reversed(self.running[place:]), key=_priority))
            if r not in self.running:
                break
            self._compute(r, tokens)
            budget -= tokens
            place += 1
        while not self.preempted and budget > 0 and self._may_start():
            r = self.waiting[0]
            if not self.engine.chunked and budget < min(r.left, self.engine.budget):
                break
            budget -= self._start(r, min(r.left, budget) if self.engine.chunked else r.left)

    def _may_start(self) -> bool:
        """Return whether the first who waits was seen and has a place and room for its prompt."""
        if not self.waiting or len(self.running) >= self.engine.sequences:
            return False
        r = self.waiting[0]
        spare = self.cache.free
        if self.running:
            spare -= math.floor(self.engine.watermark * self.engine.blocks)
        return r.seen_s <= self.visible_s and self.cache.more(r, blocks_of(r.inputs + r.made)) <= spare

    def _prompts_first(self) -> None:
        budget, reserved = self.engine.budget, 0.0
        for r in self.running:
            reserved += self.ratio * min(r.outputs - r.made, MOST_RESERVED)
            if not r.decodes:  # a prompt that was split
                tokens = min(r.left, budget, BLOCK_TOKENS * (r.blocks + self.cache.free) - r.computed)
                reserved += r.left - tokens
                if tokens > 0:
                    self._compute(r, tokens)
                budget -= tokens
        while budget > 0 and self._may_start():
            r = self.waiting[0]
            tokens = min(r.left, budget) if self.engine.chunked else r.left
            wanted = r.left + min(r.outputs - r.made, MOST_RESERVED)
            if self.running and wanted + reserved > BLOCK_TOKENS * self.cache.free:
                break
            reserved += wanted - tokens
            budget -= self._start(r, tokens)
        if self.members or not self.running:
            return
        self._retract()
        for r in self.running:
            if r.decodes:
                self._compute(r, 1)
        self.ratio = max(LEAST_RATIO, self.ratio - (FIRST_RATIO - LEAST_RATIO) / RATIO_STEPS)

    def _retract(self) -> None:
        """Send back who made the fewest tokens, until each of the others can make one."""
        while sum(blocks_of(r.computed + 1) - r.blocks for r in self.running if r.decodes) > self.cache.free:
            self._preempt(min(self.running, key=lambda r: (r.made, -r.inputs)))
        if self.preempted and self.running:
            tokens = sum(r.made for r in self.running) + RETRACTED_STEPS * len(self.running)
            self.ratio = min(1.0, tokens / sum(r.outputs for r in self.running))

    def _whole_batch(self) -> None:
        if not self.running:
            while self._may_start():
                r = self.waiting[0]
                if self.cache.more(r, r.most_blocks) > self.cache.free:
                    break
                self._start(r, 0)
                self.cache.hold(r, r.most_blocks)
        self.members = []
        budget = self.engine.budget
        for r in self.running:
            if not r.decodes and budget > 0:
                tokens = min(r.left, budget)
                self._compute(r, tokens)
                budget -= tokens
        if not self.members:
            for r in self.running:
                self._compute(r, 1)

    def _start(self, r: Request, tokens: int) -> int:
        """Admit the first who waits; return how many tokens it computes: the rest lie in its prefix."""
        del self.waiting[0]
        self.running.append(r)
        self.cache.use_prefix(r)
        tokens = min(tokens, r.left)
        self._compute(r, tokens)
        return tokens

    def _compute(self, r: Request, tokens: int) -> None:
        self.cache.hold(r, max(r.blocks, blocks_of(r.computed + tokens)))
        if not r.decodes:
            self.board.queued[self.number] -= tokens
        r.step = tokens
        self.members.append(r)

    def _preempt(self, r: Request) -> None:
        """Forget what was computed, keep the tokens that were made, wait before all of its priority."""
        self.leave(r)
        r.computed = 0
        self.cache.release(r)
        insort_left(self.waiting, r, key=_priority)
        self.board.queued[self.number] += r.left
        r.preemptions += 1
        self.preempted = True

    def leave(self, r: Request) -> None:
        """It runs no longer; it holds its blocks until these are released."""
        self.running.remove(r)
        self.board.queued[self.number] -= 0 if r.decodes else r.left

    def seconds(self) -> float:
        decodes = kv = prefill = 0
        attended = 0.0
        for r in self.members:
            if r.decodes:
                decodes += 1
                kv += r.computed
            else:
                prefill += r.step
                attended += r.step * (r.computed + r.step / 2)
        return self.engine.steps.seconds(decodes, kv, prefill, attended)
