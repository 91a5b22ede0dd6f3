"""``themis``: an auction of the executors among the query classes that are worst off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.queries.schedulers.base import NetworkView
from nona.queries.schedulers.flows.allotter import AskPolicy, flow_scheduler


def _policy(options: Mapping[str, Any]) -> AskPolicy:
    return AskPolicy("themis-auction", {"fairness_knob": options["fairness_knob"]})


SCHEDULER = flow_scheduler(
    _policy,
    {"fairness_knob": PolicyOption(0.8, "f: the worst 1 − f of the query classes bid", most=0.999)},
    name="themis",
    network_view=NetworkView.N1,
    summary="Auctions the executors every round among the query classes with the worst finish-time fairness.",
    source=(
        "Mahajan, Balasubramanian, Singhvi, Venkataraman, Akella, Phanishayee and Chawla: Themis: Fair "
        "and Efficient GPU Cluster Scheduling, NSDI 2020 (recollected)"
    ),
    adaptation=(
        "One auction a round, over shares of time. ρ compares the present queries' time, with "
        "the wait so far by Little's law, with that on an equal part. As a query runs on one "
        "executor, no placement slows it down: S = 1."
    ),
    look=ChartStyle("#c2410c", "solid", "star-diamond"),
)
