"""Interface of a scheduler: a decision function over arrays, its tables, its declaration.

A decision function is pure: it reads arrays and writes into ``out``. It uses only what a compiler
for numerical Python understands (arrays, named tuples of arrays, loops, scalars), so that one
function serves every engine. It never draws random numbers: it is handed uniform draws, which
belong to the job and are the same for every scheduler.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.core.arrays import Bools, Floats, Ints
from nona.core.errors import SimulationError
from nona.core.registry import Strategy
from nona.queries.placement.result import Placement
from nona.queries.system import QueryClass, System

Family = Literal["practice", "queueing", "heuristic", "learned", "allocation", "placement", "other"]

#: The families in the order of lists, with the titles shown there; ``other`` is for those that declare none.
FAMILY_TITLES: Mapping[Family, str] = MappingProxyType(
    {
        "placement": "Optimised placement",
        "practice": "In common use",
        "queueing": "Queueing",
        "heuristic": "Heuristics",
        "learned": "Learned",
        "allocation": "Allocation in rounds",
        "other": "Others",
    }
)

Kind = Literal["bind", "pick", "configure", "allocate"]


class NetworkView(IntEnum):
    """The part of the network that a scheduler may see; each level includes those before it."""

    N0 = 0  # nothing
    N1 = 1  # capacity and latency: the cost of a transfer in isolation
    N2 = 2  # its own past transfers
    N3 = 3  # reservations: until when the link is promised
    N4 = 4  # the live link queue


#: What a scheduler of each view may see of the network.
VIEW_MEANINGS: Mapping[NetworkView, str] = MappingProxyType(
    {
        NetworkView.N0: "sees nothing of the network",
        NetworkView.N1: "sees the cost of a transfer in isolation: bytes over capacity, and latency",
        NetworkView.N2: "also sees its own past transfers",
        NetworkView.N3: "also sees reservations: what is promised to other transfers",
        NetworkView.N4: "also sees the live queue of the link",
    }
)

NO_CARDS = np.zeros(0)
MOST_CARD_RATE = 2.0**40  # bytes/s, above every card; sums of thousands of whole numbers below it are exact


def card_rate(size_bytes: float, compute_s: float) -> float:
    """Bytes/s at which a task of ``compute_s`` would read a tensor while it runs: a whole number.

    >>> card_rate(1e6, 0.5), card_rate(1.0, 0.0) == MOST_CARD_RATE
    (2000000.0, True)
    """
    if size_bytes >= MOST_CARD_RATE * compute_s:
        return MOST_CARD_RATE if size_bytes > 0 else 0.0
    return float(math.floor(size_bytes / compute_s + 0.5))


class SystemView(NamedTuple):
    """The state of the cluster at one decision. Fields above the declared level are ``nan``.

    ``queue_length`` (E,) counts the tasks waiting, running or promised at each executor, background included;
    ``backlog_s`` (E,) is the modelled work in them, in seconds. Schedulers that do not declare that they read
    queues find −1 and ``nan`` there. ``card_bytes_s`` (2S,) holds the rates promised at each server's network
    card, in at s and out at S + s: those of :func:`card_rate` of all tensors that tasks read from other
    servers, from when they are picked until they are complete. Where executors batch, a task in ``backlog_s``
    counts with its share of a full batch, s(B)/B: busy time tells nothing of load then.
    """

    executor_server: Ints
    executor_class: Ints
    queue_length: Ints
    backlog_s: Floats
    capacity: float  # N1, bytes/s
    latency_s: float  # N1
    past_transfer_s: float  # N2: mean seconds, request to delivery, of the jobs' transfers so far
    link_promised_s: float  # N3: seconds from now until the link has served what is promised
    link_queue_bytes: float  # N4: bytes waiting or in service at the link, background included
    card_bytes_s: Floats = NO_CARDS  # N3, for ``pick``: see above


class Ready(NamedTuple):
    """The tasks that could start, in the order in which they became ready: arrays of length ``n``.

    ``job`` numbers jobs in order of arrival; ``since_s`` is when the task became ready.
    ``job_running`` counts the executors that the task's job holds now; ``open_jobs`` the jobs in
    the system that are not complete. ``home`` is the executor on which the task's last
    predecessor ran, −1 for a first task. The tasks of a job that one event made ready are a batch:
    ``batch_size`` of them, ``batch_first`` the one that was listed first. ``job_draw`` is a uniform draw
    that belongs to the job, the same for every scheduler. ``places[base + t]`` says of task t of the
    entry's job where it is: −1 before it is picked, the executor while that holds it, and −2 − executor
    once it is complete.
    """

    n: int
    job: Ints
    query: Ints
    task: Ints
    since_s: Floats
    job_running: Ints
    home: Ints
    open_jobs: int
    batch_first: Ints
    batch_size: Ints
    job_draw: Floats
    base: Ints
    places: Ints


class RoundInput(NamedTuple):
    """The input of an ``allocate`` scheduler at a round: Q flows, i.e. query classes, and K executor classes.

    Rounds are ``length_s`` apart; one without queries since the last and in the system is left out.
    ``offered`` (Q,) queries have arrived since the last round, ``completed`` (Q, K) were completed on
    executors of each class, and ``service_s`` (Q, K) is what these ran there, in executor-seconds;
    ``open`` (Q,) are in the system. ``slowdown`` (Q,) is N2: seconds in the system over seconds of
    service of the queries completed since the last round; ``nan`` below that level, and where there was
    no service. ``view`` is what a decision would see now.
    """

    now_s: float
    length_s: float
    offered: Ints
    completed: Ints
    service_s: Floats
    open: Ints
    slowdown: Floats
    view: SystemView


class Allotment(NamedTuple):
    """The decision of a round.

    ``sets`` (Q, E): which executors the queries of each flow may use. ``memory``: handed to the next round. A
    flow without an executor that can hold its model may use all that can.
    """

    sets: Bools
    memory: Any


# allocate(round, memory) -> Allotment; the first round's memory is ``None``. It keeps nothing itself.
Allocate = Callable[[RoundInput, Any], Allotment]


class SchedulerTables(NamedTuple):
    """A scheduler's tables for one system, and how many draws it needs.

    The tables are a named tuple of arrays, numbers and such tuples.

    ``uniforms_per_job`` is per task picked for ``pick``, else per job (the most that any query class
    needs; the k-th draw of a job is the same for every scheduler). With ``hand_over_s``, for ``pick``, a
    task reaches its executor so many seconds after it is picked; its inputs are requested then, and until
    then the executor is promised to it and idle. A scheduler of kind ``allocate`` is asked for sets by
    ``allocate`` every ``round_s`` seconds, first at ``round_s``. Its ``tables`` have the field ``work_s`` of
    :class:`~nona.queries.schedulers.least_loaded.ExecutorWorks`, which the engine rewrites at a round.
    """

    tables: Any
    uniforms_per_job: int
    hand_over_s: float = 0.0
    round_s: float = 0.0
    allocate: Allocate | None = None


# bind(now, query, view, tables, uniforms, out): write the executor of each task into out[:T].
Bind = Callable[[float, int, SystemView, Any, Floats, Ints], None]
# pick(now, view, ready, tables, uniforms, out) -> bool: out[0] = place in ``ready``, out[1] = a free
# executor (queue_length 0); False: leave all as it is. It is called again until it says False.
Pick = Callable[[float, SystemView, Ready, Any, Floats, Ints], bool]


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A way of deciding: by these options, or as the scheduler called ``decided_by`` does with them."""

    options: Mapping[str, object]
    decided_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler(Strategy):
    """A scheduler's declaration.

    ``kind``: ``bind``: all tasks of a job at its arrival; ``pick``: a ready task for a free executor;
        ``allocate``: executors for each query class, round by round, among which its jobs are bound at their
        arrival.
    ``network_view``: the most it sees of the network; the engine hides the rest.
    ``decide``: the decision function, :data:`Bind` or :data:`Pick`; for ``allocate`` a :data:`Bind`.
    ``build``: ``(system, placement, options) -> Prepared``; ``placement`` is ``None`` unless
        ``needs_placement``; ``options`` has the value of every setting.
    ``reads_queues``: True if it reads ``queue_length`` or ``backlog_s`` (``pick`` always does).
    ``rehearsals``: ways of deciding of which simulations take the one that is quickest in short simulations,
        where the scenario's entry does not settle it.
    ``takes_lists``: True if a ``bind`` decision works as well on lists in place of its tables, uniforms and
        ``out``: an engine in plain Python then hands it those, as their elements are read in a third of the
        time. It must neither slice nor compute with whole arrays.
    ``cautions``: ``(system) -> lines`` that people should read beside its results on that system.
    ``family``: the group in which lists show it.
    """

    called: ClassVar[str] = "Scheduler"

    kind: Kind
    network_view: NetworkView
    decide: Bind | Pick
    build: Callable[[System, Placement | None, Mapping[str, Any]], SchedulerTables]
    needs_placement: bool = False
    reads_queues: bool = False
    takes_lists: bool = False
    rehearsals: tuple[Rehearsal, ...] = ()
    cautions: Callable[[System], tuple[str, ...]] | None = None
    family: Family = "other"

    def prepare(
        self, system: System, placement: Placement | None, options: Mapping[str, object]
    ) -> SchedulerTables:
        """Its tables for a system; ``options`` is its own entry in the scenario.

        Raises ``SimulationError`` for a wrong option.
        """
        return self.build(system, placement, self.chosen(options))

    @property
    def picks(self) -> bool:
        """True for a scheduler that picks tasks for free executors; all others decide at a job's arrival."""
        return self.kind == "pick"

    @property
    def sees_loads(self) -> bool:
        """True where decisions look at queue lengths and backlogs, which are kept up to date only then."""
        return self.reads_queues or self.picks


def as_lists(tables: Any) -> Any:
    """Return the same named tuple, and named tuples in it, with lists in place of arrays.

    >>> as_lists(SchedulerTables(np.array([1, 2]), 3))
    SchedulerTables(tables=[1, 2], uniforms_per_job=3, hand_over_s=0.0, round_s=0.0, allocate=None)
    """
    return tables._make(_as_list(f) for f in tables)


def _as_list(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return as_lists(value) if isinstance(value, tuple) else value


def required_placement(scheduler: str, placement: Placement | None) -> Placement:
    """Return the placement, or an error that says that one is needed."""
    if placement is None:
        raise SimulationError(f"Scheduler {scheduler!r}: it samples a placement; solve one first.")
    return placement


PRIME, FACTOR = 2147483647, 48271  # of the "minimal standard" generator


def mixed(draw: float, first: int, salt: int) -> int:
    """Return a number from 0 to 2³¹ − 2 that depends on a uniform draw and two whole numbers.

    It is Lehmer's generator, started from the draw and fed with the others. Its bits are folded in between,
    as a sum alone would move neighbouring numbers by the same small step.

    >>> [mixed(0.5, 3, salt) % 10 for salt in range(8)]
    [5, 3, 0, 9, 8, 0, 4, 7]
    """
    h = _folded((1 + int(draw * (PRIME - 2))) * FACTOR + first + 1)
    h = _folded(h * FACTOR + salt)
    return _folded(h * FACTOR + 11)


def _folded(h: int) -> int:
    """Return a remainder whose high bits change the low ones, and the other way round by a product."""
    h = h % PRIME
    return (h ^ (h >> 15)) * FACTOR % PRIME


@dataclass(frozen=True, slots=True)
class Reads:
    """The tasks of all Q query classes are numbered through: T of them.

    ``first`` (Q+1,) delimits the tasks of each class, ``inputs`` (T+1,) the tensors that a task reads: of
    ``source``, the number of a task of its query, ``size_bytes`` each.
    """

    first: Ints
    inputs: Ints
    source: Ints
    size_bytes: Floats


def reads_of(system: System) -> Reads:
    """Return the tensors that each task reads, by source; a tensor once, however many edges carry it."""
    rows = [sorted(row) for q in system.queries for row in _task_rows(q)]
    flat = [read for row in rows for read in row]
    return Reads(
        first=np.cumsum([0, *(len(q.tasks) for q in system.queries)]).astype(np.int64),
        inputs=np.cumsum([0, *(len(row) for row in rows)]).astype(np.int64),
        source=np.array([source for source, _, _ in flat], dtype=np.int64),
        size_bytes=np.array([size for _, _, size in flat], dtype=float),
    )


def server_of(executor_server: Ints, places: Ints, place: int) -> int:
    """Return the server on which the complete task at a place ran; for the compiled engine too."""
    return executor_server[-2 - places[place]]  # type: ignore[no-any-return]


def _task_rows(query: QueryClass) -> list[set[tuple[int, int, float]]]:
    graph = query.tasks
    rows: list[set[tuple[int, int, float]]] = [set() for _ in range(len(graph))]
    columns = (graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_tensor.tolist())
    for source, target, tensor in zip(*columns, strict=True):
        rows[target].add((source, tensor, float(graph.tensor_bytes[tensor])))
    return rows


class NoTables(NamedTuple):
    """A scheduler decides from what is ready and free alone; the field is not used."""

    unused: int = 0


@dataclass(frozen=True, slots=True)
class WithoutTables:
    """Prepares the scheduler ``name``: no tables; one draw per decision."""

    name: str

    def __call__(
        self, system: System, placement: Placement | None, options: Mapping[str, Any]
    ) -> SchedulerTables:
        """Return no tables, and one draw per decision."""
        return SchedulerTables(NoTables(), 1)


def free_executor(view: SystemView, u: float) -> int:
    """Return an executor with nothing waiting or running, uniformly by the draw ``u``; −1: there is none."""
    free = np.flatnonzero(view.queue_length == 0)
    if len(free) == 0:
        return -1
    return int(free[int(u * len(free))])


def home_or_free(view: SystemView, ready: Ready, best: int, u: float, out: NDArray[Any]) -> bool:
    """Pick the ready task ``best`` where its last predecessor ran, if that executor is free.

    Else as :func:`free_executor` draws. Returns whether there is such an executor.
    """
    executor = ready.home[best]
    if executor < 0 or view.queue_length[executor] != 0:
        executor = free_executor(view, u)
    if executor < 0:
        return False
    out[0] = best
    out[1] = executor
    return True
