"""``local``: a job stays on one executor."""

from __future__ import annotations

from nona.look import Look
from nona.schedulers.base import NetworkView, Scheduler
from nona.schedulers.sampling.policy import place_by_table
from nona.schedulers.sampling.preparations import FromPreset

SCHEDULER = Scheduler(
    name="local",
    kind="bind",
    family="practice",
    network_view=NetworkView.N0,
    summary="Runs all tasks of a job on one executor, drawn uniformly among those that hold its model.",
    source="Common practice; the one-server placement of the slides on Nona (CloudNet 2024)",
    adaptation="No message leaves the server; an executor runs one task at a time, so nothing is parallel.",
    decide=place_by_table,
    prepare=FromPreset("local"),
    takes_lists=True,
    look=Look("#0f9b8e", "solid", "square"),
)
