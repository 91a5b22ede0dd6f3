"""What the page asks of its serverless jobs beyond the scenario."""

from __future__ import annotations

from nona.ui.tasks.asked import Asked


class WaysAsked(Asked):
    """One policy under every way of sharing: calls of each run, runs of each way."""

    policy: str
    calls: int
    replications: int


class NodesAsked(Asked):
    """The fewest nodes up to ``most`` that keep ``target`` of the SLOs; ``calls`` of each run."""

    target: float
    policies: tuple[str, ...]
    calls: int
    most: int
