"""Requests of pages to jobs beyond the scenario: parts of a job's description."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document


class CountAsked(Document):
    """The configurations of a model whose symbols have these values, with its times on that device."""

    model: str
    symbols: Mapping[str, int]
    device: str


class EffortAsked(Document):
    """How long the runs are whose means are compared with theory, by the name of the effort."""

    effort: str


class CapacityAsked(Document):
    """The fewest servers of the entry ``group`` with which every model keeps ``hit`` of its SLOs.

    One answer for each of ``schedulers``. ``simulated``: a predicted count and one fewer are simulated too.
    """

    hit: float
    group: int
    schedulers: tuple[str, ...]
    simulated: bool


class HoldsAsked(Document):
    """Whether the cluster as it stands holds under this scheduler."""

    scheduler: str


class WaysAsked(Document):
    """One policy under every way of sharing: calls of each run, runs of each way."""

    policy: str
    calls: int
    replications: int


class OverAsked(Document):
    """Policies over ``values`` (SI) of the number ``key``; ``extend``: beyond them, until all miss."""

    key: str
    values: tuple[float, ...]
    policies: tuple[str, ...]
    target: float
    calls: int
    extend: bool


class NodesAsked(Document):
    """The fewest nodes up to ``most`` that keep ``target`` of the SLOs; ``calls`` of each run."""

    target: float
    policies: tuple[str, ...]
    calls: int
    most: int


class OneMoreAsked(Document):
    """One more GPU of each type, under this policy."""

    policy: str
