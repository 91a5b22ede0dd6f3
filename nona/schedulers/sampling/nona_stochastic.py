"""``nona``: sample each sub-graph's configuration from the probabilities of the placement."""

from __future__ import annotations

from nona.look import Look
from nona.schedulers.base import NetworkView, Scheduler
from nona.schedulers.sampling.policy import place_by_table
from nona.schedulers.sampling.preparations import FromPlacement

SCHEDULER = Scheduler(
    name="nona",
    kind="bind",
    family="placement",
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
    prepare=FromPlacement("nona"),
    needs_placement=True,
    takes_lists=True,
    look=Look("#6366f1", "solid", "circle"),
)
