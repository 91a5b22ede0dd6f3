"""Requests of pages to jobs beyond the scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from nona.results.document import Document


class Asked(Document):
    """A part of a job's description."""

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> Self:
        """This part of a description, which holds the scenario and other things besides."""
        return cls.from_json({name: spec[name] for name in cls.model_fields})


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


class OneMoreAsked(Asked):
    """One more GPU of each type, under this policy."""

    policy: str
