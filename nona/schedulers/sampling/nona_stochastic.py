"""``nona``: sample each sub-graph's configuration from the probabilities of the placement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.look import Look
from nona.placement.result.placement import Placement
from nona.schedulers.base import NetworkView, Prepared, Scheduler
from nona.schedulers.options import check_options, required_placement
from nona.schedulers.sampling.policy import place_by_table
from nona.schedulers.sampling.tables import build_tables
from nona.system import System


def prepare(system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
    """Tables of the placement's probabilities, one candidate per draw."""
    check_options("nona", options)
    solved = required_placement("nona", placement)
    return build_tables(system, solved.queries, shares=solved.class_shares)


SCHEDULER = Scheduler(
    name="nona",
    kind="bind",
    network_view=NetworkView.N1,
    summary="Samples a configuration per sub-graph; sends its parts to servers drawn by the class shares.",
    source=(
        "Pit-Claudel, Malak, Cohen, Médard, Ghobadi: Nona: A Stochastic Congestion-Aware Job Scheduler "
        "for Real-Time Inference Queries, IEEE CloudNet 2024"
    ),
    adaptation=(
        "Built from the public abstract, slides and project page; which part shares the root's and the "
        "sink's server is part of the configuration here. Online it observes nothing; offline the "
        "placement uses the link's capacity and the mean background load. An executor's class is drawn by "
        "the query class's shares (a uniform draw where executors are alike), then an executor of it, "
        "uniformly among those on servers that the sub-graph does not use; with fewer servers than parts, "
        "first unused executors of that class, then any of it."
    ),
    decide=place_by_table,
    prepare=prepare,
    needs_placement=True,
    takes_lists=True,
    look=Look("#6366f1", "solid", "circle"),
)
