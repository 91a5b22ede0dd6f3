"""The loop: events happen and queues are examined, instant by instant; its machine code."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from nona.core.compiled.build import compile_function
from nona.serverless.engine.batches import absorb, end_batch, hop
from nona.serverless.engine.containers import containers_due
from nona.serverless.engine.control import (
    decided,
    examine,
    has_joined,
    make_others_pending,
    make_pending,
    next_queue,
)
from nona.serverless.engine.gpus import account_resources, enter_gpu
from nona.serverless.engine.instances import becomes_idle, examine_standing, scale_all
from nona.serverless.engine.layout import (
    APPLICATION_BIT,
    ARRIVAL,
    CONTAINERS,
    DECISION,
    DONE,
    END,
    GPU_PHASE,
    HOP,
    KIND_BIT,
    MOST_APPLICATIONS,
    MOST_STAGES,
    PROGRESS,
    READY,
    ROOM,
    SCALE,
    SNAPSHOTS,
    STAGE_BIT,
    PlatformState,
    key_of,
)
from nona.serverless.engine.queues import account_queue, drop_first, join, push

PolicyCall = Callable[..., int]


def advance(s: PlatformState, answer: PolicyCall, ask: PolicyCall) -> int:
    """Run until it is done, is halted, or needs room; return which.

    ``answer(queue, length, carried, forced, slack, waited, rate)`` gives a row, ``ask`` anything else.
    """
    c = s.clock[0]
    while c.halted == 0:
        if c.grow:
            return ROOM
        if c.happening and c.coming > 0 and s.event_s[0] == c.now_s:
            _happen(s, ask)
            continue
        c.happening = 0
        if c.pending > 0 and not (c.blocking and c.searches > 0 and not c.stands):
            queue = next_queue(s)
            if c.stands:
                examine_standing(s, queue, ask)
            else:
                examine(s, queue, answer, ask)
        elif c.coming == 0 or c.open_measured == 0:
            break
        elif s.event_s[0] > c.stop_s:
            c.now_s = c.stop_s
            break
        else:
            c.now_s, c.happening = s.event_s[0], 1
            if c.now_s > c.next_snapshot_s:
                ask(SNAPSHOTS, 0, 0, 0)
    for queue in range(c.queues):
        account_queue(s, queue)
    account_resources(s)
    for link in range(c.links):
        absorb(s, link, ask)
    return int(c.halted) if c.halted else DONE


def _happen(s: PlatformState, ask: PolicyCall) -> None:
    key = s.event_key[0]
    drop_first(s)
    kind, number = key >> KIND_BIT, key & ((1 << STAGE_BIT) - 1)
    application, stage = (key >> APPLICATION_BIT) % MOST_APPLICATIONS, (key >> STAGE_BIT) % MOST_STAGES
    if kind == END:
        if end_batch(s, number, ask):
            _end_batch_jobs(s, number, ask)
    elif kind == ARRIVAL:
        _arrive(s, number, ask)
    elif kind == GPU_PHASE:
        enter_gpu(s, number)
    elif kind == CONTAINERS:
        if containers_due(s, application, stage):
            make_others_pending(s)
    elif kind == DECISION:
        decided(s, s.queue_at[application, stage], ask)
    elif kind == HOP:
        hop(s, number, ask)
    elif kind == READY:
        becomes_idle(s, number, ask)
    elif kind == SCALE:
        scale_all(s, number, ask)
    else:
        _wait_over(s, s.queue_at[application, stage], number)


def _wait_over(s: PlatformState, queue: int, number: int) -> None:
    """Handle a wait that has run out; it may have ended before."""
    q = s.queues[queue]
    if q.wait == number:
        q.wait = 0
        make_pending(s, queue)


def _arrive(s: PlatformState, call: int, ask: PolicyCall) -> None:
    c, application = s.clock[0], s.application[call]
    c.arrived = call + 1
    for at in range(s.entries[application], s.entries[application + 1]):
        join(s, s.entry[at], call)
        has_joined(s, s.entry[at])
    if call + 1 < c.calls:
        push(s, s.arrival_s[call + 1], key_of(ARRIVAL, s.application[call + 1], 0, call + 1))
    if c.report_every > 0 and (call + 1) % c.report_every == 0:
        ask(PROGRESS, 0, 0, 0)


def _end_batch_jobs(s: PlatformState, number: int, ask: PolicyCall) -> None:
    """End a batch: its jobs go on to their next stages; a call without a next stage is complete."""
    c, batch = s.clock[0], s.batches[number]
    q, place = s.queues[batch.queue], batch.place
    for _ in range(batch.jobs):
        call = place // c.width
        s.left[call] -= 1
        if s.left[call] == 0:
            _complete(s, call)
        for at in range(q.after, q.after + q.afters if math.isnan(s.dropped_s[call]) else q.after):
            queue = s.after[at]
            later = call * c.width + s.queues[queue].stage
            s.waiting[later] -= 1
            if s.waiting[later] == 0:
                join(s, queue, call)
                has_joined(s, queue)
        place = s.next[place]
    if batch.instance >= 0:
        becomes_idle(s, batch.instance, ask)
    else:
        make_others_pending(s)


def _complete(s: PlatformState, call: int) -> None:
    c = s.clock[0]
    s.completion_s[call] = c.now_s
    c.completed += 1
    if c.now_s - s.arrival_s[call] <= s.queues[s.queue_at[s.application[call], 0]].slo_s:
        c.hits += 1
    if c.first <= call < c.end:
        c.open_measured -= 1


class _Signatures(NamedTuple):
    """Numba's types of the functions that the loop calls: for plans, and for anything else."""

    answer: Any
    queue: Any


@cache
def signatures() -> _Signatures:
    """Make the types of the functions."""
    from numba import float64, int64

    asked = int64(int64, int64, int64, int64, float64, float64, float64)
    return _Signatures(asked, int64(int64, int64, int64, int64))


def loop_for(state: PlatformState) -> Callable[..., int]:
    """Return the compiled loop for a state: all states are of one type. Loaded from disk, or compiled."""
    import numba

    type_of: Callable[[object], Any] = numba.typeof
    return _load_loop(type_of(state))


@cache
def _load_loop(state_type: Any) -> Callable[..., int]:
    from numba import int64
    from numba.core import types

    functions = (types.FunctionType(signature) for signature in signatures())
    compiled: Callable[..., int] = compile_function(advance, int64(state_type, *functions), loop=True)
    return compiled


def callback(function: Callable[..., int], signature: Any) -> Any:
    """Return a Python function as one that machine code can call.

    It must be kept as long as that may happen.
    """
    from numba.core import types

    kinds: dict[Any, Any] = {types.int64: ctypes.c_int64, types.float64: ctypes.c_double}
    answer, *given = (kinds[kind] for kind in (signature.return_type, *signature.args))
    c_function = ctypes.CFUNCTYPE(answer, *given)(function)

    class Callback(types.WrapperAddressProtocol):
        """Wrap the function in a form that Numba accepts."""

        def __wrapper_address__(self) -> int:
            return ctypes.cast(c_function, ctypes.c_void_p).value or 0

        def signature(self) -> Any:
            return signature

    return Callback()
