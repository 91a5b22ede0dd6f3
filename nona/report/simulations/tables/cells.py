"""Rows of results written for people, or as a table of plain numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import pandas as pd

from nona.report.means import Show, mean_text
from nona.report.simulations.tables.columns import Column, Unit, Value
from nona.report.simulations.tables.rows import ResultRow
from nona.results.estimate import Estimate
from nona.units import format_time

Count = TypeVar("Count", covariant=True)


@dataclass(frozen=True, slots=True)
class Style(Generic[Count]):
    """How one place writes hit rates, utilisations and counts; times are written alike everywhere."""

    rate: Show
    share: Show
    count: Callable[[int], Count]

    def cell(self, value: Value, unit: Unit) -> str | Count:
        """A value as this place writes it; a dash where there is none."""
        if value is None:
            return "–"
        if isinstance(value, str):
            return value
        if unit == "count" and isinstance(value, int):
            return self.count(value)
        show = {"rate": self.rate, "share": self.share}.get(unit, format_time)
        return mean_text(value, show) if isinstance(value, Estimate) else show(value)


def text_rows(
    rows: Sequence[ResultRow], chosen: Sequence[Column], style: Style[Count]
) -> list[dict[str, str | Count]]:
    """Heading → cell of every row; a dash where there is no value."""
    return [{c.heading: style.cell(c.read(row), c.unit) for c in chosen} for row in rows]


def number_table(rows: Sequence[ResultRow], chosen: Sequence[Column]) -> pd.DataFrame:
    """Plain numbers: times in seconds (``…_s``), fractions, counts; what has no value is missing.

    A column of means gives three: the mean, and the bounds ``…_low`` and ``…_high`` of its interval.
    """
    cells = [{k: v for c in chosen for k, v in _numbers(c, row).items()} for row in rows]
    names = [k for c in chosen for k in _names(c)]
    numbers = {k: "float64" for c in chosen if c.unit != "text" for k in _names(c)}
    return pd.DataFrame(cells, columns=names).astype(numbers)


def _names(column: Column) -> tuple[str, ...]:
    unit = "_s" if column.unit == "s" else ""
    ends = ("", "_low", "_high") if column.interval else ("",)
    return tuple(f"{column.key}{end}{unit}" for end in ends)


def _numbers(column: Column, row: ResultRow) -> dict[str, float | int | str | None]:
    value = column.read(row)
    if isinstance(value, Estimate):
        low, high = value.ci95 or (None, None)
        return dict(zip(_names(column), (value.mean, low, high), strict=True))
    return {_names(column)[0]: value}
