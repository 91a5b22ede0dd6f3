"""A second loop of language engines, request by request: the oracle of the one over arrays.

At one instant steps end, then KV joins links, then it arrives, then requests arrive, then engines compose: a
request that arrives at the instant a step ends may join the next.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush

import numpy as np
from reference_server import Request, Server

from nona.core.random_streams import RandomStreams
from nona.language import run as compiled
from nona.language.records import (
    REFUSED,
    STEP,
    MeasuredWindow,
    Requests,
    RequestTimes,
    RouterReplication,
    Sums,
    add_gap,
    add_step,
)
from nona.language.routers import NUMBERS, make_board, route
from nona.language.system import BLOCK_TOKENS, LanguageSystem, blocks_of
from nona.queries.simulation.reference.links import FifoLink
from nona.queries.simulation.workload import link_background

STEP_END, HOP, DELIVERY, ARRIVAL, COMPOSE = range(5)


class Loop:
    """One run: the servers, the links between them, the requests, what is measured."""

    def __init__(
        self, system: LanguageSystem, requests: Requests, router: str, window: MeasuredWindow
    ) -> None:
        self.system, self.drawn, self.router, self.window = system, requests, NUMBERS[router], window
        self.board, self.places = make_board(system, requests), system.places
        self.servers = [Server(e, engine, self.board) for e, engine in enumerate(system.engines)]
        self.requests = [
            Request(k, requests, system.rows[row].priority) for k, row in enumerate(requests.row)
        ]
        self.next_of_loop = requests.first_of_loops(len(system.rows)).tolist()
        streams = RandomStreams(system.seed, window.replication)
        self.links = [
            (FifoLink(link_background(others, streams, name, capacity)), capacity)
            for capacity, name, others in system.links
        ]
        self.events: list[tuple[float, int, int]] = []
        self.due: set[int] = set()
        self.now, self.begin_s, self.close_s = 0.0, math.inf, math.inf
        self.arrived, self.left = 0, window.jobs
        self.sums = Sums.zero(len(system.engines), len(system.rows))
        self.steps = np.zeros((len(system.engines), window.steps), dtype=STEP)

    def run(self) -> RouterReplication:
        """Simulate until the measured requests are complete."""
        for number in np.flatnonzero(np.isfinite(self.drawn.arrival_s)).tolist():
            heappush(self.events, (float(self.drawn.arrival_s[number]), ARRIVAL, number))
        while self.events and (self.left or self.events[0][0] <= self.now):
            self.now, kind, number = heappop(self.events)
            if kind == STEP_END:
                self._end_step(self.servers[number])
            elif kind == HOP:
                self._go_on(self.requests[number])
            elif kind == DELIVERY:
                self._deliver(self.requests[number])
            elif kind == ARRIVAL:
                self._arrive(self.requests[number])
            else:
                self._compose(self.servers[number])
        times = RequestTimes(
            *(np.array([getattr(r, name) for r in self.requests]) for name in RequestTimes._fields)
        )
        over_s = min(self.now, self.close_s)
        return RouterReplication(self.drawn, times, self.sums, self.steps, self.window, self.begin_s, over_s)

    def _arrive(self, r: Request) -> None:
        r.arrival_s, r.rank = self.now, self.arrived
        if self.arrived == self.window.first:
            self.begin_s = self.now if self.window.first else 0.0
        if self.arrived == self.window.first + self.window.jobs:
            self.close_s = self.now
        self.arrived += 1
        r.engine = self._routed(r, 2 * r.row, r.prefix)
        if r.engine == REFUSED:
            self._complete(r, math.nan)
        else:
            self._join(self.servers[r.engine], r)

    def _routed(self, r: Request, turn: int, prefix: int) -> int:
        outputs = self.system.rows[r.row].lengths.mean_outputs
        places = self.places[turn]
        to = route(self.router, self.board, places, turn, r.most_blocks, r.inputs, outputs, prefix)
        if to != REFUSED:
            self.board.requests[to] += 1
        return to

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
        if server.members:
            server.end_s = self.now + server.seconds()
            heappush(self.events, (server.end_s, STEP_END, server.number))
            if self.begin_s <= self.now < self.close_s:
                self._measure(server)

    def _measure(self, server: Server) -> None:
        tokens = np.zeros(len(self.system.rows), dtype=np.int64)
        for row, kept in server.cache.prefix_tokens.items():
            tokens[row] += kept
        for r in server.running:
            tokens[r.row] += r.computed + r.step - BLOCK_TOKENS * max(0, r.taken)
        decodes = sum(r.decodes for r in server.members)
        prefill = sum(r.step for r in server.members if not r.decodes)
        add_step(
            self.sums, self.steps, server.number, self.now, server.end_s, decodes, prefill,
            tokens, len(server.running), len(server.waiting), server.cache.hits,
        )  # fmt: skip
        server.cache.hits = 0

    def _end_step(self, server: Server) -> None:
        begin_s = server.composed_s
        measured = self.begin_s <= begin_s < self.close_s
        steady = [0] * len(self.system.rows)  # tokens that came one step after the one before
        for r in server.members:
            r.computed += r.step
            r.step = 0
            server.cache.keep_prefix(r)
            if r.left:
                continue
            prefills = server.engine.role == "prefill"
            if prefills and self.system.first_token == "decode":
                r.computed -= 1  # the other side computes the last token of the prompt again
            else:
                self._make_token(server, r, measured, steady)
            if r.made == r.outputs:
                self._leave(server, r)
                server.cache.release(r)
                self._complete(r, self.now)
            elif prefills:
                self._send(server, r)
        for row, count in enumerate(steady):
            if count:
                add_gap(self.sums, server.number, row, self.now - begin_s, count)
        self._wake(server)

    def _make_token(self, server: Server, r: Request, measured: bool, steady: list[int]) -> None:
        r.made += 1
        if r.made == 1:
            r.first_s = self.now
        else:
            if self.now - r.last_s > r.max_gap_s:
                r.max_gap_s, r.gap_end_s = self.now - r.last_s, self.now
        if measured:
            self.sums.made[server.number, r.row] += 1
            if r.last_s == server.composed_s:
                steady[r.row] += 1
            elif r.made > 1:
                add_gap(self.sums, server.number, r.row, self.now - r.last_s, 1)
        r.last_s = self.now

    def _leave(self, server: Server, r: Request) -> None:
        server.leave(r)
        self.board.requests[server.number] -= 1

    def _send(self, server: Server, r: Request) -> None:
        """Its KV goes to an engine that makes its tokens; until it is there its blocks are held."""
        self._leave(server, r)
        r.kv_bytes, r.set_out_s, r.through_s = r.inputs * server.engine.kv_bytes, self.now, self.now
        turn = 2 * r.row + 1
        for d in self.places[turn][self.places[turn] >= 0].tolist():
            self.board.sent_s[d] = self._away_s(self._path(server, d), r.kv_bytes)
        r.decoder = self._routed(r, turn, -1)
        self.board.coming[r.decoder] += blocks_of(r.inputs)
        r.path = self._path(server, r.decoder)
        self._go_on(r)

    def _path(self, server: Server, decoder: int) -> list[int]:
        return [k for k in self.system.paths[server.number, decoder].tolist() if k >= 0]

    def _away_s(self, path: list[int], size: float) -> float:
        """How long KV would be on its way, as the links stand."""
        links = [self.links[k] for k in path]
        longest_s = max((lane.pending_s(self.now) + size / capacity for lane, capacity in links), default=0.0)
        return longest_s + self.system.network.latency_s if path else 0.0

    def _go_on(self, r: Request) -> None:
        """Its KV joins the next link of its path; with the last one it is known when it is there."""
        if r.path:
            lane, capacity = self.links[r.path.pop(0)]
            begin_s = lane.serve(self.now, r.kv_bytes / capacity)
            r.through_s = max(r.through_s, lane.free_s)
            if r.path:
                heappush(self.events, (begin_s, HOP, r.number))
                return
            r.through_s += self.system.network.latency_s
        r.sent_s = r.through_s - r.set_out_s
        heappush(self.events, (r.through_s, DELIVERY, r.number))

    def _deliver(self, r: Request) -> None:
        """Its prompt is on the side that makes its tokens."""
        prefiller = self.servers[r.engine]
        prefiller.cache.release(r)
        self._wake(prefiller)
        self.board.coming[r.decoder] -= blocks_of(r.inputs)
        self._join(self.servers[r.decoder], r)

    def _complete(self, r: Request, end_s: float) -> None:
        r.end_s = end_s
        if self.left and 0 <= r.rank - self.window.first < self.window.jobs:
            self.left -= 1
        if self.system.rows[r.row].concurrency:
            following = self.next_of_loop[r.row]
            if following < len(self.requests) and self.drawn.row[following] == r.row:
                self.next_of_loop[r.row] += 1
                heappush(self.events, (self.now, ARRIVAL, following))


def simulate_once(system, requests, router, window, readable=False):
    """Simulate by this loop, or by that of the product."""
    run = Loop(system, requests, router, window).run
    return run() if readable else compiled.simulate_once(system, requests, router, window)
