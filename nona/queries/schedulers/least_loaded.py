"""``least-loaded``: the whole query to the executor that would be done with it first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.core.registry import ChartStyle
from nona.queries.placement.capacity import allowed_classes
from nona.queries.placement.result import Placement
from nona.queries.schedulers.base import NetworkView, Scheduler, SchedulerTables, SystemView
from nona.queries.system import System


class Works(NamedTuple):
    """Q query classes, K executor classes.

    ``tasks`` (Q,): the number of tasks; ``work_s`` (Q·K,): seconds of all tasks of query class q on an
    executor of class k at q·K + k, ``inf`` where the executor cannot hold the model; ``classes``: K.
    """

    tasks: Ints
    work_s: Floats
    classes: int


class ExecutorWorks(NamedTuple):
    """Q query classes, E executors.

    ``tasks`` (Q,): the number of tasks; ``work_s`` (Q·E,): seconds of all tasks of query class q on executor
    e at q·E + e, ``inf`` where the class may not run.
    """

    tasks: Ints
    work_s: Floats


def decide(now: float, query: int, view: SystemView, tables: ExecutorWorks, u: Any, out: Any) -> None:
    """Bind to the executor of least backlog + own work; of equals one with the shortest queue, drawn."""
    base = query * len(view.executor_server)
    least, length, equal = math.inf, 0, 0
    for e in range(len(view.executor_server)):
        done = view.backlog_s[e] + tables.work_s[base + e]
        n = view.queue_length[e]
        if done < least or (done == least and n < length):
            least, length, equal = done, n, 1
        elif done == least and n == length:
            equal += 1
    left = int(u[0] * equal)
    chosen = 0
    for e in range(len(view.executor_server)):
        done = view.backlog_s[e] + tables.work_s[base + e]
        if done == least and view.queue_length[e] == length:
            chosen = e
            left -= 1
            if left < 0:
                break
    for i in range(tables.tasks[query]):
        out[i] = chosen


def works_of(system: System) -> Works:
    """Return the tables of a system.

    Raises ``PlacementError`` when a model fits no executor.
    """
    allowed = allowed_classes(system)
    work_s = np.array([q.load_s.sum(axis=1) for q in system.queries])
    tasks = np.array([len(q.tasks) for q in system.queries], dtype=np.int64)
    return Works(tasks, np.where(allowed, work_s, math.inf).ravel(), work_s.shape[1])


def executor_works(system: System) -> ExecutorWorks:
    """Return the works of a system, executor by executor.

    Raises ``PlacementError`` when a model fits no executor.
    """
    works = works_of(system)
    by_class = works.work_s.reshape(len(system.queries), works.classes)
    return ExecutorWorks(works.tasks, by_class[:, system.executor_class].ravel())


def _build(system: System, placement: Placement | None, options: Mapping[str, Any]) -> SchedulerTables:
    return SchedulerTables(executor_works(system), 1)


SCHEDULER = Scheduler(
    name="least-loaded",
    kind="bind",
    family="practice",
    network_view=NetworkView.N0,
    summary="Runs all tasks of a job on the executor that has the least work waiting or running.",
    source=(
        "Usual in load balancers (least connections, least work); least-work-left in Harchol-Balter: "
        "Performance Modeling and Design of Computer Systems, Cambridge 2013, chapter 24"
    ),
    adaptation=(
        "Work is the modelled seconds that wait, run or are promised. Where executors batch, a query counts "
        "with its share of a full batch. Background counts with its mean, a running task in full. The job's "
        "own time on each executor is added: a slow executor must be emptier. Among equals, one with the "
        "fewest tasks is drawn. Executors that cannot hold the model are left out."
    ),
    decide=decide,
    build=_build,
    reads_queues=True,
    takes_lists=True,
    style=ChartStyle("#c0267f", "longdash", "triangle-right"),
)
