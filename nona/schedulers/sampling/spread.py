"""``spread``: every interior task on a server of its own, roots and sinks on the job's first server."""

from __future__ import annotations

from nona.look import Look
from nona.schedulers.base import NetworkView, Scheduler
from nona.schedulers.sampling.policy import place_by_table
from nona.schedulers.sampling.preparations import FromPreset

SCHEDULER = Scheduler(
    name="spread",
    kind="bind",
    family="heuristic",
    network_view=NetworkView.N0,
    summary="Places every interior task on its own server; roots and sinks on the job's first server.",
    source="The distributed, network-unaware placement of the slides on Nona (CloudNet 2024)",
    adaptation=(
        "Interior tasks that depend on one another are separated too: each dependency between them is a "
        "message from server to server, and the later task waits for it. Servers are drawn uniformly; "
        "with fewer servers than tasks, tasks are assigned to the servers in turn."
    ),
    decide=place_by_table,
    prepare=FromPreset("spread"),
    takes_lists=True,
    look=Look("#cf7a10", "solid", "diamond"),
)
