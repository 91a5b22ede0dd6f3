"""The arrays of a run, and how compiled code finds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.simulation.compiled.layout import (
    CLOCK,
    COMPLETION,
    EVENT,
    EXECUTOR,
    JOB,
    LINK,
    MESSAGE,
    MESSAGE_TRACE,
    OUTPUT,
    PLAN,
    QUERY,
    READ,
    TASK,
    TASK_TRACE,
    USE,
)

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
    # scratch
    partials: Floats
    server_stamp: Ints


@dataclass(frozen=True, slots=True)
class Field:
    """Reads one of the arrays out of the state: ``tasks_of(s)[place]``.

    Compiled code has an accessor in its place; it cannot be called from Python. The array that it
    gives has no known length: ``len`` of it means nothing.
    """

    name: str
    dtype: np.dtype[Any]
    dimensions: int = 1

    def __call__(self, s: State) -> Any:
        raise TypeError(f"{self.name} of a state of addresses is there for compiled code only.")

    @property
    def number(self) -> int:
        """Its place among the arrays."""
        return Arrays._fields.index(self.name)


_INT, _FLOAT = np.dtype(np.int64), np.dtype(np.float64)
clock_of = Field("clock", CLOCK)
executors_of = Field("executors", EXECUTOR)
links_of = Field("links", LINK)
jobs_of = Field("jobs", JOB)
tasks_of = Field("tasks", TASK)
messages_of = Field("messages", MESSAGE)
events_of = Field("events", EVENT)
flows_of = Field("flows", EVENT)
due_of = Field("due", EVENT)
due_transfer_s_of = Field("due_transfer_s", _FLOAT)
due_slots_of = Field("due_slots", _INT)
free_slots_of = Field("free_slots", _INT)
queries_of = Field("queries", QUERY)
plan_of = Field("plan", PLAN)
outputs_of = Field("outputs", OUTPUT)
uses_of = Field("uses", USE)
reads_of = Field("reads", READ)
sources_of = Field("sources", _INT)
successors_of = Field("successors", _INT)
times_of = Field("times", _FLOAT, 2)
ticks_of = Field("ticks", _INT, 2)
executor_server_of = Field("executor_server", _INT)
executor_class_of = Field("executor_class", _INT)
out_link_of = Field("out_link", _INT)
up_link_of = Field("up_link", _INT)
down_link_of = Field("down_link", _INT)
in_link_of = Field("in_link", _INT)
rack_of = Field("rack", _INT)
marks_of = Field("marks", _INT)
traced_of = Field("traced", _INT)
tables_i_of = Field("tables_i", _INT)
tables_f_of = Field("tables_f", _FLOAT)
background_s_of = Field("background_s", _FLOAT, 2)
background_work_s_of = Field("background_work_s", _FLOAT, 2)
background_end_s_of = Field("background_end_s", _FLOAT, 2)
link_background_s_of = Field("link_background_s", _FLOAT, 2)
link_background_work_s_of = Field("link_background_work_s", _FLOAT, 2)
feed_s_of = Field("feed_s", _FLOAT)
feed_query_of = Field("feed_query", _INT)
feed_draws_of = Field("feed_draws", _INT)
feed_draw_of = Field("feed_draw", _FLOAT)
feed_uniforms_of = Field("feed_uniforms", _FLOAT, 2)
pick_uniforms_of = Field("pick_uniforms", _FLOAT, 2)
queue_length_of = Field("queue_length", _INT)
backlog_s_of = Field("backlog_s", _FLOAT)
ticks_ahead_of = Field("ticks_ahead", _INT)
next_change_s_of = Field("next_change_s", _FLOAT)
ready_job_of = Field("ready_job", _INT)
ready_query_of = Field("ready_query", _INT)
ready_task_of = Field("ready_task", _INT)
ready_running_of = Field("ready_running", _INT)
ready_home_of = Field("ready_home", _INT)
ready_slot_of = Field("ready_slot", _INT)
ready_since_s_of = Field("ready_since_s", _FLOAT)
shown_of = Field("shown", _FLOAT)
out_of = Field("out", _INT)
completions_of = Field("completions", COMPLETION)
task_traces_of = Field("task_traces", TASK_TRACE)
message_traces_of = Field("message_traces", MESSAGE_TRACE)
open_at_of = Field("open_at", _INT)
busy_s_of = Field("busy_s", _FLOAT, 2)
link_busy_s_of = Field("link_busy_s", _FLOAT, 2)
class_completed_of = Field("class_completed", _INT)
class_work_s_of = Field("class_work_s", _FLOAT)
class_bytes_of = Field("class_bytes", _FLOAT)
crossed_bytes_of = Field("crossed_bytes", _FLOAT, 2)
requested_bytes_of = Field("requested_bytes", _FLOAT)
partials_of = Field("partials", _FLOAT)
server_stamp_of = Field("server_stamp", _INT)
FIELDS = {field.name: field for field in globals().copy().values() if isinstance(field, Field)}


def blank_arrays() -> Arrays:
    """Arrays of the right types without rows."""
    fields = (FIELDS[name] for name in Arrays._fields)
    return Arrays(*(np.zeros((0,) * f.dimensions, dtype=f.dtype) for f in fields))


def addresses(arrays: Arrays) -> State:
    """The state that compiled code takes. The arrays must be kept while it is used."""
    state = np.zeros(2 * len(FIELDS), dtype=np.int64)
    note_addresses(state, arrays._asdict())
    return state


def note_addresses(state: State, changed: Mapping[str, Any]) -> None:
    """Write where these arrays lie.

    Raises
    ------
    TypeError
        For an array of another type, or one that does not lie in one piece.
    """
    for name, array in changed.items():
        field = FIELDS[name]
        if array.dtype != field.dtype or array.ndim != field.dimensions or not array.flags.c_contiguous:
            raise TypeError(
                f"{name}: {array.dtype} of shape {array.shape} must be {field.dtype}, in one piece."
            )
        at = 2 * field.number
        state[at : at + 2] = array.ctypes.data, array.shape[-1]
