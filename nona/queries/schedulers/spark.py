"""``spark-fifo`` serves jobs in order of arrival; ``spark-fair`` gives all open jobs equal shares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.core.registry import ChartStyle
from nona.queries.schedulers.base import (
    NetworkView,
    Ready,
    Scheduler,
    SystemView,
    WithoutTables,
    free_executor,
    home_or_free,
)


def decide_fifo(now: float, view: SystemView, ready: Ready, tables: Any, u: Any, out: NDArray[Any]) -> bool:
    """Return the first ready task of the oldest job; where its last predecessor ran, if that is free."""
    if ready.n == 0:
        return False
    return home_or_free(view, ready, int(np.argmin(ready.job)), u[0], out)


def decide_fair(now: float, view: SystemView, ready: Ready, tables: Any, u: Any, out: NDArray[Any]) -> bool:
    """Return a task whose last predecessor freed an executor, there; else the first job below its cap.

    Cap = ⌈E / open jobs⌉ executors per job. Jobs are numbered in order of arrival.
    """
    if ready.n == 0:
        return False
    freed = np.flatnonzero((ready.home >= 0) & (view.queue_length[ready.home] == 0))
    if len(freed) > 0:
        out[0] = freed[0]
        out[1] = ready.home[freed[0]]
        return True
    cap = (len(view.queue_length) + ready.open_jobs - 1) // max(ready.open_jobs, 1)
    below = np.flatnonzero(ready.job_running < cap)
    if len(below) == 0:
        return False
    executor = free_executor(view, u[0])
    if executor < 0:
        return False
    out[0] = below[np.argmin(ready.job[below])]
    out[1] = executor
    return True


FIFO = Scheduler(
    name="spark-fifo",
    kind="pick",
    family="practice",
    network_view=NetworkView.N0,
    summary="Serves jobs in order of arrival, each with as many executors as it can use.",
    source=(
        "SparkAgent of decima-sim, the simulator of Mao et al.: Learning Scheduling Algorithms for Data "
        "Processing Clusters, SIGCOMM 2019; after Spark's FIFO scheduler"
    ),
    adaptation=(
        "No cap per job. A task prefers the executor on which its last predecessor ran; otherwise the "
        "free executor is drawn uniformly. Tasks here are single, not stages of many."
    ),
    decide=decide_fifo,
    build=WithoutTables("spark-fifo"),
    reads_queues=True,
    style=ChartStyle("#2b8fd6", "dash", "triangle-left"),
)

FAIR = Scheduler(
    name="spark-fair",
    kind="pick",
    family="practice",
    network_view=NetworkView.N0,
    summary="Caps each job at ⌈executors / open jobs⌉; a freed executor serves its own job first.",
    source=(
        "DynamicPartitionAgent of decima-sim, the simulator of Mao et al.: Learning Scheduling Algorithms "
        "for Data Processing Clusters, SIGCOMM 2019; after Spark's fair scheduler"
    ),
    adaptation=(
        "A freed executor's own job is recognised by the task whose last predecessor ran there; other "
        "tasks of that job compete under the cap. Tasks here are single, not stages of many; the free "
        "executor for another job is drawn uniformly; moving an executor costs nothing but the transfer."
    ),
    decide=decide_fair,
    build=WithoutTables("spark-fair"),
    reads_queues=True,
    style=ChartStyle("#2b8fd6", "solid", "triangle-down"),
)
