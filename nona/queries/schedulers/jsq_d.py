"""``jsq-d``: each task to the shortest of d queues drawn at random."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from nona.core.arrays import Ints
from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.queries.placement.result import Placement
from nona.queries.schedulers.base import NetworkView, Scheduler, SchedulerTables, SystemView
from nona.queries.system import System


class QueueDraws(NamedTuple):
    """``tasks`` (Q,): the number of tasks of each query class; ``d``: queues drawn for each."""

    tasks: Ints
    d: int


def decide(now: float, query: int, view: SystemView, tables: QueueDraws, u: Any, out: Any) -> None:
    """Of the executors ⌊u·E⌋ of a task's d draws, that with the fewest tasks, the first of equals.

    The tasks of the job that were bound just before it count as well.
    """
    executors = len(view.executor_server)
    for i in range(tables.tasks[query]):
        best, fewest = -1, -1
        for k in range(i * tables.d, (i + 1) * tables.d):
            e = int(u[k] * executors)
            n = view.queue_length[e]
            for j in range(i):
                if out[j] == e:
                    n += 1
            if best < 0 or n < fewest:
                best, fewest = e, n
        out[i] = best


def _build(system: System, placement: Placement | None, options: Mapping[str, Any]) -> SchedulerTables:
    d = options["d"]
    tasks = np.array([len(q.tasks) for q in system.queries], dtype=np.int64)
    return SchedulerTables(QueueDraws(tasks, d), d * int(tasks.max()))


SCHEDULER = Scheduler(
    name="jsq-d",
    kind="bind",
    family="queueing",
    network_view=NetworkView.N0,
    summary="Sends each task to the shortest of d queues drawn uniformly (option d, 2 by default).",
    source=(
        "Mitzenmacher: The Power of Two Choices in Randomized Load Balancing, IEEE TPDS 2001; Vvedenskaya, "
        "Dobrushin and Karpelevich, Problems of Information Transmission 1996"
    ),
    adaptation=(
        "Jobs there are single tasks; here every task of a job is bound at its arrival, those bound before "
        "it included in the queues. Draws are with replacement; the first of equally short queues is taken. "
        "A queue's length is the number of tasks waiting, running or promised, background included."
    ),
    decide=decide,
    build=_build,
    settings={"d": PolicyOption(2, "queues drawn", least=1, most=64)},
    reads_queues=True,
    takes_lists=True,
    style=ChartStyle("#9c6b2f", "dashdot", "star"),
)
