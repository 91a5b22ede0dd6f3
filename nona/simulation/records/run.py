"""What a run leaves behind: per-job times, loads, checks, and the intervals of a few jobs."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nona.simulation.records.collected import Collected
from nona.simulation.records.tally import Tally

State = Literal["stable", "backlogged", "overloaded"]
Decisions = Literal["machine code", "python"]  # what the decision function ran as


@dataclass(frozen=True, slots=True)
class Check:
    """One property that the run tested on itself; ``detail`` is one line for people."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class TaskInterval:
    """One run of a task. ``ready_s``: last input arrived, the task joined the executor's queue."""

    job: int
    query: int
    task: int
    executor: int
    ready_s: float
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class MessageInterval:
    """One message: a tensor to a server. Requested, in service from start to end, then latency."""

    job: int
    query: int
    tensor: int
    source: int
    destination: int
    request_s: float
    start_s: float
    end_s: float
    delivered_s: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """Task and message intervals of the first measured jobs, in order of (job, start)."""

    tasks: tuple[TaskInterval, ...]
    messages: tuple[MessageInterval, ...]


@dataclass(frozen=True, eq=False)
class Records:
    """One run of one scheduler in one replication.

    Attributes
    ----------
    scheduler, replication, engine
        Which run this is.
    jobs, every
        Measured jobs; every how manyth is recorded one by one (1: all of them).
    query, arrival_s, completion_s : (M,)
        Of the recorded jobs in order of arrival; ``completion_s`` is ``nan`` where unfinished.
    parts_s : (M, 5)
        What their completion times consist of, in the order of
        :data:`~nona.simulation.records.tally.PARTS`; ``nan`` where unfinished.
    tally
        Sums over all measured jobs, recorded or not.
    arrived, completed, in_flight
        Query jobs of the whole run, warm-up and tail included.
    window_s
        Arrival of the first and of the last measured job.
    executor_busy_s : (E,), link_busy_s : (L,)
        Busy seconds within the window, background included.
    link_names : L names
        ``("link",)`` where there is one link.
    utilization_compute, utilization_network
        The same per second: per executor, and of the busiest link; ``nan`` for a window of no length.
    state, state_reason
        ``overloaded`` when no steady state exists, ``backlogged`` when the window ended in a
        backlog, and why; the reason is empty when stable.
    checks
        What the run tested on itself.
    timeline
        Intervals of the first measured jobs, when asked for.
    seconds
        Wall-clock time of the run; it, ``engine`` and ``decisions`` may differ between two equal runs.
    offered
        Load offered to the executors and to the most loaded link, over what they can serve.
    mean_open
        Mean number of jobs in the system over the window: ∫N dt / its length.
    """

    scheduler: str
    replication: int
    engine: str
    decisions: Decisions
    jobs: int
    every: int
    query: NDArray[np.int64]
    arrival_s: NDArray[np.float64]
    completion_s: NDArray[np.float64]
    parts_s: NDArray[np.float64]
    tally: Tally
    arrived: int
    completed: int
    in_flight: int
    window_s: tuple[float, float]
    executor_busy_s: NDArray[np.float64]
    link_busy_s: NDArray[np.float64]
    link_names: tuple[str, ...]
    utilization_compute: float
    utilization_network: float
    state: State
    state_reason: str
    checks: tuple[Check, ...]
    timeline: Timeline | None
    seconds: float
    offered: tuple[float, float] = (math.nan, math.nan)
    mean_open: float = math.nan

    @property
    def completion_time_s(self) -> NDArray[np.float64]:
        """(M,) Job completion times: completion − arrival, ``nan`` where unfinished."""
        return self.completion_s - self.arrival_s

    def digest(self) -> str:
        """SHA-256 in hexadecimal of all but who ran it and how long it took, numbers by their bytes."""
        hashed = hashlib.sha256()
        for f in fields(self):
            if f.name not in ("engine", "decisions", "seconds"):
                for piece in pieces(getattr(self, f.name)):
                    hashed.update(len(piece).to_bytes(8, "little") + piece)
        return hashed.hexdigest()


def pieces(value: Any) -> Iterator[bytes]:
    """The content of a record or of one of its fields, as bytes: equal if and only if it is equal."""
    if isinstance(value, np.ndarray):
        yield f"{value.dtype.str} {value.shape}".encode()
        yield value.tobytes()
    elif isinstance(value, tuple):
        yield str(len(value)).encode()
        for item in value:
            yield from pieces(item)
    elif is_dataclass(value):
        for f in fields(value):
            yield from pieces(getattr(value, f.name))
    else:
        plain = value.item() if isinstance(value, np.generic) else value
        yield (plain.hex() if isinstance(plain, float) else repr(plain)).encode()


@dataclass(frozen=True, eq=False)
class RawRun:
    """What an engine hands over; everything in :class:`Records` is computed from it.

    ``collected`` holds the jobs. ``open_at`` (21,) counts the jobs in the system just before the
    arrivals of :meth:`~nona.simulation.sizes.RunSize.marks`. ``*_busy_s`` is the length of the busy
    periods, ``*_work_s`` the sum of the services done, both up to ``end_s``: two independent sums.
    ``jobs_area_s`` is ∫N dt over the window, N the jobs in the system. ``class_*`` are sums over the
    completed jobs of each query class: their number, modelled compute seconds on the executors they
    used, and message bytes. ``link_*`` are (L,). ``crossed_bytes`` (classes, L + 1): message bytes
    requested by all jobs of a class that cross each link, and in the last column all of them;
    ``None`` where all cross the one link.
    """

    collected: Collected
    open_at: NDArray[np.int64]
    end_s: float
    executor_busy_window_s: NDArray[np.float64]
    link_busy_window_s: NDArray[np.float64]
    executor_busy_s: NDArray[np.float64]
    executor_work_s: NDArray[np.float64]
    link_busy_s: NDArray[np.float64]
    link_work_s: NDArray[np.float64]
    jobs_area_s: float
    class_completed: NDArray[np.int64]
    class_work_s: NDArray[np.float64]
    class_bytes: NDArray[np.float64]
    traced_tasks: tuple[TaskInterval, ...]
    traced_messages: tuple[MessageInterval, ...]
    crossed_bytes: NDArray[np.float64] | None = None
    decisions: Decisions = "python"
