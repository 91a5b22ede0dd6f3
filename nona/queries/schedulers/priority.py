"""``priority``: query classes one after the other in a fixed order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.core.arrays import Ints
from nona.core.errors import SimulationError
from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.queries.placement.result import Placement
from nona.queries.schedulers.base import (
    NetworkView,
    Ready,
    Scheduler,
    SchedulerTables,
    SystemView,
    home_or_free,
)
from nona.queries.system import System

SPAN = 1 << 40  # above the number of any job, so that the class decides before the job does


class Ranks(NamedTuple):
    """``rank`` (Q,): the place of each query class in the order of service, 0 the most urgent."""

    rank: Ints


def decide(now: float, view: SystemView, ready: Ready, tables: Ranks, u: Any, out: NDArray[Any]) -> bool:
    """Pick the first ready task of the oldest job of the most urgent class.

    It runs where its last predecessor ran, if that is free.
    """
    if ready.n == 0:
        return False
    best = np.argmin(tables.rank[ready.query] * SPAN + ready.job)
    return home_or_free(view, ready, int(best), u[0], out)


def _build(system: System, placement: Placement | None, options: Mapping[str, Any]) -> SchedulerTables:
    names = [q.name for q in system.queries]
    order: Any = [] if options["order"] is None else options["order"]
    listed = isinstance(order, Sequence) and not isinstance(order, str)
    if not listed or any(order.count(n) > 1 or n not in names for n in order):
        raise SimulationError(
            f"Scheduler 'priority': order={order!r} must list names of the workload "
            f"({', '.join(dict.fromkeys(names))}), each once; correct the list."
        )
    places = [order.index(n) if n in order else len(order) for n in names]
    rank = np.empty(len(names), dtype=np.int64)
    rank[np.argsort(places, kind="stable")] = np.arange(len(names))
    return SchedulerTables(Ranks(rank), 1)


SCHEDULER = Scheduler(
    name="priority",
    kind="pick",
    family="queueing",
    network_view=NetworkView.N0,
    summary="Serves the models in a fixed order of urgency; a running task is never interrupted.",
    source=(
        "Non-preemptive head-of-the-line priorities (Cobham: Priority Assignment in Waiting Line Problems, "
        "Operations Research 1954)"
    ),
    adaptation=(
        "The order is that of the workload, or of the option 'order'. Jobs of one model are served in "
        "order of arrival. Urgency counts among ready tasks only: background is served before them. A "
        "task prefers the executor on which its last predecessor ran; otherwise the free executor is "
        "drawn uniformly."
    ),
    decide=decide,
    build=_build,
    settings={
        "order": PolicyOption(
            None,
            "names of models, the most urgent first; others follow in the order of the workload",
            kind=object,
        ),
    },
    reads_queues=True,
    style=ChartStyle("#7a9a1e", "solid", "pentagon"),
)
