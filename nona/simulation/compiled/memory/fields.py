"""How compiled code finds the arrays of a run: by name, through one array of addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nona.simulation.compiled.memory.arrays import Arrays, State
from nona.simulation.compiled.memory.layout import (
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


@dataclass(frozen=True, slots=True)
class Row:
    """One record of an array in the state: ``tasks_at(s, place)``; for compiled code as well."""

    field: Field

    def __call__(self, s: State, place: int) -> Any:
        raise TypeError(f"{self.field.name} of a state of addresses is there for compiled code only.")


_INT, _FLOAT = np.dtype(np.int64), np.dtype(np.float64)
clock_of = Field("clock", CLOCK)
executors_of = Field("executors", EXECUTOR)
links_of = Field("links", LINK)
jobs_of = Field("jobs", JOB)
tasks_of = Field("tasks", TASK)
messages_of = Field("messages", MESSAGE)
events_of = Field("events", EVENT)
line_of = Field("line", EVENT)
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
ready_batch_first_of = Field("ready_batch_first", _INT)
ready_batch_size_of = Field("ready_batch_size", _INT)
ready_draw_of = Field("ready_draw", _FLOAT)
ready_base_of = Field("ready_base", _INT)
places_of = Field("places", _INT)
card_bytes_s_of = Field("card_bytes_s", _FLOAT)
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
flow_offered_of = Field("flow_offered", _INT)
flow_completed_of = Field("flow_completed", _INT, 2)
flow_service_s_of = Field("flow_service_s", _FLOAT, 2)
flow_response_s_of = Field("flow_response_s", _FLOAT)
partials_of = Field("partials", _FLOAT)
server_stamp_of = Field("server_stamp", _INT)
clock_at = Row(clock_of)
executors_at = Row(executors_of)
links_at = Row(links_of)
jobs_at = Row(jobs_of)
tasks_at = Row(tasks_of)
messages_at = Row(messages_of)
events_at = Row(events_of)
line_at = Row(line_of)
flows_at = Row(flows_of)
due_at = Row(due_of)
queries_at = Row(queries_of)
plan_at = Row(plan_of)
outputs_at = Row(outputs_of)
uses_at = Row(uses_of)
reads_at = Row(reads_of)
completions_at = Row(completions_of)
task_traces_at = Row(task_traces_of)
message_traces_at = Row(message_traces_of)
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
