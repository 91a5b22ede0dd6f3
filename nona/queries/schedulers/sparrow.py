"""``sparrow``: tasks wait at d executors each, and the first that is free takes one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.queries.placement.result import Placement
from nona.queries.schedulers.base import NetworkView, Ready, Scheduler, SchedulerTables, SystemView, mixed
from nona.queries.system import System

LONGEST_S = 10.0


class Probes(NamedTuple):
    """``d``: executors probed per task of a batch."""

    d: int


def decide(now: float, view: SystemView, ready: Ready, tables: Probes, u: Any, out: NDArray[Any]) -> bool:
    """Return the oldest ready task with a free executor among those that its batch probes.

    A batch of m tasks probes min(d·m, E) executors, all different: from a drawn one on, at a drawn
    distance, and one further where that comes back to one that has been probed. So a reservation need not
    be stored: an executor that is free has those of the ready tasks whose batch probes it, in order of
    readiness; a batch without ready tasks has none left.
    """
    executors = len(view.queue_length)
    job, batch = -1, -1
    for i in range(ready.n):
        first = ready.batch_first[i]
        if ready.job[i] == job and first == batch:
            continue  # its batch finds no free executor
        job, batch = ready.job[i], first
        start = mixed(ready.job_draw[i], first, 1) % executors
        step = 1
        if executors > 1:
            step += mixed(ready.job_draw[i], first, 2) % (executors - 1)
        cycle = executors // math.gcd(executors, step)
        for k in range(min(tables.d * ready.batch_size[i], executors)):
            e = (start + k * step + k // cycle) % executors
            if view.queue_length[e] == 0:
                out[0] = i
                out[1] = e
                return True
    return False


def _build(system: System, placement: Placement | None, options: Mapping[str, Any]) -> SchedulerTables:
    usual_s, given_s = min(2 * system.latency_s, LONGEST_S), options["round_trip_s"]
    return SchedulerTables(Probes(options["d"]), 1, usual_s if given_s is None else given_s)


SCHEDULER = Scheduler(
    name="sparrow",
    kind="pick",
    family="queueing",
    network_view=NetworkView.N0,
    summary="Tasks that become ready together wait at d executors per task; each free one takes the next.",
    source=(
        "Ousterhout, Wendell, Zaharia and Stoica: Sparrow: Distributed, Low Latency Scheduling, SOSP 2013, "
        "sections 3.2 to 3.5 (batch sampling, late binding, proactive cancellation)"
    ),
    adaptation=(
        "Tasks of a query that one event makes ready are a batch; in the paper a job is one batch. An "
        "executor asks for a task, idles for a constant round trip, and then has it. The option round_trip_s "
        "sets it: two network latencies by default, 1 ms in the paper's simulator. Probes and cancellations "
        "take no time. A batch of m tasks probes d·m executors at equal distances, from a drawn one on. "
        "A free executor that is probed takes its task at once, the first by that order."
    ),
    decide=decide,
    build=_build,
    settings={
        "d": PolicyOption(2, "executors probed per task", least=1, most=64),
        "round_trip_s": PolicyOption(
            None,
            "seconds from an executor's question for a task to the answer; none: two network latencies",
            most=LONGEST_S,
            kind=float,
        ),
    },
    reads_queues=True,
    style=ChartStyle("#3f6fb5", "longdash", "diamond-tall"),
)
