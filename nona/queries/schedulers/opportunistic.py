"""``opportunistic``: any ready task at once on any free executor."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from nona.core.registry import ChartStyle
from nona.queries.schedulers.base import (
    NetworkView,
    Ready,
    Scheduler,
    SystemView,
    WithoutTables,
    free_executor,
)


def decide(now: float, view: SystemView, ready: Ready, tables: Any, u: Any, out: NDArray[Any]) -> bool:
    """Return the task that became ready first, on a free executor drawn uniformly."""
    if ready.n == 0:
        return False
    executor = free_executor(view, u[0])
    if executor < 0:
        return False
    out[0] = 0
    out[1] = executor
    return True


SCHEDULER = Scheduler(
    name="opportunistic",
    kind="pick",
    family="heuristic",
    network_view=NetworkView.N0,
    summary="Runs any ready task at once on any free executor; waits in one central queue when none is.",
    source="A baseline of the evaluation of Nona (CloudNet 2024), named on its slides",
    adaptation=(
        "Its definition is not public; this is our interpretation. It runs as much in parallel as possible "
        "and ignores the network. Tasks run in the order in which they became ready, on free executors drawn "
        "uniformly."
    ),
    decide=decide,
    build=WithoutTables("opportunistic"),
    reads_queues=True,
    style=ChartStyle("#e0559a", "longdash", "triangle-up"),
)
