"""The loop of language engines over arrays: one event after the other, one request after the other.

At one instant steps end, then KV joins links, then it arrives, then requests arrive, then engines compose: a
request that arrives at the instant a step ends may join the next. It is compiled; on a state of
``numpy.recarray`` it runs as plain Python too, step by step.
"""

from __future__ import annotations

import math
from typing import Any

from nona.core.compiled.memory import drop_first, push
from nona.language.records import RequestTimes, add_gap, add_step
from nona.language.routers import route
from nona.language.server import (
    compose,
    decoding,
    hold,
    keep_prefix,
    leave,
    left_of,
    release,
    reserve_less,
    runner,
    wait,
)
from nona.language.state import PREFILL, SGLANG, STATIC, EngineState
from nona.language.system import BLOCK_TOKENS, blocks_of, step_seconds

STEP_END, HOP, DELIVERY, ARRIVAL, COMPOSE = range(5)
DONE, REPORT, BACKGROUND = range(3)  # why the loop came back
KIND_BIT = 40  # an event's key is its kind, then the number of its request or engine
NEVER = 1 << 60


def advance(s: EngineState) -> int:
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
                start_next_transfer(s, number)
            elif kind == DELIVERY:
                deliver(s, number)
            else:
                arrive(s, number)
        if kind == ARRIVAL and c.arrived >= c.report_at:
            c.report_at += c.report_every
            return REPORT


def later(s: EngineState, time_s: float, kind: int, r: int) -> None:
    """Schedule an event of ``kind`` for request ``r`` at ``time_s``."""
    c = s.clock[0]
    push(s.events, c.events, time_s, (kind << KIND_BIT) + r, r)
    c.events += 1


def arrive(s: EngineState, r: int) -> None:
    """Record the arrival of request ``r``, and schedule its row's next one."""
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


def routed(s: EngineState, q: Any, turn: int, prefix: int) -> int:
    """Return the engine that the router chooses for request ``q``; −1 where none can hold it."""
    router, outputs = s.clock[0].router, s.outputs[q.row]
    to = route(router, s.router, s.places[turn], turn, q.most_blocks, q.inputs, outputs, prefix)
    if to >= 0:
        s.router.requests[to] += 1
    return to


def join(s: EngineState, e: int, r: int) -> None:
    """Put request ``r`` into the queue of engine ``e``."""
    s.requests[r].seen_s = s.clock[0].now_s
    wait(s, e, r, 1)
    wake(s, e)


def wake(s: EngineState, e: int) -> None:
    """Let an idle engine compose a step after all events of this instant."""
    x = s.engines[e]
    if not x.busy and not x.due:
        x.due = 1
        x.due_s = s.clock[0].now_s


def end_step(s: EngineState, e: int) -> None:
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


def make_token(s: EngineState, e: int, r: int, measured: bool) -> None:
    """Record a token of request ``r`` at the end of a step."""
    now, begin_s, q = s.clock[0].now_s, s.engines[e].composed_s, s.requests[r]
    q.made += 1
    if q.made == 1:
        s.times.first_s[r] = now
    else:
        note_gap(s.times, r, now - q.last_s, now)
    if measured:
        s.sums.made[e, q.row] += 1
        if q.last_s == begin_s:
            s.row_decodes[q.row] += 1
        elif q.made > 1:
            add_gap(s.sums, e, q.row, now - q.last_s, 1)
    q.last_s = now


def note_gap(times: RequestTimes, r: int, gap_s: float, end_s: float) -> None:
    """Keep a gap between two tokens of request ``r`` if it is its longest so far."""
    if gap_s > times.max_gap_s[r]:
        times.max_gap_s[r], times.gap_end_s[r] = gap_s, end_s


def go_away(s: EngineState, e: int, place: int) -> None:
    """Remove the request at ``place`` from engine ``e``."""
    leave(s, e, place)
    s.router.requests[e] -= 1


def send(s: EngineState, e: int, place: int) -> None:
    """Its KV goes to an engine that makes its tokens; until it is there its blocks are held."""
    c, x, r = s.clock[0], s.engines[e], s.running[e, place]
    q = s.requests[r]
    go_away(s, e, place)
    s.messages[r].set_out_s = s.messages[r].through_s = c.now_s
    turn = 2 * q.row + 1
    for k in range(s.places.shape[1]):
        d = s.places[turn, k]
        if d >= 0:
            s.router.sent_s[d] = away_s(s, e, d, q.inputs * x.kv_bytes)
    d = routed(s, q, turn, -1)
    s.times.decoder[r] = d
    s.router.coming[d] += blocks_of(q.inputs)
    start_next_transfer(s, r)


def away_s(s: EngineState, e: int, d: int, size: float) -> float:
    """How long KV would be on its way, as the links stand."""
    now, path = s.clock[0].now_s, s.paths[e, d]
    longest_s, hop = 0.0, 0
    while path[hop] >= 0:
        link = s.links[path[hop]]
        absorb(s, path[hop])
        longest_s = max(longest_s, max(0.0, link.free_s - now) + size / link.capacity)
        hop += 1
    return longest_s + s.clock[0].latency_s if hop else 0.0


def absorb(s: EngineState, k: int) -> None:
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


def start_next_transfer(s: EngineState, r: int) -> None:
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


def deliver(s: EngineState, r: int) -> None:
    """Its prompt is on the side that makes its tokens."""
    e, d = s.times.engine[r], s.times.decoder[r]
    release(s, e, s.requests[r])
    wake(s, e)
    s.router.coming[d] -= blocks_of(s.requests[r].inputs)
    join(s, d, r)


def complete(s: EngineState, r: int, end_s: float) -> None:
    """Record the completion of request ``r``; a closed loop sends its next request."""
    c = s.clock[0]
    s.times.end_s[r] = end_s
    rank, row = s.times.rank[r] - c.first, s.requests[r].row
    if c.left > 0 and rank >= 0 and rank < c.jobs:
        c.left -= 1
    following = s.next_of_loop[row]
    if following >= 0 and following < c.requests and s.requests[following].row == row:
        s.next_of_loop[row] += 1
        later(s, c.now_s, ARRIVAL, following)


MANY = 1 << 60  # steps: more than any request needs


def begin_step(s: EngineState, e: int, now: float, until_s: float) -> None:
    """Compose a step; while all who run only decode, take further ones up to ``until_s``."""
    x = s.engines[e]
    x.due = 0
    compose(s, e, now)
    if x.members == 0:
        return
    decodes, kv, prefill, attended = 0, 0, 0, 0.0
    for row in range(s.clock[0].rows):
        s.row_tokens[row] = s.prefix_tokens[e, row]
    steps = MANY
    steady = x.members == x.runs
    for k in range(x.runs):
        q = runner(s, e, k)
        s.row_tokens[q.row] += q.computed + q.step - BLOCK_TOKENS * max(0, q.taken)
        if q.step == 0:
            continue
        if decoding(q):
            decodes += 1
            kv += q.computed
            steps = min(steps, q.outputs - q.made)
            steady = steady and q.last_s == now
        else:
            prefill += q.step
            attended += q.step * (q.computed + q.step / 2)
    x.busy = 1
    if steady and prefill == 0 and steps > 1 and _goes_on(s, e):
        now, kv = _decode_on(s, e, now, until_s, steps, kv)
    x.composed_s = now
    x.end_s = now + _seconds_of(x, decodes, kv, prefill, attended)
    _measure(s, e, now, x.end_s, decodes, prefill)


def _seconds_of(x: Any, decodes: int, kv: int, prefill: int, attended: float) -> float:
    return step_seconds(
        x.a, x.b, x.g, x.c, x.q, x.e, x.experts, x.active, decodes, kv, prefill, attended
    )  # fmt: skip


def _goes_on(s: EngineState, e: int) -> bool:
    """Return whether who waits cannot start before one who runs is complete."""
    x = s.engines[e]
    if x.waits == 0:
        return True
    return bool(x.order != SGLANG and not x.preempted and s.requests[x.head].seen_s <= x.visible_s)


def _decode_on(s: EngineState, e: int, now: float, until_s: float, steps: int, kv: int) -> tuple[float, int]:
    """Take steps that end before ``until_s``; return the begin of the next, and the tokens that it reads."""
    c, x = s.clock[0], s.engines[e]
    s.fill[:] = 0
    s.row_decodes[:] = 0
    for k in range(x.runs):
        q = runner(s, e, k)
        s.row_decodes[q.row] += 1
        room = q.held * BLOCK_TOKENS - q.computed - 1  # tokens that fit once this step is over
        if room < BLOCK_TOKENS:
            s.fill[room] += 1
    spare, taken, longest_s, longest_end_s = s.router.free[e], 0, 0.0, 0.0
    begin_s = now
    while taken + 1 < steps:
        end_s = begin_s + _seconds_of(x, x.runs, kv, 0, 0.0)
        wanted = s.fill[taken % BLOCK_TOKENS] if x.order != STATIC else 0
        if end_s >= until_s or wanted > spare:
            break
        if end_s - begin_s > longest_s:
            longest_s, longest_end_s = end_s - begin_s, end_s
        _measure(s, e, begin_s, end_s, x.runs, 0)
        if c.begin_s <= begin_s and begin_s < c.close_s:
            for row in range(c.rows):
                if s.row_decodes[row] > 0:
                    s.sums.made[e, row] += s.row_decodes[row]
                    add_gap(s.sums, e, row, end_s - begin_s, s.row_decodes[row])
        for row in range(c.rows):
            s.row_tokens[row] += s.row_decodes[row]
        if x.order == SGLANG:
            reserve_less(x)
        spare -= wanted
        kv += x.runs
        begin_s = end_s
        taken += 1
    if taken:
        for k in range(x.runs):
            q = runner(s, e, k)
            q.computed += taken
            q.made += taken
            q.last_s = begin_s
            note_gap(s.times, s.running[e, k], longest_s, longest_end_s)
            blocks = blocks_of(q.computed + 1)
            if blocks > q.held:
                hold(s, e, q, blocks)
    return begin_s, kv


def _measure(s: EngineState, e: int, begin_s: float, end_s: float, decodes: int, prefill: int) -> None:
    """Add a step to the sums, if it begins within the window."""
    c, x = s.clock[0], s.engines[e]
    if c.begin_s <= begin_s and begin_s < c.close_s:
        add_step(
            s.sums, s.steps, e, begin_s, end_s, decodes, prefill, s.row_tokens, x.runs, x.waits, x.hits
        )  # fmt: skip
        x.hits = 0
