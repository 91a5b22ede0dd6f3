"""The loop of :mod:`nona.language.engine` over arrays, as machine code: the same, bit for bit."""

from __future__ import annotations

import math
from typing import Any

from nona.language.engine import ARRIVAL, COMPOSE, DELIVERY, HOP, STEP_END
from nona.language.machine_server import keep_prefix, leave, left_of, release, wait
from nona.language.machine_state import PREFILL, State
from nona.language.machine_steps import begin_step
from nona.language.records import add_gap
from nona.language.routers import route
from nona.language.system import blocks_of
from nona.simulation.compiled.memory import drop_first, push

DONE, REPORT, BACKGROUND = range(3)  # why the loop came back
KIND_BIT = 40  # an event's key is its kind, then the number of its request or engine
NEVER = 1 << 60


def advance(s: State) -> int:
    """Run until it is done, a report is due, or background is wanted."""
    c = s.clock[0]
    while True:
        now, key, other_s = math.inf, NEVER, math.inf
        for k in range(c.engines + 2):
            at_s, at_key = math.inf, NEVER
            if k == c.engines:
                if c.next_open < c.opens:
                    at_s, at_key = s.requests[c.next_open].arrival_s, (ARRIVAL << KIND_BIT) + c.next_open
            elif k > c.engines:
                if c.events > 0:
                    at_s, at_key = s.events[0].time_s, s.events[0].key
            elif s.engines[k].busy:
                at_s, at_key = s.engines[k].end_s, k
            elif s.engines[k].due:
                at_s, at_key = s.engines[k].due_s, (COMPOSE << KIND_BIT) + k
            if at_s < now or (at_s == now and at_key < key):
                other_s = now
                now, key = at_s, at_key
            elif at_s < other_s:
                other_s = at_s
        if key == NEVER or (c.left == 0 and now > c.now_s):
            return DONE
        if now >= c.drawn_s:
            return BACKGROUND
        c.now_s = now
        kind, number = key >> KIND_BIT, key & ((1 << KIND_BIT) - 1)
        if kind == STEP_END:
            end_step(s, number)
        elif kind == COMPOSE:
            if c.apart and c.next_open < c.opens:  # engines meet at arrivals alone
                other_s = s.requests[c.next_open].arrival_s
            begin_step(s, number, now, other_s)
        elif kind == ARRIVAL and number < c.opens:
            c.next_open += 1
            arrive(s, number)
        else:
            drop_first(s.events, c.events)
            c.events -= 1
            if kind == HOP:
                go_on(s, number)
            elif kind == DELIVERY:
                deliver(s, number)
            else:
                arrive(s, number)
        if kind == ARRIVAL and c.arrived >= c.report_at:
            c.report_at += c.report_every
            return REPORT


def later(s: State, time_s: float, kind: int, r: int) -> None:
    """Something will happen to a request."""
    c = s.clock[0]
    push(s.events, c.events, time_s, (kind << KIND_BIT) + r, r)
    c.events += 1


def arrive(s: State, r: int) -> None:
    c, q = s.clock[0], s.requests[r]
    s.times.arrival_s[r] = c.now_s
    s.times.rank[r] = c.arrived
    if c.arrived == c.first:
        c.begin_s = c.now_s if c.first else 0.0
    if c.arrived == c.first + c.jobs:
        c.close_s = c.now_s
    c.arrived += 1
    to = routed(s, q, 2 * q.row, q.prefix)
    s.times.engine[r] = to
    if to < 0:
        complete(s, r, math.nan)
    else:
        join(s, to, r)


def routed(s: State, q: Any, turn: int, prefix: int) -> int:
    router, outputs = s.clock[0].router, s.outputs[q.row]
    to = route(router, s.board, s.places[turn], turn, q.most_blocks, q.inputs, outputs, prefix)
    if to >= 0:
        s.board.requests[to] += 1
    return to


def join(s: State, e: int, r: int) -> None:
    s.requests[r].seen_s = s.clock[0].now_s
    wait(s, e, r, 1)
    wake(s, e)


def wake(s: State, e: int) -> None:
    """An idle engine composes once all of this instant has happened."""
    x = s.engines[e]
    if not x.busy and not x.due:
        x.due = 1
        x.due_s = s.clock[0].now_s


def end_step(s: State, e: int) -> None:
    """Members whose prompts are computed make a token; some are complete."""
    c, x = s.clock[0], s.engines[e]
    now, begin_s = c.now_s, x.composed_s
    x.busy = 0
    measured = c.begin_s <= begin_s and begin_s < c.close_s
    s.row_decodes[:] = 0
    place = 0
    while place < x.runs:
        r = s.running[e, place]
        q = s.requests[r]
        place += 1
        if q.step == 0:
            continue
        q.computed += q.step
        q.step = 0
        keep_prefix(s, e, q)
        if left_of(q) > 0:
            continue
        if x.role == PREFILL and c.handed_on:
            q.computed -= 1
        else:
            make_token(s, e, r, measured)
        if q.made == q.outputs:
            place -= 1
            go_away(s, e, place)
            release(s, e, q)
            complete(s, r, now)
        elif x.role == PREFILL:
            place -= 1
            send(s, e, place)
    for row in range(c.rows):
        if s.row_decodes[row] > 0:
            add_gap(s.sums, e, row, now - begin_s, s.row_decodes[row])
    wake(s, e)


def make_token(s: State, e: int, r: int, measured: bool) -> None:
    now, begin_s, q = s.clock[0].now_s, s.engines[e].composed_s, s.requests[r]
    q.made += 1
    if q.made == 1:
        s.times.first_s[r] = now
    if measured:
        s.sums.made[e, q.row] += 1
        if q.last_s == begin_s:
            s.row_decodes[q.row] += 1
        elif q.made > 1:
            add_gap(s.sums, e, q.row, now - q.last_s, 1)
    q.last_s = now


def go_away(s: State, e: int, place: int) -> None:
    leave(s, e, place)
    s.board.requests[e] -= 1


def send(s: State, e: int, place: int) -> None:
    """Its KV goes to an engine that makes its tokens; until it is there its blocks are held."""
    c, x, r = s.clock[0], s.engines[e], s.running[e, place]
    q = s.requests[r]
    go_away(s, e, place)
    s.messages[r].set_out_s = s.messages[r].through_s = c.now_s
    turn = 2 * q.row + 1
    for k in range(s.places.shape[1]):
        d = s.places[turn, k]
        if d >= 0:
            s.board.sent_s[d] = away_s(s, e, d, q.inputs * x.kv_bytes)
    d = routed(s, q, turn, -1)
    s.times.decoder[r] = d
    s.board.coming[d] += blocks_of(q.inputs)
    go_on(s, r)


def away_s(s: State, e: int, d: int, size: float) -> float:
    """How long KV would be on its way, as the links stand."""
    now, path = s.clock[0].now_s, s.paths[e, d]
    longest_s, hop = 0.0, 0
    while path[hop] >= 0:
        link = s.links[path[hop]]
        absorb(s, path[hop])
        longest_s = max(longest_s, max(0.0, link.free_s - now) + size / link.capacity)
        hop += 1
    return longest_s + s.clock[0].latency_s if hop else 0.0


def absorb(s: State, k: int) -> None:
    """Add what others have sent over a link by now to its queue."""
    link = s.links[k]
    while s.background_s[k, link.at] <= s.clock[0].now_s:
        join_link(link, s.background_s[k, link.at], s.background_work_s[k, link.at])
        link.at += 1


def join_link(link: Any, at_s: float, work_s: float) -> float:
    """Work joins a link behind all that came before; return when its turn begins."""
    begin_s = max(link.free_s, at_s)
    link.free_s = begin_s + work_s
    return float(begin_s)


def go_on(s: State, r: int) -> None:
    """Its KV joins the next link of its path; with the last one it is known when it is there."""
    c, m, e = s.clock[0], s.messages[r], s.times.engine[r]
    path = s.paths[e, s.times.decoder[r]]
    if path[0] >= 0:
        link = s.links[path[m.hops]]
        absorb(s, path[m.hops])
        begin_s = join_link(link, c.now_s, s.requests[r].inputs * s.engines[e].kv_bytes / link.capacity)
        m.through_s = max(m.through_s, link.free_s)
        m.hops += 1
        if path[m.hops] >= 0:
            later(s, begin_s, HOP, r)
            return
        m.through_s += c.latency_s
    s.times.sent_s[r] = m.through_s - m.set_out_s
    later(s, m.through_s, DELIVERY, r)


def deliver(s: State, r: int) -> None:
    """Its prompt is on the side that makes its tokens."""
    e, d = s.times.engine[r], s.times.decoder[r]
    release(s, e, s.requests[r])
    wake(s, e)
    s.board.coming[d] -= blocks_of(s.requests[r].inputs)
    join(s, d, r)


def complete(s: State, r: int, end_s: float) -> None:
    c = s.clock[0]
    s.times.end_s[r] = end_s
    rank, row = s.times.rank[r] - c.first, s.requests[r].row
    if c.left > 0 and rank >= 0 and rank < c.jobs:
        c.left -= 1
    following = s.next_of_loop[row]
    if following >= 0 and following < c.requests and s.requests[following].row == row:
        s.next_of_loop[row] += 1
        later(s, c.now_s, ARRIVAL, following)
