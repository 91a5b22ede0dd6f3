"""What the page asks of its serverless jobs beyond the scenario."""

from __future__ import annotations

from nona.ui.tasks.asked import Asked


class WaysAsked(Asked):
    """One policy under every way of sharing: calls of each run, runs of each way."""

    policy: str
    calls: int
    replications: int


class OverAsked(Asked):
    """Policies over ``values`` (SI) of the number ``key``; ``extend``: beyond them, until all miss."""

    key: str
    values: tuple[float, ...]
    policies: tuple[str, ...]
    target: float
    calls: int
    extend: bool


class NodesAsked(Asked):
    """The fewest nodes up to ``most`` that keep ``target`` of the SLOs; ``calls`` of each run."""

    target: float
    policies: tuple[str, ...]
    calls: int
    most: int
