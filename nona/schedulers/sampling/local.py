"""``local``: a job stays on one executor."""

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
    """One configuration per sub-graph: everything with the root."""
    check_options("local", options)
    placed = [place_fixed(system, q, "local") for q in system.queries]
    return build_tables(system, placed, shares=default_shares(system))


SCHEDULER = Scheduler(
    name="local",
    kind="bind",
    network_view=NetworkView.N0,
    summary="Runs all tasks of a job on one executor, drawn uniformly among those that hold its model.",
    source="Common practice; the one-server placement of the slides on Nona (CloudNet 2024)",
    adaptation="No message leaves the server; an executor runs one task at a time, so nothing is parallel.",
    decide=place_by_table,
    prepare=prepare,
    takes_lists=True,
    look=Look("#0f9b8e", "solid", "square"),
)
