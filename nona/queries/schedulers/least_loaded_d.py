"""``least-loaded-d``: the whole query to the best of d executors drawn at random."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from nona.core.arrays import Ints
from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.queries.placement.result import Placement
from nona.queries.schedulers.base import NetworkView, Scheduler, SchedulerTables, SystemView
from nona.queries.schedulers.least_loaded import Works, works_of
from nona.queries.system import System


class DrawnWorks(NamedTuple):
    """The tables of Q query classes.

    ``start`` (Q+1,) delimits in ``executor`` those that can hold the model; ``d`` of them are drawn.
    """

    works: Works
    start: Ints
    executor: Ints
    d: int


def decide(now: float, query: int, view: SystemView, tables: DrawnWorks, u: Any, out: Any) -> None:
    """Choose the executor of least backlog + own work among d drawn of those that can hold the model.

    Ties go to the shortest queue, then to the first drawn.
    """
    first = tables.start[query]
    count = tables.start[query + 1] - first
    base = query * tables.works.classes
    chosen, least, length = -1, math.inf, 0
    for k in range(tables.d):
        e = tables.executor[first + int(u[k] * count)]
        done = view.backlog_s[e] + tables.works.work_s[base + view.executor_class[e]]
        n = view.queue_length[e]
        if chosen < 0 or done < least or (done == least and n < length):
            chosen, least, length = e, done, n
    for i in range(tables.works.tasks[query]):
        out[i] = chosen


def _build(system: System, placement: Placement | None, options: Mapping[str, Any]) -> SchedulerTables:
    d = options["d"]
    works = works_of(system)
    finite = np.isfinite(works.work_s).reshape(len(system.queries), works.classes)
    rows = [np.flatnonzero(may[system.executor_class]) for may in finite]
    start = np.cumsum([0, *(len(row) for row in rows)]).astype(np.int64)
    return SchedulerTables(DrawnWorks(works, start, np.concatenate(rows).astype(np.int64), d), d)


SCHEDULER = Scheduler(
    name="least-loaded-d",
    kind="bind",
    family="queueing",
    network_view=NetworkView.N0,
    summary="Runs all tasks of a job on the least loaded of d executors drawn (option d, 2 by default).",
    source=(
        "Least work left of d drawn servers, usual in load balancers. Hellemans and Van Houdt: On the "
        "Power-of-d-choices with Least Loaded Server Selection, ACM SIGMETRICS 2018 (recollected)"
    ),
    adaptation=(
        "As least-loaded, but only d executors are looked at, drawn uniformly with replacement among those "
        "that can hold the model. Work is modelled seconds, background with its mean, a running task in "
        "full; the job's own time there is added. Ties go to the shortest queue, then to the first drawn."
    ),
    decide=decide,
    build=_build,
    settings={"d": PolicyOption(2, "executors drawn", least=1, most=64)},
    reads_queues=True,
    takes_lists=True,
    style=ChartStyle("#c0267f", "dashdot", "triangle-ne"),
)
