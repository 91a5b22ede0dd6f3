"""The arrays of a run, by name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Records = NDArray[Any]

#: What the loop's functions take: where each of the arrays lies and how long its rows are, two
#: numbers each. So a call passes one pointer, not dozens of arrays, and compiles in seconds, not minutes.
State = Ints


class Arrays(NamedTuple):
    """One run: E executors, L links, S servers, Q query classes, W background items drawn ahead.

    ``clock`` has one row. ``times`` and ``ticks`` are (executor classes, tasks of all plans).
    ``queue_length``, ``backlog_s``, ``ticks_ahead`` and ``next_change_s`` (E,) are the load board.
    ``feed_*`` are the next jobs; ``feed_draws`` says where a job's draws begin in ``feed_draw``, −1
    for none. ``due`` is a heap of deliveries, with the seconds they took in ``due_transfer_s``.
    ``shown`` is what the view shows of the network: capacity, latency, past transfer, promised seconds,
    bytes queued.
    """

    clock: Records
    executors: Records
    links: Records
    jobs: Records
    tasks: Records
    messages: Records
    events: Records
    line: Records  # events that came in their order: a ring of ``clock.line`` from ``clock.line_first`` on
    flows: Records
    due: Records
    due_transfer_s: Floats
    due_slots: Ints
    free_slots: Ints  # (Q,) first free job of each class
    # constants of the run
    queries: Records
    plan: Records
    outputs: Records
    uses: Records
    reads: Records
    sources: Ints
    successors: Ints
    times: Floats
    ticks: Ints
    executor_server: Ints
    executor_class: Ints
    out_link: Ints  # (S,), as the next four
    up_link: Ints
    down_link: Ints
    in_link: Ints
    rack: Ints
    marks: Ints
    traced: Ints
    tables_i: Ints
    tables_f: Floats
    # what Python refills
    background_s: Floats  # (E, W)
    background_work_s: Floats
    background_end_s: Floats
    link_background_s: Floats  # (L, W)
    link_background_work_s: Floats
    feed_s: Floats
    feed_query: Ints
    feed_draws: Ints
    feed_draw: Floats
    feed_uniforms: Floats
    pick_uniforms: Floats
    # the load board, the list of ready tasks, and what goes to and from a decision
    queue_length: Ints
    backlog_s: Floats
    ticks_ahead: Ints
    next_change_s: Floats
    ready_job: Ints
    ready_query: Ints
    ready_task: Ints
    ready_running: Ints
    ready_home: Ints
    ready_slot: Ints
    ready_since_s: Floats
    ready_batch_first: Ints
    ready_batch_size: Ints
    ready_draw: Floats
    ready_base: Ints
    places: Ints  # a number for each of ``tasks``, see :class:`~nona.schedulers.base.Ready`
    card_bytes_s: Floats  # (2S,)
    shown: Floats
    out: Ints
    # what is recorded
    completions: Records
    task_traces: Records
    message_traces: Records
    open_at: Ints
    busy_s: Floats  # (2, E) at the window's first and last arrival
    link_busy_s: Floats  # (2, L)
    class_completed: Ints
    class_work_s: Floats
    class_bytes: Floats
    crossed_bytes: Floats  # (Q, L)
    requested_bytes: Floats  # (Q,)
    # what rounds are given, see :class:`~nona.simulation.rounds.FlowTotals`; without rounds they have no rows
    flow_offered: Ints  # (Q,)
    flow_completed: Ints  # (Q, K)
    flow_service_s: Floats  # (Q, K)
    flow_response_s: Floats  # (Q,)
    # scratch
    partials: Floats
    server_stamp: Ints
