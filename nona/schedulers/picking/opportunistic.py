"""``opportunistic``: any ready task at once on any free executor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

from nona.look import Look
from nona.placement.result.placement import Placement
from nona.schedulers.base import NetworkView, Prepared, Ready, Scheduler, View
from nona.schedulers.options import check_options
from nona.schedulers.picking.free import free_executor
from nona.system import System


class NoTables(NamedTuple):
    """This scheduler decides from what is ready and free alone; the field is not used."""

    unused: int = 0


def decide(now: float, view: View, ready: Ready, tables: Any, u: Any, out: NDArray[Any]) -> bool:
    """The task that became ready first, on a free executor drawn uniformly."""
    if ready.n == 0:
        return False
    executor = free_executor(view, u[0])
    if executor < 0:
        return False
    out[0] = 0
    out[1] = executor
    return True


def prepare(system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
    """No tables; one draw per decision."""
    check_options("opportunistic", options)
    return Prepared(NoTables(), 1)


SCHEDULER = Scheduler(
    name="opportunistic",
    kind="pick",
    network_view=NetworkView.N0,
    summary="Runs any ready task at once on any free executor; waits in one central queue when none is.",
    source="A baseline of the evaluation of Nona (CloudNet 2024), named on its slides",
    adaptation=(
        "Its definition is not public; our interpretation: as much parallelism as possible, the network "
        "ignored, tasks in the order in which they became ready, free executors drawn uniformly."
    ),
    decide=decide,
    prepare=prepare,
    reads_queues=True,
    look=Look("#e0559a", "longdash", "triangle-up"),
)
