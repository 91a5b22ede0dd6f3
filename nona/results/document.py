"""The base of every result: frozen, typed, written as JSON and read back equal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict


def number(value: float | None) -> float | None:
    """The value as a plain ``float``; ``None`` for infinity and NaN, which JSON cannot hold.

    >>> number(1), number(float("inf")), number(None)
    (1.0, None, None)
    """
    return float(value) if value is not None and math.isfinite(value) else None


def _finite(value: object) -> object:
    """What is no number is left to the validator, which refuses it."""
    return number(value) if isinstance(value, int | float) else value


Figure = Annotated[float | None, BeforeValidator(_finite)]
"""A number that may be unknown or infinite: both are ``None``."""

Interval = tuple[float, float] | None
"""Lower and upper bound of a confidence interval; ``None`` where there is none."""


class Document(BaseModel):
    """A result: its fields are its columns and its JSON; it cannot be changed.

    A field whose JSON name is no Python name has an alias. Unknown keys are refused.

    >>> class Wait(Document):
    ...     mean_s: Figure
    ...     interval_s: Interval
    >>> wait = Wait(mean_s=float("inf"), interval_s=(1.0, 2.0))
    >>> wait.to_json()
    {'mean_s': None, 'interval_s': [1.0, 2.0]}
    >>> Wait.from_json(wait.to_json()) == wait
    True
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    def to_json(self) -> dict[str, Any]:
        """The result as plain data that ``json`` writes."""
        return self.model_dump(mode="json", by_alias=True)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The result from what :meth:`to_json` gave."""
        return cls.model_validate(data)
