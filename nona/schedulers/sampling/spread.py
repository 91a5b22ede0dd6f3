"""``spread``: every interior task on a server of its own, roots and sinks on the job's first server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.look import Look
from nona.placement.capacity.memory import default_shares
from nona.placement.fixed.presets import place_fixed
from nona.placement.result.placement import Placement
from nona.schedulers.base import NetworkView, Prepared, Scheduler
from nona.schedulers.options import check_options
from nona.schedulers.sampling.policy import place_by_table
from nona.schedulers.sampling.tables import build_tables
from nona.system import System


def prepare(system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
    """One configuration per sub-graph: a part for each interior task, none with the root."""
    check_options("spread", options)
    placed = [place_fixed(system, q, "spread") for q in system.queries]
    return build_tables(system, placed, shares=default_shares(system))


SCHEDULER = Scheduler(
    name="spread",
    kind="bind",
    network_view=NetworkView.N0,
    summary="Places every interior task on its own server; roots and sinks on the job's first server.",
    source="The distributed, network-unaware placement of the slides on Nona (CloudNet 2024)",
    adaptation=(
        "Interior tasks that depend on one another are separated too: each dependency between them is a "
        "message from server to server, and the later task waits for it. Servers are drawn uniformly; "
        "with fewer servers than tasks, tasks are assigned to the servers in turn."
    ),
    decide=place_by_table,
    prepare=prepare,
    takes_lists=True,
    look=Look("#cf7a10", "solid", "diamond"),
)
