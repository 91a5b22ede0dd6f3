"""Tables, each declared once: columns that read a row, and how their values look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from nona.report.means import Show, mean_text
from nona.report.text import or_dash, share_text, table
from nona.results.document import Estimate
from nona.units import format_number

Value = Estimate | float | str | None
R = TypeVar("R")
R_contra = TypeVar("R_contra", contravariant=True)


def share(value: float) -> str:
    """Format a share in per cent, with one decimal."""
    return share_text(value, 1)


@dataclass(frozen=True)
class Column(Generic[R_contra]):
    """A heading, and the value of a row: a text, a number, or one with its interval."""

    heading: str
    of: Callable[[R_contra], Value]
    show: Show = format_number

    def text(self, row: R_contra) -> str:
        """The value as people read it; a dash where there is none."""
        value = self.of(row)
        if isinstance(value, Estimate):
            return mean_text(value, self.show)
        return value if isinstance(value, str) else or_dash(value, self.show)


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
