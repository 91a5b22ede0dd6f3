"""The loop of :mod:`nona.language.engine` over arrays, as machine code: the same, bit for bit.

Steps in which all who run make a token each are taken at once until something else happens; −1 stands for
none.
"""

from __future__ import annotations

import math
from typing import Any

from nona.language.engine import ARRIVAL, COMPOSE, DELIVERY, STEP_END
from nona.language.records import BINS_AN_OCTAVE, LEAST_OCTAVE, OCTAVES
from nona.language.routers import route
from nona.language.seats import (
    State,
    admit,
    compute,
    decoding,
    give_back,
    hold,
    keep_prefix,
    leave,
    left_of,
    may_start,
    more_of,
    preempt,
    wait,
)
from nona.language.system import (
    BLOCK_TOKENS,
    FIRST_RATIO,
    LEAST_RATIO,
    MOST_RESERVED,
    RATIO_STEPS,
    RETRACTED_STEPS,
    blocks_of,
    step_seconds,
)
from nona.simulation.compiled.memory import drop_first, push

DONE, REPORT, BACKGROUND = range(3)  # why the loop came back
VLLM, SGLANG, STATIC = range(3)
BOTH, PREFILL, DECODE = range(3)
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
        if c.backgrounds > 0 and s.background_s[c.backgrounds - 1] <= now:
            return BACKGROUND
        c.now_s = now
        kind, number = key >> KIND_BIT, key & ((1 << KIND_BIT) - 1)
        if kind == STEP_END:
            end_step(s, number)
        elif kind == COMPOSE:
            if c.apart and c.next_open < c.opens:  # engines meet at arrivals alone
                other_s = s.requests[c.next_open].arrival_s
            begin_step(s, number, now, other_s)
        elif kind == DELIVERY:
            drop_first(s.events, c.events)
            c.events -= 1
            deliver(s, number)
        else:
            if number < c.opens:
                c.next_open += 1
            else:
                drop_first(s.events, c.events)
                c.events -= 1
            arrive(s, number)
            if c.arrived == c.report_at:
                c.report_at += c.report_every
                return REPORT


def arrive(s: State, r: int) -> None:
    c = s.clock[0]
    s.times.arrival_s[r] = c.now_s
    s.times.rank[r] = c.arrived
    if c.arrived == c.first:
        c.begin_s = c.now_s if c.first else 0.0
    if c.arrived == c.first + c.jobs:
        c.close_s = c.now_s
    c.arrived += 1
    to = routed(s, r, 0)
    s.times.engine[r] = to
    if to < 0:
        complete(s, r, math.nan)
    else:
        stand(s, to, r)


def routed(s: State, r: int, decode: int) -> int:
    q = s.requests[r]
    turn = 2 * q.row + decode
    prefix = q.prefix
    return route(
        s.clock[0].router, s.board, s.places[turn], turn, q.most_blocks, q.inputs, s.outputs[q.row], prefix
    )


def stand(s: State, e: int, r: int) -> None:
    """The request joins the engine's queue, and wakes it."""
    s.requests[r].seen_s = s.clock[0].now_s
    wait(s, e, r, 1)
    wake(s, e)


def wake(s: State, e: int) -> None:
    x = s.engines[e]
    if not x.busy and not x.due:
        x.due = 1
        x.due_s = s.clock[0].now_s


def mix(s: State, e: int) -> None:
    """Decodes and parts of prompts in one step, as vLLM does it."""
    x = s.engines[e]
    budget, place = x.budget, 0
    while place < x.runs and budget > 0:
        r = s.running[e, place]
        q = s.requests[r]
        tokens = min(left_of(q), budget)
        stays = True
        while stays and blocks_of(q.computed + tokens) - q.held > x.spare:
            victim = x.runs - 1
            for k in range(x.runs - 1, place - 1, -1):
                if s.requests[s.running[e, k]].priority > s.requests[s.running[e, victim]].priority:
                    victim = k
            stays = victim != place
            preempt(s, e, victim)
            x.preempted = 1
        if not stays:
            break
        compute(s, e, r, tokens)
        budget -= tokens
        place += 1
    while not x.preempted and budget > 0 and may_start(s, e):
        rest = left_of(s.requests[x.head])
        if not x.chunked and budget < min(rest, x.budget):
            break
        budget -= admit(s, e, min(rest, budget) if x.chunked else rest)


def prompts_first(s: State, e: int) -> None:
    """Prompts in one step, decodes in another, as SGLang does it."""
    x = s.engines[e]
    budget, reserved = x.budget, 0.0
    for k in range(x.runs):
        q = s.requests[s.running[e, k]]
        reserved += x.ratio * min(q.outputs - q.made, MOST_RESERVED)
        if not decoding(q):
            tokens = min(left_of(q), budget, BLOCK_TOKENS * (q.held + x.spare) - q.computed)
            reserved += left_of(q) - tokens
            if tokens > 0:
                compute(s, e, s.running[e, k], tokens)
            budget -= tokens
    while budget > 0 and may_start(s, e):
        q = s.requests[x.head]
        tokens = min(left_of(q), budget) if x.chunked else left_of(q)
        wanted = left_of(q) + min(q.outputs - q.made, MOST_RESERVED)
        if x.runs > 0 and wanted + reserved > BLOCK_TOKENS * x.spare:
            break
        reserved += wanted - tokens
        budget -= admit(s, e, tokens)
    if x.members > 0 or x.runs == 0:
        return
    retract(s, e)
    for k in range(x.runs):
        if decoding(s.requests[s.running[e, k]]):
            compute(s, e, s.running[e, k], 1)
    x.ratio = max(LEAST_RATIO, x.ratio - (FIRST_RATIO - LEAST_RATIO) / RATIO_STEPS)


def retract(s: State, e: int) -> None:
    """Send back who made the fewest tokens, until each of the others can make one."""
    x = s.engines[e]
    retracted = 0
    while True:
        wanted, victim = 0, 0
        for k in range(x.runs):
            q, v = s.requests[s.running[e, k]], s.requests[s.running[e, victim]]
            if decoding(q):
                wanted += blocks_of(q.computed + 1) - q.held
            if q.made < v.made or (q.made == v.made and q.inputs > v.inputs):
                victim = k
        if wanted <= x.spare:
            break
        preempt(s, e, victim)
        retracted += 1
    if retracted and x.runs:
        made, outputs = RETRACTED_STEPS * x.runs, 0
        for k in range(x.runs):
            made += s.requests[s.running[e, k]].made
            outputs += s.requests[s.running[e, k]].outputs
        x.ratio = min(1.0, made / outputs)


def whole_batch(s: State, e: int) -> None:
    """Nobody joins before all of the batch are complete."""
    x = s.engines[e]
    if x.runs == 0:
        while (
            may_start(s, e) and more_of(s, e, s.requests[x.head], s.requests[x.head].most_blocks) <= x.spare
        ):
            r = x.head
            admit(s, e, 0)
            hold(s, e, r, s.requests[r].most_blocks)
    budget = x.budget
    for k in range(x.runs):
        q = s.requests[s.running[e, k]]
        if not decoding(q) and budget > 0:
            tokens = min(left_of(q), budget)
            compute(s, e, s.running[e, k], tokens)
            budget -= tokens
    if x.members == 0:
        for k in range(x.runs):
            compute(s, e, s.running[e, k], 1)


def seconds_of(x: Any, decodes: int, kv: int, prefill: int, attended: float) -> float:
    return step_seconds(
        x.a, x.b, x.g, x.c, x.q, x.e, x.experts, x.active, decodes, kv, prefill, attended
    )  # fmt: skip


def begin_step(s: State, e: int, now: float, until_s: float) -> None:
    """Compose a step; while all who run only decode, take further ones up to ``until_s``."""
    x = s.engines[e]
    x.due, x.members, x.preempted = 0, 0, 0
    x.visible_s = x.composed_s if x.lookahead and x.runs > 0 else now
    x.composed_s = now
    if x.order == VLLM:
        mix(s, e)
    elif x.order == SGLANG:
        prompts_first(s, e)
    else:
        whole_batch(s, e)
    if x.members == 0:
        return
    decodes, kv, prefill, attended = 0, 0, 0, 0.0
    for row in range(s.clock[0].rows):
        s.row_tokens[row] = s.prefix_tokens[e, row]
    steps = NEVER
    steady = x.members == x.runs
    for k in range(x.runs):
        q = s.requests[s.running[e, k]]
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
    if steady and prefill == 0 and steps > 1 and goes_on(s, e):
        now, kv = decode_on(s, e, now, until_s, steps, kv)
    x.composed_s = now
    x.end_s = now + seconds_of(x, decodes, kv, prefill, attended)
    note(s, e, now, x.end_s, decodes, prefill)


def goes_on(s: State, e: int) -> bool:
    """Return whether who waits cannot start before one who runs is complete."""
    x = s.engines[e]
    if x.waits == 0:
        return True
    return bool(x.order != SGLANG and not x.preempted and s.requests[x.head].seen_s <= x.visible_s)


def decode_on(s: State, e: int, now: float, until_s: float, steps: int, kv: int) -> tuple[float, int]:
    """Take steps that end before ``until_s``; return the begin of the next, and the tokens that it reads."""
    c, x = s.clock[0], s.engines[e]
    s.fill[:] = 0
    s.row_decodes[:] = 0
    for k in range(x.runs):
        q = s.requests[s.running[e, k]]
        s.row_decodes[q.row] += 1
        free = q.held * BLOCK_TOKENS - q.computed - 1  # tokens that fit once this step is over
        if free < BLOCK_TOKENS:
            s.fill[free] += 1
    spare, taken = x.spare, 0
    begin_s = now
    while taken + 1 < steps:
        end_s = begin_s + seconds_of(x, x.runs, kv, 0, 0.0)
        wanted = s.fill[taken % BLOCK_TOKENS] if x.order != STATIC else 0
        if end_s >= until_s or wanted > spare:
            break
        note(s, e, begin_s, end_s, x.runs, 0)
        if c.begin_s <= begin_s and begin_s < c.close_s:
            for row in range(c.rows):
                if s.row_decodes[row] > 0:
                    s.sums.made[e, row] += s.row_decodes[row]
                    gap(s, e, row, end_s - begin_s, s.row_decodes[row])
        for row in range(c.rows):
            s.row_tokens[row] += s.row_decodes[row]
        if x.order == SGLANG:
            x.ratio = max(LEAST_RATIO, x.ratio - (FIRST_RATIO - LEAST_RATIO) / RATIO_STEPS)
        spare -= wanted
        kv += x.runs
        begin_s = end_s
        taken += 1
    if taken:
        for k in range(x.runs):
            r = s.running[e, k]
            q = s.requests[r]
            q.computed += taken
            q.made += taken
            q.last_s = begin_s
            blocks = blocks_of(q.computed + 1)
            if blocks > q.held:
                hold(s, e, r, blocks)
    return begin_s, kv


def note(s: State, e: int, begin_s: float, end_s: float, decodes: int, prefill: int) -> None:
    """Add a step to the sums of the window."""
    c, x = s.clock[0], s.engines[e]
    if not (c.begin_s <= begin_s and begin_s < c.close_s):
        return
    span, total = end_s - begin_s, 0
    for row in range(c.rows):
        tokens = s.row_tokens[row]
        total += tokens
        s.sums.kv_area[e, row] += tokens * span
        s.sums.kv_most[e, row] = max(s.sums.kv_most[e, row], tokens)
    s.sums.kv_peak[e] = max(s.sums.kv_peak[e], total)
    s.sums.steps[e] += 1
    s.sums.decoded[e] += decodes
    s.sums.prefill[e] += prefill
    s.sums.hits[e] += x.hits
    x.hits = 0
    s.sums.busy_s[e] += span
    s.sums.running_area[e] += x.runs * span
    s.sums.waiting_area[e] += x.waits * span
    if s.sums.steps[e] <= c.traced:
        row_of = s.trace[e * c.traced + s.sums.steps[e] - 1]
        row_of[0], row_of[1], row_of[2] = e, begin_s, end_s
        row_of[3], row_of[4], row_of[5] = decodes, prefill, total
        row_of[6], row_of[7] = x.runs, x.waits


def gap(s: State, e: int, row: int, gap_s: float, tokens: int) -> None:
    part, octave = math.frexp(gap_s)
    place = (octave - LEAST_OCTAVE) * BINS_AN_OCTAVE + int((part - 0.5) * 2 * BINS_AN_OCTAVE)
    s.sums.gap_s[e, row] += tokens * gap_s
    s.sums.gaps[e, row, min(max(place, 0), BINS_AN_OCTAVE * OCTAVES - 1)] += tokens


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
        q.computed += q.step
        stepped = q.step > 0
        q.step = 0
        place += 1
        if stepped and q.taken >= 0:
            keep_prefix(s, e, q)
        if not stepped or left_of(q) > 0:
            continue
        if x.role == PREFILL and c.handed_on:
            q.computed -= 1
            place -= 1
            send(s, e, place)
            continue
        q.made += 1
        if q.made == 1:
            s.times.first_s[r] = now
        if measured:
            s.sums.made[e, q.row] += 1
            if q.last_s == begin_s:
                s.row_decodes[q.row] += 1
            elif q.made > 1:
                gap(s, e, q.row, now - q.last_s, 1)
        q.last_s = now
        if q.made == q.outputs:
            place -= 1
            leave(s, e, place)
            give_back(s, e, r)
            complete(s, r, now)
        elif x.role == PREFILL:
            place -= 1
            send(s, e, place)
    for row in range(c.rows):
        if s.row_decodes[row] > 0:
            gap(s, e, row, now - begin_s, s.row_decodes[row])
    wake(s, e)


def send(s: State, e: int, place: int) -> None:
    """Its KV goes over the link; until it is there its blocks are held."""
    c = s.clock[0]
    now, r = c.now_s, s.running[e, place]
    leave(s, e, place)
    while c.backgrounds > 0 and s.background_s[c.background] <= now:
        c.link_free_s = max(c.link_free_s, s.background_s[c.background]) + s.background_work_s[c.background]
        c.background += 1
    c.link_free_s = max(c.link_free_s, now) + s.requests[r].inputs * s.engines[e].kv_bytes / c.capacity
    there_s = c.link_free_s + c.latency_s
    s.times.sent_s[r] = there_s - now
    push(s.events, c.events, there_s, (DELIVERY << KIND_BIT) + r, r)
    c.events += 1


def deliver(s: State, r: int) -> None:
    """Its prompt is on the side that makes its tokens."""
    e = s.times.engine[r]
    give_back(s, e, r)
    wake(s, e)
    to = routed(s, r, 1)
    s.times.decoder[r] = to
    stand(s, to, r)


def complete(s: State, r: int, end_s: float) -> None:
    c = s.clock[0]
    s.times.end_s[r] = end_s
    rank, row = s.times.rank[r] - c.first, s.requests[r].row
    if c.left > 0 and rank >= 0 and rank < c.jobs:
        c.left -= 1
    following = s.next_of_loop[row]
    if following >= 0 and following < c.requests and s.requests[following].row == row:
        s.next_of_loop[row] += 1
        push(s.events, c.events, c.now_s, (ARRIVAL << KIND_BIT) + following, following)
        c.events += 1
