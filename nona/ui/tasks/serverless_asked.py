"""What the page asks of its serverless jobs beyond the scenario."""

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


class NodesAsked(Asked):
    """The fewest nodes up to ``most`` that keep ``target`` of the SLOs; ``calls`` of each run."""

    target: float
    policies: tuple[str, ...]
    calls: int
    most: int
