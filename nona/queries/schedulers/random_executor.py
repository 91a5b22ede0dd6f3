"""``random``: each task to an executor drawn uniformly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.core.registry import ChartStyle
from nona.queries.placement.result import Placement
from nona.queries.schedulers.base import NetworkView, Scheduler, SchedulerTables, SystemView
from nona.queries.system import System


class TaskCounts(NamedTuple):
    """``tasks`` (Q,): the number of tasks of each query class."""

    tasks: Ints


def decide(now: float, query: int, view: SystemView, tables: TaskCounts, u: Floats, out: Ints) -> None:
    """out[i] = ⌊u[i]·E⌋."""
    executors = len(view.executor_server)
    for i in range(tables.tasks[query]):
        out[i] = int(u[i] * executors)


def _build(system: System, placement: Placement | None, options: Mapping[str, Any]) -> SchedulerTables:
    tasks = np.array([len(q.tasks) for q in system.queries], dtype=np.int64)
    return SchedulerTables(TaskCounts(tasks), int(tasks.max()))


SCHEDULER = Scheduler(
    name="random",
    kind="bind",
    family="queueing",
    network_view=NetworkView.N0,
    summary="Sends each task to an executor drawn uniformly, whatever its dependencies.",
    source="Common baseline of load balancing",
    adaptation="Two tasks of a job may share an executor by chance, and run one after the other there.",
    decide=decide,
    build=_build,
    takes_lists=True,
    style=ChartStyle("#8390a6", "dash", "hexagon"),
)
