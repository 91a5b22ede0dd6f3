"""KV blocks of an engine: those that its requests hold, and those of prefixes, which others use too."""

from __future__ import annotations

from collections import Counter

from nona.language.request import Request
from nona.language.routers import Board
from nona.language.system import BLOCK_TOKENS, Engine


class Cache:
    """What lies in the blocks of one engine; how many are free stands on the ``board``.

    Of each prefix ``cached`` blocks lie there, which ``users`` requests use. ``idle`` ones, the longest
    unused first, count as free: they give way to who needs blocks.
    """

    def __init__(self, number: int, engine: Engine, board: Board) -> None:
        self.number, self.engine, self.board = number, engine, board
        self.cached: Counter[int] = Counter()
        self.users: Counter[int] = Counter()
        self.idle: dict[int, None] = {}
        self.idle_blocks = 0
        self.prefix_tokens: Counter[int] = Counter()  # by row, of prefixes that are used
        self.hits = 0

    @property
    def free(self) -> int:
        """Blocks that who starts may take."""
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
        """What a request has computed of its prefix beyond what lies there is now used by others too."""
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
