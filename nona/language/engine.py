"""The engines as they are read: one event after the other, one request after the other.

At one instant steps end, then KV arrives, then requests arrive, then engines compose: a request that
arrives at the instant a step ends may join the next. :mod:`nona.language.machine` is the same over arrays,
bit for bit. The rules of ``vllm`` are those of vLLM V1 (0.19 to 0.27, ``vllm/v1/core/sched/scheduler.py``);
those of ``sglang`` are SGLang's (0.5), the figures of what it reserves and whom it retracts recollected.
"""

from __future__ import annotations

import math
from collections import Counter
from heapq import heappop, heappush

import numpy as np

from nona.language.records import REFUSED, STEP, Requests, Run, Sums, Times, Window
from nona.language.routers import NUMBERS, Board, make_board, route
from nona.language.system import (
    BLOCK_TOKENS,
    FIRST_RATIO,
    LEAST_RATIO,
    MOST_RESERVED,
    RATIO_STEPS,
    RETRACTED_STEPS,
    Engine,
    LanguageSystem,
    blocks_of,
)
from nona.random_streams import RandomStreams
from nona.simulation.workload import link_background

STEP_END, DELIVERY, ARRIVAL, COMPOSE = range(4)


class Request:
    """``computed`` of ``inputs + made`` tokens lie in ``blocks``; ``step`` of them are of this step."""

    def __init__(self, number: int, requests: Requests, priority: int) -> None:
        self.number, self.row, self.priority = number, int(requests.row[number]), priority
        self.inputs, self.outputs = int(requests.inputs[number]), int(requests.outputs[number])
        self.prefix = int(requests.prefix[number])
        # full blocks of its prefix; the last token of a prompt is always computed
        self.prefix_blocks = min(int(requests.shared[number]), self.inputs - 1) // BLOCK_TOKENS
        self.taken = -1  # of these, those that lie in the blocks of its prefix; −1: it does not use these
        self.made = self.computed = self.blocks = self.step = 0
        self.seen_s = self.last_s = math.inf

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


class Server:
    """An engine at work: who waits, who runs in the order of admission, the ``members`` of its step."""

    def __init__(self, number: int, engine: Engine, board: Board) -> None:
        self.number, self.engine, self.board = number, engine, board
        self.waiting: list[Request] = []
        self.running: list[Request] = []
        self.members: list[Request] = []
        self.preempted: list[Request] = []
        self.free, self.ratio = engine.blocks, FIRST_RATIO
        self.composed_s = self.visible_s = self.end_s = -math.inf
        self.hits = 0
        # Blocks that hold prefixes, and the requests that use each; ``idle`` ones, the longest unused first,
        # count as free.
        self.cached: Counter[int] = Counter()
        self.users: Counter[int] = Counter()
        self.idle: dict[int, None] = {}
        self.idle_blocks = 0
        self.prefix_tokens: Counter[int] = Counter()  # by row, of prefixes that are used

    def join(self, r: Request, now: float) -> None:
        """Wait behind all of its priority."""
        r.seen_s = now
        place = len(self.waiting)
        while place and self.waiting[place - 1].priority > r.priority:
            place -= 1
        self._wait(r, place)

    def _wait(self, r: Request, place: int) -> None:
        self.waiting.insert(place, r)
        self.board.requests[self.number] += 1
        self.board.queued[self.number] += 0 if r.decodes else r.left

    def compose(self, now: float) -> None:
        """Choose the members of the step that begins now."""
        self.members, self.preempted = [], []
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
            while r in self.running and blocks_of(r.computed + tokens) - r.blocks > self.free:
                self._preempt(max(reversed(self.running[place:]), key=lambda v: v.priority))
            if r not in self.running:
                break
            self._take(r, tokens)
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
        spare = self.free
        if self.running:
            spare -= math.floor(self.engine.watermark * self.engine.blocks)
        return r.seen_s <= self.visible_s and self._more(r, blocks_of(r.inputs + r.made)) <= spare

    def _more(self, r: Request, blocks: int) -> int:
        """Return by how much the free blocks shrink if a request that starts holds so many."""
        if not self._shares(r):
            return blocks
        cached = self.cached[r.prefix]
        return blocks - min(cached, r.prefix_blocks) + (0 if self.users[r.prefix] else cached)

    def _shares(self, r: Request) -> bool:
        return self.engine.shares_prefixes and r.computed == 0 and r.prefix >= 0 and r.prefix_blocks > 0

    def _prompts_first(self) -> None:
        budget, reserved = self.engine.budget, 0.0
        for r in self.running:
            reserved += self.ratio * min(r.outputs - r.made, MOST_RESERVED)
            if not r.decodes:  # a prompt that was split
                tokens = min(r.left, budget, BLOCK_TOKENS * (r.blocks + self.free) - r.computed)
                reserved += r.left - tokens
                if tokens > 0:
                    self._take(r, tokens)
                budget -= tokens
        while budget > 0 and self._may_start():
            r = self.waiting[0]
            tokens = min(r.left, budget) if self.engine.chunked else r.left
            wanted = r.left + min(r.outputs - r.made, MOST_RESERVED)
            if self.running and wanted + reserved > BLOCK_TOKENS * self.free:
                break
            reserved += wanted - tokens
            budget -= self._start(r, tokens)
        if self.members or not self.running:
            return
        self._retract()
        for r in self.running:
            if r.decodes:
                self._take(r, 1)
        self.ratio = max(LEAST_RATIO, self.ratio - (FIRST_RATIO - LEAST_RATIO) / RATIO_STEPS)

    def _retract(self) -> None:
        """Send back who made the fewest tokens, until each of the others can make one."""
        while sum(blocks_of(r.computed + 1) - r.blocks for r in self.running if r.decodes) > self.free:
            self._preempt(min(self.running, key=lambda r: (r.made, -r.inputs)))
        if self.preempted and self.running:
            made = sum(r.made for r in self.running) + RETRACTED_STEPS * len(self.running)
            self.ratio = min(1.0, made / sum(r.outputs for r in self.running))

    def _whole_batch(self) -> None:
        if not self.running:
            while self._may_start() and self._more(self.waiting[0], self.waiting[0].most_blocks) <= self.free:
                r = self.waiting[0]
                self._start(r, 0)
                self._hold(r, r.most_blocks)
        budget = self.engine.budget
        self.members = []
        for r in self.running:
            if not r.decodes and budget > 0:
                tokens = min(r.left, budget)
                self._take(r, tokens)
                budget -= tokens
        if not self.members:
            for r in self.running:
                self._take(r, 1)

    def _start(self, r: Request, tokens: int) -> int:
        """Admit the first who waits; return how many tokens it computes: the rest lie in its prefix."""
        del self.waiting[0]
        self.running.append(r)
        if self._shares(r):
            if not self.users[r.prefix]:
                self._idle(r, False)
            self.users[r.prefix] += 1
            r.taken = r.blocks = min(self.cached[r.prefix], r.prefix_blocks)
            r.computed = r.taken * BLOCK_TOKENS
            self.hits += r.computed
            self.board.queued[self.number] -= r.computed
            tokens = min(tokens, r.left)
        self._take(r, tokens)
        return tokens

    def _idle(self, r: Request, now_idle: bool) -> None:
        """The prefix of a request is used by nobody any more, or is used again."""
        blocks = self.cached[r.prefix] if now_idle else -self.cached[r.prefix]
        self.free += blocks
        self.board.used[self.number] -= blocks
        self.idle_blocks += blocks
        self.prefix_tokens[r.row] -= blocks * BLOCK_TOKENS
        if now_idle:
            self.idle[r.prefix] = None
        else:
            self.idle.pop(r.prefix, None)

    def keep_prefix(self, r: Request) -> None:
        """What a request has computed of its prefix beyond what lies there is now used by others too."""
        full = min(r.computed // BLOCK_TOKENS, r.prefix_blocks)
        if r.taken == self.cached[r.prefix] < full:
            self.prefix_tokens[r.row] += (full - r.taken) * BLOCK_TOKENS
            self.cached[r.prefix] = r.taken = full

    def _take(self, r: Request, tokens: int) -> None:
        """The step computes so many tokens of a request."""
        self._hold(r, max(r.blocks, blocks_of(r.computed + tokens)))
        if not r.decodes:
            self.board.queued[self.number] -= tokens
        r.step = tokens
        self.members.append(r)

    def _hold(self, r: Request, blocks: int) -> None:
        self.free -= blocks - r.blocks
        self.board.used[self.number] += blocks - r.blocks
        r.blocks = blocks
        while self.idle_blocks > self.free:  # idle prefixes give way, from their ends
            oldest = next(iter(self.idle))
            blocks = min(self.cached[oldest], self.idle_blocks - self.free)
            self.cached[oldest] -= blocks
            self.idle_blocks -= blocks
            if not self.cached[oldest]:
                del self.idle[oldest]

    def _preempt(self, r: Request) -> None:
        """Forget what was computed, keep the tokens that were made, wait before all of its priority."""
        self.leave(r)
        r.computed = 0
        self.release(r)
        place = 0
        while place < len(self.waiting) and self.waiting[place].priority < r.priority:
            place += 1
        self._wait(r, place)
        self.preempted.append(r)

    def leave(self, r: Request) -> None:
        """It runs here no longer; it holds its blocks until it releases them."""
        self.running.remove(r)
        self.board.requests[self.number] -= 1
        self.board.queued[self.number] -= 0 if r.decodes else r.left

    def release(self, r: Request) -> None:
        """Give its blocks back, but for those of its prefix."""
        if r.taken >= 0:
            self.free -= r.taken
            self.board.used[self.number] += r.taken
            r.taken = -1
            self.users[r.prefix] -= 1
            if not self.users[r.prefix]:
                self._idle(r, True)
        self._hold(r, 0)

    def seconds(self) -> float:
        """Duration of the step."""
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


class Loop:
    """One run: the servers, the link between them, the requests, what is measured."""

    def __init__(self, system: LanguageSystem, requests: Requests, router: str, window: Window) -> None:
        self.system, self.requests, self.router, self.window = system, requests, NUMBERS[router], window
        self.board, self.places = make_board(system, requests), system.places
        self.servers = [Server(e, engine, self.board) for e, engine in enumerate(system.engines)]
        self.all = [Request(k, requests, system.rows[row].priority) for k, row in enumerate(requests.row)]
        self.times = Times.unknown(len(requests))
        self.sums = Sums.zero(len(system.engines), len(system.rows))
        self.trace: list[tuple[float, ...]] = []
        self.next_of_loop = requests.first_of_loops(len(system.rows)).tolist()
        self.events: list[tuple[float, int, int]] = []
        self.due: set[int] = set()
        self.now, self.begin_s, self.close_s, self.link_free_s = 0.0, math.inf, math.inf, 0.0
        self.arrived, self.left = 0, window.jobs
        streams = RandomStreams(system.seed, window.replication)
        self.background = link_background(system.background, streams, ("link",), system.capacity)
        self.next_background = next(self.background, (math.inf, 0.0))

    def run(self) -> Run:
        """Simulate until the measured requests are complete."""
        for number in np.flatnonzero(np.isfinite(self.requests.arrival_s)).tolist():
            heappush(self.events, (float(self.requests.arrival_s[number]), ARRIVAL, number))
        while self.events and (self.left or self.events[0][0] <= self.now):
            self.now, kind, number = heappop(self.events)
            if kind == STEP_END:
                self._end_step(self.servers[number])
            elif kind == DELIVERY:
                self._deliver(self.all[number])
            elif kind == ARRIVAL:
                self._arrive(self.all[number])
            else:
                self._compose(self.servers[number])
        trace = np.array(self.trace, dtype=STEP)
        over_s = min(self.now, self.close_s)
        return Run(self.requests, self.times, self.sums, trace, self.window, self.begin_s, over_s)

    def _arrive(self, r: Request) -> None:
        self.times.arrival_s[r.number], self.times.rank[r.number] = self.now, self.arrived
        if self.arrived == self.window.first:
            self.begin_s = self.now if self.window.first else 0.0
        if self.arrived == self.window.first + self.window.jobs:
            self.close_s = self.now
        self.arrived += 1
        to = self._routed(r, False)
        self.times.engine[r.number] = to
        if to == REFUSED:
            self._complete(r, math.nan)
        else:
            self._join(self.servers[to], r)

    def _routed(self, r: Request, decode: bool) -> int:
        turn, outputs = 2 * r.row + decode, self.system.rows[r.row].lengths.mean_outputs
        places = self.places[turn]
        return route(self.router, self.board, places, turn, r.most_blocks, r.inputs, outputs, r.prefix)

    def _join(self, server: Server, r: Request) -> None:
        server.join(r, self.now)
        self._wake(server)

    def _wake(self, server: Server) -> None:
        """An idle engine composes once all of this instant has happened."""
        if server.end_s <= self.now and server.number not in self.due:
            self.due.add(server.number)
            heappush(self.events, (self.now, COMPOSE, server.number))

    def _compose(self, server: Server) -> None:
        self.due.discard(server.number)
        server.compose(self.now)
        for r in server.preempted:
            self.times.preemptions[r.number] += 1
        if server.members:
            server.end_s = self.now + server.seconds()
            heappush(self.events, (server.end_s, STEP_END, server.number))
            if self.begin_s <= self.now < self.close_s:
                self._measure(server)

    def _measure(self, server: Server) -> None:
        """Add the step to the sums of the window."""
        e, sums, span = server.number, self.sums, server.end_s - self.now
        held = [0] * len(self.system.rows)
        for row, tokens in server.prefix_tokens.items():
            held[row] += tokens
        for r in server.running:
            held[r.row] += r.computed - BLOCK_TOKENS * max(0, r.taken)
        for r in server.members:
            held[r.row] += r.step
        for row, tokens in enumerate(held):
            sums.kv_area[e, row] += tokens * span
            sums.kv_most[e, row] = max(sums.kv_most[e, row], tokens)
        sums.kv_peak[e] = max(sums.kv_peak[e], sum(held))
        decodes = sum(r.decodes for r in server.members)
        prefill = sum(r.step for r in server.members if not r.decodes)
        running, waiting = len(server.running), len(server.waiting)
        sums.steps[e] += 1
        sums.decoded[e] += decodes
        sums.prefill[e] += prefill
        sums.hits[e] += server.hits
        server.hits = 0
        sums.busy_s[e] += span
        sums.running_area[e] += running * span
        sums.waiting_area[e] += waiting * span
        if sums.steps[e] <= self.window.steps:
            self.trace.append((e, self.now, server.end_s, decodes, prefill, sum(held), running, waiting))

    def _end_step(self, server: Server) -> None:
        """Members whose prompts are computed make a token; some are complete."""
        e, begin_s = server.number, server.composed_s
        measured = self.begin_s <= begin_s < self.close_s
        steady = [0] * len(self.system.rows)
        for r in server.members:
            r.computed += r.step
            if r.taken >= 0:
                server.keep_prefix(r)
        for r in [r for r in server.members if r.left == 0]:
            if server.engine.role == "prefill" and self.system.first_token == "decode":
                r.computed -= 1  # the other side computes the last token of the prompt again
                self._send(server, r)
                continue
            r.made += 1
            if r.made == 1:
                self.times.first_s[r.number] = self.now
            if measured:
                self.sums.made[e, r.row] += 1
                if r.last_s == begin_s:
                    steady[r.row] += 1
                elif r.made > 1:
                    self.sums.add_gap(e, r.row, self.now - r.last_s, 1)
            r.last_s = self.now
            if r.made == r.outputs:
                server.leave(r)
                server.release(r)
                self._complete(r, self.now)
            elif server.engine.role == "prefill":
                self._send(server, r)
        for row, tokens in enumerate(steady):
            if tokens:
                self.sums.add_gap(e, row, self.now - begin_s, tokens)
        self._wake(server)

    def _send(self, server: Server, r: Request) -> None:
        """Its KV goes over the link, which others use too; until it is there its blocks are held."""
        server.leave(r)
        while self.next_background[0] <= self.now:
            at_s, work_s = self.next_background
            self.link_free_s = max(self.link_free_s, at_s) + work_s
            self.next_background = next(self.background, (math.inf, 0.0))
        size = r.inputs * server.engine.kv_bytes
        self.link_free_s = max(self.link_free_s, self.now) + size / self.system.capacity
        there_s = self.link_free_s + self.system.latency_s
        self.times.sent_s[r.number] = there_s - self.now
        heappush(self.events, (there_s, DELIVERY, r.number))

    def _deliver(self, r: Request) -> None:
        """Its prompt is on the side that makes its tokens."""
        prefiller = self.servers[self.times.engine[r.number]]
        prefiller.release(r)
        self._wake(prefiller)
        to = self._routed(r, True)
        self.times.decoder[r.number] = to
        self._join(self.servers[to], r)

    def _complete(self, r: Request, end_s: float) -> None:
        self.times.end_s[r.number] = end_s
        if self.left and 0 <= self.times.rank[r.number] - self.window.first < self.window.jobs:
            self.left -= 1
        if self.system.rows[r.row].concurrency:
            following = self.next_of_loop[r.row]
            if following < len(self.requests) and self.requests.row[following] == r.row:
                self.next_of_loop[r.row] += 1
                heappush(self.events, (self.now, ARRIVAL, following))
