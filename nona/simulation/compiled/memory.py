"""The memory of the engine: records, arrays by name, the heap of events, messages.

A task in the system is a place in ``tasks``: those of one job lie side by side from ``job.base`` on.
−1 stands for none wherever a place is kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Why the loop came back: it is done, or it wants something and then goes on where it was.
DONE, REPORT, DRAIN, JOBS, BACKGROUND, PICK_ROWS, ROOM, DECIDE, BAD_BIND, BAD_PICK = range(10, 20)
# What the loop does first when it is entered again.
NEXT_EVENT, ADMIT, PICK = range(3)

STARTED = -1  # in ``missing``
COMPLETIONS = 20_000  # rows of completed jobs between two hand-overs


def _record(**fields: str) -> np.dtype[Any]:
    """Fields by kind: ``f`` floats, ``i`` whole numbers, ``h`` whole numbers below 2³¹."""
    kinds = {"f": "f8", "i": "i8", "h": "i4"}
    return np.dtype(
        [(name, kinds[kind]) for kind, part in fields.items() for name in part.split()], align=True
    )


#: An executor, its counters as in the readable engine. ``head`` and ``tail`` delimit its queue of
#: tasks. Of its background items ``absorbed`` have arrived, ``served`` have begun, ``ended`` were
#: taken off the load board, and ``dropped`` are not in the arrays any more.
EXECUTOR = _record(
    h="server kind active task head tail",
    i="absorbed served ended dropped",
    f="free_s since_s closed_s work_s next_s",
)
#: A link; ``at`` is the place of its next background item.
LINK = _record(i="at", f="capacity free_s since_s closed_s work_s reserved_s next_s next_work_s")
#: A job in the system. ``wait_head``, ``wait_tail``: its tasks that stand in queues, in order of
#: joining. ``message``: the last of its messages, where tasks are picked; ``draw``: its uniform draw
#: there. ``next``: free list.
JOB = _record(
    h="query left running traced wait_head wait_tail message next",
    i="number base",
    f="arrival_s work_s sent_bytes draw",
)
#: A task in the system. ``plan`` is its place in the plan; ``before`` the number of background items
#: that stand before it in its executor's queue; ``latest_s`` the latest known arrival of an input, and
#: the instant at which it joined the queue, once it has.
TASK = _record(
    h=(
        "slot plan missing latest_number executor unfinished before placed "
        "queue_next queue_previous wait_next wait_previous"
    ),
    f="latest_s draw start_s end_s picked_s",
)
#: A tensor on its way to a server, where the engine has to remember it. ``use`` is its first input,
#: ``stage`` how far it is on its path; ``next`` chains the job's messages, or the free ones.
MESSAGE = _record(
    i="slot output use source destination stage delivered next",
    f="request_s start_s end_s delivered_s",
)
#: An entry of an event list: what is earlier, then what has the lower content key, comes first.
EVENT = _record(f="time_s", i="key item")
#: A job that is complete; the rest are the parts of its completion time.
COMPLETION = _record(i="number", f="completion_s compute_s transfer_s link_wait_s server_wait_s own_wait_s")
TASK_TRACE = _record(i="job query task executor", f="ready_s start_s end_s")
MESSAGE_TRACE = _record(i="job query tensor source destination", f="request_s start_s end_s delivered_s")
#: What a query class is: tasks from ``base`` on, ``tasks`` of them, with ``inputs`` inputs.
QUERY = _record(i="base tasks inputs first_source sources")
#: A task of the plan: half-open ranges in ``outputs``, ``reads`` and ``successors``.
PLAN = _record(i="inputs predecessors output output_end read read_end successor successor_end")
#: A tensor that a task makes: ``use`` … ``use_end`` are the inputs that it is.
OUTPUT = _record(i="tensor use use_end", f="size_bytes work_s")
#: An input: the task (within its query) that reads it, its number among the query's inputs.
USE = _record(i="target number")
#: The same seen from the reading task: which output, which of its uses, made by which task.
READ = _record(i="output use source")

#: Everything there is one of: the run's constants, its counters (as in the readable engine), how far
#: each array is used, and what the loop was doing when it came back.
CLOCK = _record(
    i=(
        "executors links core first jobs last tail_jobs tail_most report_every run_on "
        "board watched picks rounds shared paths compiled network_view has_background mean_ticks "
        "phase answer admitted feed_at feed_jobs pick_at pick_rows next_number next_report "
        "next_mark next_traced "
        "room_jobs room_tasks room_messages room_task_traces room_message_traces room_flows room_line "
        "servers cards uniforms "
        "most_tasks events flows line line_first jobs_used arena messages_used free_message "
        "promised_messages completions "
        "task_traces task_traces_promised message_traces message_traces_promised ready due "
        "open_jobs unmeasured free background_freed saved_open_jobs stamp serial delivered "
        "background"
    ),
    f=(
        "hand_over_s latency_s capacity tail_s now_s horizon_s wanted_s wake_s "
        "area_s area_since_s area_before_s window_area_s last_arrival_s "
        "link_end_s virtual_s link_last_s requested_s reserved_s transfer_s"
    ),
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


def push(heap: Records, size: int, time_s: float, key: int, item: int) -> None:
    """Put an event into a heap of ``size`` entries."""
    i = size
    while i > 0:
        parent = heap[(i - 1) >> 1]
        if parent.time_s < time_s or (parent.time_s == time_s and parent.key < key):
            break
        hole = heap[i]
        hole.time_s = parent.time_s
        hole.key = parent.key
        hole.item = parent.item
        i = (i - 1) >> 1
    hole = heap[i]
    hole.time_s = time_s
    hole.key = key
    hole.item = item


def drop_first(heap: Records, size: int) -> None:
    """Take the first event out of a heap of ``size`` entries."""
    n = size - 1
    last = heap[n]
    time_s = last.time_s
    key = last.key
    item = last.item
    i = 0
    while True:
        k = 2 * i + 1
        if k >= n:
            break
        child = heap[k]
        if k + 1 < n:
            right = heap[k + 1]
            if right.time_s < child.time_s or (right.time_s == child.time_s and right.key < child.key):
                k += 1
                child = right
        if time_s < child.time_s or (time_s == child.time_s and key < child.key):
            break
        hole = heap[i]
        hole.time_s = child.time_s
        hole.key = child.key
        hole.item = child.item
        i = k
    hole = heap[i]
    hole.time_s = time_s
    hole.key = key
    hole.item = item


class Transfer(NamedTuple):
    """Message with ``output`` of the job in ``slot``, for its readers from ``use`` on.

    It goes from server ``source`` to ``destination``, and was asked for at ``request_s``.
    """

    slot: int
    use: int
    output: int
    source: int
    destination: int
    request_s: float


def new_message(s: State, x: Transfer) -> int:
    """A place in ``messages``; where tasks are picked, chained to its job."""
    c = clock_at(s, 0)
    place = c.free_message
    if place >= 0:
        c.free_message = messages_at(s, place).next
    else:
        place = c.messages_used
        c.messages_used += 1
    m = messages_at(s, place)
    m.slot = x.slot
    m.output = x.output
    m.use = x.use
    m.source = x.source
    m.destination = x.destination
    m.stage = 0
    m.delivered = 0
    m.request_s = x.request_s
    m.start_s = x.request_s
    m.delivered_s = math.nan
    m.next = -1
    if c.picks:
        m.next = jobs_at(s, x.slot).message
        jobs_at(s, x.slot).message = place
    return int(place)


def free_message(s: State, place: int) -> None:
    """The message is not needed any more."""
    c = clock_at(s, 0)
    messages_at(s, place).next = c.free_message
    c.free_message = place


def free_messages(s: State, slot: int) -> None:
    """Nor are those of a job."""
    place = jobs_at(s, slot).message
    while place >= 0:
        following = messages_at(s, place).next
        free_message(s, place)
        place = following
    jobs_at(s, slot).message = -1


def find_message(s: State, slot: int, output: int, destination: int) -> int:
    """The message of a job that carries ``output`` to server ``destination``; −1: there is none yet."""
    place = jobs_at(s, slot).message
    while place >= 0:
        m = messages_at(s, place)
        if m.output == output and m.destination == destination:
            return int(place)
        place = m.next
    return -1


def number_of(s: State, place: int) -> int:
    """The number of the message in its job: that of its first reader's input."""
    return int(uses_at(s, messages_at(s, place).use).number)


def transfer_of(s: State, place: int) -> Transfer:
    """Return the contents of the message."""
    m = messages_at(s, place)
    return Transfer(m.slot, m.use, m.output, m.source, m.destination, m.request_s)


def trace_message(s: State, x: Transfer, start_s: float, end_s: float, delivered_s: float) -> None:
    """Record the interval of a message of a job that is traced."""
    c = clock_at(s, 0)
    job = jobs_at(s, x.slot)
    row = message_traces_at(s, c.message_traces)
    c.message_traces += 1
    row.job = job.number
    row.query = job.query
    row.tensor = outputs_at(s, x.output).tensor
    row.source = x.source
    row.destination = x.destination
    row.request_s = x.request_s
    row.start_s = start_s
    row.end_s = end_s
    row.delivered_s = delivered_s
