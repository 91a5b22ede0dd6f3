"""``spark-fair``: an equal share of the executors for every open job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from nona.placement.placement import Placement
from nona.schedulers.base import NetworkView, Prepared, Ready, Scheduler, View
from nona.schedulers.free import free_executor
from nona.schedulers.opportunistic import NoTables
from nona.schedulers.options import check_options
from nona.system import System


def decide(now: float, view: View, ready: Ready, tables: Any, u: Any, out: NDArray[Any]) -> bool:
    """A task whose last predecessor freed an executor, there; else the first job below its cap.

    Cap = ⌈E / open jobs⌉ executors per job. Jobs are numbered in order of arrival.
    """
    for i in range(ready.n):
        home = ready.home[i]
        if home >= 0 and view.queue_length[home] == 0:
            out[0] = i
            out[1] = home
            return True
    executors = len(view.queue_length)
    cap = (executors + ready.open_jobs - 1) // max(ready.open_jobs, 1)
    best = -1
    for i in range(ready.n):
        if ready.job_running[i] < cap and (best < 0 or ready.job[i] < ready.job[best]):
            best = i
    if best < 0:
        return False
    executor = free_executor(view, u[0])
    if executor < 0:
        return False
    out[0] = best
    out[1] = executor
    return True


def prepare(system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
    """No tables; one draw per decision."""
    check_options("spark-fair", options)
    return Prepared(NoTables(), 1)


SCHEDULER = Scheduler(
    name="spark-fair",
    kind="pick",
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
    decide=decide,
    prepare=prepare,
    reads_queues=True,
)
