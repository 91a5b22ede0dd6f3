"""A step of an engine over arrays: who is in it, how long it takes, what it adds to the sums.

Steps in which all who run make a token each are taken at once until something else happens.
"""

from __future__ import annotations

from typing import Any

from nona.language.machine_server import compose, decoding, hold, reserve_less, runner
from nona.language.machine_state import SGLANG, STATIC, State
from nona.language.records import add_gap, add_step
from nona.language.system import BLOCK_TOKENS, blocks_of, step_seconds

MANY = 1 << 60  # steps: more than any request needs


def begin_step(s: State, e: int, now: float, until_s: float) -> None:
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


def _goes_on(s: State, e: int) -> bool:
    """Return whether who waits cannot start before one who runs is complete."""
    x = s.engines[e]
    if x.waits == 0:
        return True
    return bool(x.order != SGLANG and not x.preempted and s.requests[x.head].seen_s <= x.visible_s)


def _decode_on(s: State, e: int, now: float, until_s: float, steps: int, kv: int) -> tuple[float, int]:
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
    spare, taken = s.board.free[e], 0
    begin_s = now
    while taken + 1 < steps:
        end_s = begin_s + _seconds_of(x, x.runs, kv, 0, 0.0)
        wanted = s.fill[taken % BLOCK_TOKENS] if x.order != STATIC else 0
        if end_s >= until_s or wanted > spare:
            break
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
            blocks = blocks_of(q.computed + 1)
            if blocks > q.held:
                hold(s, e, q, blocks)
    return begin_s, kv


def _measure(s: State, e: int, begin_s: float, end_s: float, decodes: int, prefill: int) -> None:
    """Add a step to the sums, if it begins within the window."""
    c, x = s.clock[0], s.engines[e]
    if c.begin_s <= begin_s and begin_s < c.close_s:
        add_step(
            s.sums, s.steps, e, begin_s, end_s, decodes, prefill, s.row_tokens, x.runs, x.waits, x.hits
        )  # fmt: skip
        x.hits = 0
