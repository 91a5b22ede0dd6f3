"""Tables, each declared once: columns that read a row, and how their values look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from nona.report.means import mean_text
from nona.report.text import or_dash, share_text, table
from nona.results.document import Estimate
from nona.units import format_number, format_time

Value = Estimate | float | str | None
R = TypeVar("R")
R_contra = TypeVar("R_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Look:
    """How a number of one kind is shown; ``scale`` and ``unit`` are those of the number in files."""

    show: Callable[[float], str]
    unit: str = ""
    scale: float = 1.0


TIME = Look(format_time, "s")
SHARE = Look(lambda share: share_text(share, 1), "%", 100.0)
NUMBER = Look(format_number)


@dataclass(frozen=True)
class Column(Generic[R_contra]):
    """A heading, and the value of a row: a text, a number, or one with its interval."""

    heading: str
    of: Callable[[R_contra], Value]
    look: Look = NUMBER

    def text(self, row: R_contra) -> str:
        """The value as people read it; a dash where there is none."""
        value = self.of(row)
        if isinstance(value, Estimate):
            return mean_text(value, self.look.show)
        return value if isinstance(value, str) else or_dash(value, self.look.show)

    def number(self, row: R_contra) -> float | str | None:
        """The value in a file, in the look's unit; of an estimate its mean."""
        value = self.of(row)
        value = value.mean if isinstance(value, Estimate) else value
        return value if isinstance(value, str) or value is None else value * self.look.scale


@dataclass(frozen=True)
class Table(Generic[R]):
    """Columns over named rows; ``named`` is the heading of the names."""

    named: str
    columns: tuple[Column[R], ...]

    def headings(self, *left_out: str) -> tuple[str, ...]:
        """All headings but those left out, that of the names first."""
        return tuple(h for h in (self.named, *(c.heading for c in self.columns)) if h not in left_out)

    def rows(self, rows: Mapping[str, R]) -> list[dict[str, str]]:
        """Heading → text for each row."""
        return [
            {self.named: name, **{c.heading: c.text(row) for c in self.columns}} for name, row in rows.items()
        ]

    def text(self, rows: Mapping[str, R], *headings: str) -> str:
        """Lines of text with these columns, or all."""
        return table(self.rows(rows), headings or self.headings())
