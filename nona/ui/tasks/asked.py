"""A part of a job's description beyond the scenario."""

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
