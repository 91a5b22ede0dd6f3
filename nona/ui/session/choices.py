"""What pages remember of their reader from one run to the next, each in a type of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass
class Choices:
    """One frozen value of each type that a page keeps, and the lines that say what went wrong.

    A page defines the type, with defaults for a reader who has not chosen yet, and replaces the value as a
    whole. ``complaints`` holds one line of error for each place that shows one.

    >>> @dataclass(frozen=True)
    ... class Size:
    ...     rows: int = 10
    >>> choices = Choices()
    >>> choices.of(Size).rows
    10
    >>> choices.keep(Size(20))
    >>> choices.of(Size).rows
    20
    """

    complaints: dict[str, str] = field(default_factory=dict)
    _kept: dict[type[Any], Any] = field(default_factory=dict)

    def keep(self, value: object) -> None:
        """Keep a value in place of the one of its type."""
        self._kept[type(value)] = value

    def find(self, kind: type[T]) -> T | None:
        """The value of that type, if one was kept."""
        found: T | None = self._kept.get(kind)
        return found

    def of(self, kind: type[T]) -> T:
        """The value of that type; its defaults if none was kept."""
        found = self.find(kind)
        return kind() if found is None else found
