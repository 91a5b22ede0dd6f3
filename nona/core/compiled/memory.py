"""The memory of the engine: records, arrays by name, the heap of events.

A task in the system is a place in ``tasks``: those of one job lie side by side from ``job.base`` on.
−1 stands for none wherever a place is kept.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray

# Why the loop came back: it is done, or it wants something and then goes on where it was.
DONE, REPORT, DRAIN, JOBS, BACKGROUND, PICK_ROWS, ROOM, DECIDE, BAD_BIND, BAD_PICK = range(10, 20)
# What the loop does first when it is entered again.
NEXT_EVENT, ADMIT, PICK = range(3)

STARTED = -1  # in ``missing``
COMPLETIONS = 20_000  # rows of completed jobs between two hand-overs, and those of one batch


def _record(**fields: str) -> np.dtype[Any]:
    """Fields by kind: ``f`` floats, ``i`` whole numbers, ``h`` whole numbers below 2³¹."""
    kinds = {"f": "f8", "i": "i8", "h": "i4"}
    return np.dtype(
        [(name, kinds[kind]) for kind, part in fields.items() for name in part.split()], align=True
    )


#: An executor, its counters as in the readable engine. ``head`` and ``tail`` delimit its queue of
#: tasks. Of its background items ``absorbed`` have arrived, ``served`` have begun, ``ended`` were
#: taken off the load board, and ``dropped`` are not in the arrays any more. Where executors batch, ``head``
#: is the first of the queues with tasks, ``last`` the first member of the batch that ended last, if that may
#: run on, ``steps`` counts the batches, and ``idle_s`` adds up the time between services.
#: With pools a row is an instance too, that of a pool's number the pool, and that of a GPU's number the GPU:
#: ``pool``, ``gpu`` and ``board`` (the executor whose load its tasks count for) of each; ``shared``: others
#: have its pool or GPU; ``pool_next`` and ``gpu_first``, ``gpu_next`` chain instances. Of an instance
#: ``end_s`` and ``key`` are the event that ends its step, of number ``step``; of a pool ``idle`` instances,
#: since ``idle_since_s``; of a GPU ``running`` instances at ``speed``, which have given ``given_s`` up to
#: ``given_at_s``.
EXECUTOR = _record(
    h=(
        "server kind active task head tail last "
        "pool gpu board shared pool_next gpu_first gpu_next idle running"
    ),
    i="absorbed served ended dropped steps step key",
    f="free_s since_s closed_s work_s next_s idle_s end_s idle_since_s speed given_s given_at_s",
)
#: A link; ``at`` is the place of its next background item.
LINK = _record(i="at", f="capacity free_s since_s closed_s work_s reserved_s next_s next_work_s")
#: A job in the system. ``wait_head``, ``wait_tail``: its tasks that stand in queues, in order of
#: joining. ``message``: the last of its messages, where tasks are picked; ``draw``: its uniform draw
#: there. ``next``: free list. ``user``: who sent it in a closed loop, else −1.
JOB = _record(
    h="query left running traced wait_head wait_tail message next user",
    i="number base",
    f="arrival_s sent_bytes draw",
)
#: A task in the system. ``plan`` is its place in the plan; ``before`` the number of background items
#: that stand before it in its executor's queue; ``latest_s`` the latest known arrival of an input, and
#: the instant at which it joined the queue, once it has. Where executors batch, ``order`` numbers the
#: joinings, ``queue_next`` chains the equal tasks of an executor, then the ``members`` of a batch, and
#: ``fill_s`` is for how long the executor stood idle while the task waited (before it starts: as it joined).
TASK = _record(
    h=(
        "slot plan missing latest_number executor unfinished before placed "
        "queue_next queue_previous wait_next wait_previous members"
    ),
    i="order",
    f="latest_s draw start_s end_s picked_s fill_s",
)
#: The tasks of one key that wait at one executor, and of them those in the first and the second batch that
#: formed ahead; ``full`` adds 1 and 2 for one that does not grow. ``limit``: the most members.
QUEUE = _record(h="head tail waiting first second full next previous limit")
#: A tensor on its way to a server, where the engine has to remember it. ``use`` is its first input,
#: ``stage`` how far it is on its path; ``next`` chains the job's messages, or the free ones.
MESSAGE = _record(
    i="slot output use source destination stage next",
    f="request_s start_s end_s delivered_s",
)
#: An entry of an event list: what is earlier, then what has the lower content key, comes first.
EVENT = _record(f="time_s", i="key item")
#: A job that is complete; the rest are the parts of its completion time.
COMPLETION = _record(
    i="number", f="completion_s compute_s transfer_s link_wait_s server_wait_s own_wait_s fill_wait_s"
)
TASK_TRACE = _record(i="job query task executor step members", f="ready_s start_s end_s")
MESSAGE_TRACE = _record(i="job query tensor source destination", f="request_s start_s end_s delivered_s")
#: What a query class is: tasks from ``base`` on, ``tasks`` of them, with ``inputs`` inputs.
#: ``users``: of a closed loop, who pause for ``think_s``.
QUERY = _record(i="base tasks inputs first_source sources users", f="think_s")
#: A task of the plan: half-open ranges in ``outputs``, ``reads`` and ``successors``; equal tasks have one
#: ``key``. Its rule of batches as in :class:`~nona.queries.simulation.batching.StepRule`.
PLAN = _record(
    i="inputs predecessors output output_end read read_end successor successor_end key most ahead largest",
    f="delay_s",
)
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
        "background batching keys joined decider due_executors "
        "pools room_events events_at_once arrived closed"
    ),
    f=(
        "hand_over_s latency_s capacity tail_s now_s horizon_s wanted_s wake_s "
        "area_s area_since_s area_before_s window_area_s last_arrival_s "
        "due_s link_end_s virtual_s link_last_s requested_s reserved_s transfer_s"
    ),
)

Ints = Annotated[NDArray[np.int64], np.dtype(np.int64)]
Floats = Annotated[NDArray[np.float64], np.dtype(np.float64)]
IntTable = Annotated[NDArray[np.int64], np.dtype(np.int64), 2]
FloatTable = Annotated[NDArray[np.float64], np.dtype(np.float64), 2]
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

    clock: Annotated[Records, CLOCK]
    executors: Annotated[Records, EXECUTOR]
    links: Annotated[Records, LINK]
    jobs: Annotated[Records, JOB]
    tasks: Annotated[Records, TASK]
    messages: Annotated[Records, MESSAGE]
    events: Annotated[Records, EVENT]
    line: Annotated[Records, EVENT]  # came in order: a ring of ``clock.line`` from ``clock.line_first`` on
    flows: Annotated[Records, EVENT]
    due: Annotated[Records, EVENT]
    due_transfer_s: Floats
    due_slots: Ints
    free_slots: Ints  # (Q,) first free job of each class
    # constants of the run
    queries: Annotated[Records, QUERY]
    plan: Annotated[Records, PLAN]
    outputs: Annotated[Records, OUTPUT]
    uses: Annotated[Records, USE]
    reads: Annotated[Records, READ]
    sources: Ints
    successors: Ints
    times: FloatTable
    ticks: IntTable
    loads: FloatTable  # (executor classes, tasks of all plans), as ``ticks`` in seconds
    steps: FloatTable  # (executor classes × tasks of all plans, B) by members of a batch
    preferred: IntTable  # (tasks of all plans, B+1), see :class:`~nona.queries.simulation.batching.StepRule`
    queues: Annotated[Records, QUEUE]  # (E × keys)
    due_s: Floats  # (E,) when an executor that batches decides next; ``inf`` but for the ``due_executors``
    due_executors: Ints  # (E,) ``clock.due_executors`` of them, in no order
    joins: IntTable  # (tasks of all plans, E), as the next one of :class:`~nona.queries.pools.Pools`
    speeds: FloatTable  # (I, J)
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
    background_s: FloatTable  # (E, W)
    background_work_s: FloatTable
    background_end_s: FloatTable
    link_background_s: FloatTable  # (L, W)
    link_background_work_s: FloatTable
    feed_s: Floats
    feed_query: Ints
    feed_draws: Ints
    feed_draw: Floats
    feed_uniforms: FloatTable
    pick_uniforms: FloatTable
    users_draw: FloatTable  # (Q × K, tasks) of the next K queries of each class in a closed loop
    users_uniforms: FloatTable  # (Q × K, uniforms of a job)
    users_at: Ints  # (Q,) how many of them were taken
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
    places: Ints  # a number for each of ``tasks``, see :class:`~nona.queries.schedulers.base.Ready`
    card_bytes_s: Floats  # (2S,)
    shown: Floats
    out: Ints
    # what is recorded
    arrived_query: Ints  # ``clock.arrived`` jobs since the last hand-over
    arrived_s: Floats
    completions: Annotated[Records, COMPLETION]
    task_traces: Annotated[Records, TASK_TRACE]
    message_traces: Annotated[Records, MESSAGE_TRACE]
    open_at: Ints
    busy_s: FloatTable  # (2, E) at the window's first and last arrival
    link_busy_s: FloatTable  # (2, L)
    class_completed: Ints
    class_work_s: Floats
    class_bytes: Floats
    batch_sizes: IntTable  # (Q, B+1)
    crossed_bytes: FloatTable  # (Q, L)
    requested_bytes: Floats  # (Q,)
    # what rounds are given, see :class:`~nona.queries.simulation.rounds.FlowTotals`; without rounds they have
    # no rows
    flow_offered: Ints  # (Q,)
    flow_completed: IntTable  # (Q, K)
    flow_service_s: FloatTable  # (Q, K)
    flow_response_s: Floats  # (Q,)
    # scratch
    partials: Floats
    server_stamp: Ints


@dataclass(frozen=True, slots=True)
class Field:
    """Gives one of the arrays in the state: ``tasks_of(s)[place]``; it has no known length.

    Compiled code has an accessor in its place. Called from Python, to look at a run or to go through the
    loop step by step, it reads the same memory.
    """

    name: str
    number: int  # among the arrays
    dtype: np.dtype[Any]
    dimensions: int = 1

    def __call__(self, s: State) -> Any:
        """Return the array at its address in the state."""
        address, columns = s[2 * self.number : 2 * self.number + 2].tolist()
        shape = (_MANY // columns, columns) if self.dimensions == 2 else (_MANY,)
        return _memory_at(address, self.dtype, shape)


@dataclass(frozen=True, slots=True)
class RecordField:
    """Gives one record of an array in the state: ``tasks_at(s, place)``; as :class:`Field`."""

    field: Field

    def __call__(self, s: State, place: int) -> Any:
        """Return one record of the array at its address in the state."""
        dtype = self.field.dtype
        address = int(s[2 * self.field.number]) + int(place) * dtype.itemsize
        return _memory_at(address, dtype, (1,))[0]


_MANY = 1 << 20  # rows that Python is shown; those beyond the array's own are not there


def _memory_at(address: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    memory: Any = (ctypes.c_char * (math.prod(shape) * dtype.itemsize)).from_address(address)
    rows = np.frombuffer(memory, dtype).reshape(shape)
    return _ByName(rows) if dtype.names else rows


class _ByName:
    """Records, or one, with fields as attributes; NumPy's own kind has such as ``base`` already."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Any) -> None:
        object.__setattr__(self, "_rows", rows)

    def __getitem__(self, place: int) -> _ByName:
        return _ByName(self._rows[place])

    def __getattr__(self, name: str) -> Any:
        return self._rows[name].item()

    def __setattr__(self, name: str, value: float) -> None:
        self._rows[name] = value


def _fields() -> Iterator[Field]:
    hints = get_type_hints(Arrays, include_extras=True)
    for number, name in enumerate(Arrays._fields):
        yield Field(name, number, *hints[name].__metadata__)


FIELDS = {field.name: field for field in _fields()}


def __getattr__(name: str) -> Any:
    """``<array>_of`` and ``<array>_at`` for each of the arrays."""
    array, _, way = name.rpartition("_")
    if array not in FIELDS or way not in ("of", "at"):
        raise AttributeError(f"{__name__} has no {name}; name one of the arrays, with _of or _at.")
    return FIELDS[array] if way == "of" else RecordField(FIELDS[array])


def blank_arrays() -> Arrays:
    """Arrays of the right types without rows."""
    fields = (FIELDS[name] for name in Arrays._fields)
    return Arrays(*(np.zeros((0,) * f.dimensions, dtype=f.dtype) for f in fields))


def addresses(arrays: Arrays) -> State:
    """Return the state that compiled code takes. The arrays must be kept while it is used."""
    state = np.zeros(2 * len(FIELDS), dtype=np.int64)
    note_addresses(state, arrays._asdict())
    return state


def note_addresses(state: State, changed: Mapping[str, Any]) -> None:
    """Write where these arrays lie."""
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
