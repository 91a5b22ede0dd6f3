"""What a run leaves behind: per-job times, loads, checks, and the intervals of a few jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

State = Literal["stable", "overloaded"]


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
    query, arrival_s, completion_s : (M,)
        Of the measured jobs in order of arrival; ``completion_s`` is ``nan`` where unfinished.
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
        ``overloaded`` when no steady state exists, and why; the reason is empty when stable.
    checks
        What the run tested on itself.
    timeline
        Intervals of the first measured jobs, when asked for.
    seconds
        Wall-clock time of the run; the only field that differs between two equal runs.
    """

    scheduler: str
    replication: int
    engine: str
    query: NDArray[np.int64]
    arrival_s: NDArray[np.float64]
    completion_s: NDArray[np.float64]
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

    @property
    def completion_time_s(self) -> NDArray[np.float64]:
        """(M,) Job completion times: completion − arrival, ``nan`` where unfinished."""
        return self.completion_s - self.arrival_s


@dataclass(frozen=True, eq=False)
class RawRun:
    """What an engine hands over; everything in :class:`Records` is computed from it.

    ``arrival_s``, ``completion_s`` and ``query`` cover all jobs of the run. ``*_busy_s`` is the
    length of the busy periods, ``*_work_s`` the sum of the services done, both up to ``end_s``:
    two independent sums. ``jobs_area_s`` is ∫N dt over the window, N the jobs in the system.
    ``class_*`` are sums over the completed jobs of each query class: their number, modelled
    compute seconds on the executors they used, and message bytes. ``link_*`` are (L,).
    ``crossed_bytes`` (classes, L + 1): message bytes requested by all jobs of a class that cross each
    link, and in the last column all of them; ``None`` where all cross the one link.
    """

    first_measured: int
    query: NDArray[np.int64]
    arrival_s: NDArray[np.float64]
    completion_s: NDArray[np.float64]
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
    completed: int
    crossed_bytes: NDArray[np.float64] | None = None
