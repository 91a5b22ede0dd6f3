"""Rows of a trace file: its cells, and the rows that have one value in one column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nona.errors import SimulationError
from nona.foreign.limits import MOST_ARRIVALS
from nona.foreign.rows import CsvFile

MOST_VALUES = 50
Where = tuple[str, str]
"""A column of the file, and the value that its rows must have."""


def numbered_rows(data: bytes, filename: str) -> Iterator[tuple[int, list[str]]]:
    """Numbered rows that are not blank; line numbers as an editor shows them."""
    return CsvFile(data, f"Trace {filename!r}", SimulationError, MOST_ARRIVALS + 1).rows()


def column_of(names: Sequence[str], where: Where | None, filename: str) -> int:
    """The place of the column that ``where`` names; −1 without."""
    if where is None:
        return -1
    if where[0] not in names:
        known = ", ".join(n for n in names if n)[:120] or "no header"
        raise SimulationError(
            f"Trace {filename!r}: it has no column {where[0]!r}; choose one of its header: {known}."
        )
    return names.index(where[0])


def fits(row: Sequence[str], column: int, where: Where | None) -> bool:
    """Whether a row has the value that ``where`` names."""
    return where is None or (column < len(row) and row[column].strip() == where[1])


def is_number(text: str) -> bool:
    """Whether a cell holds a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def trace_columns(data: bytes, filename: str) -> dict[str, tuple[str, ...]]:
    """Columns by which a trace can be divided: those with 1 to 50 values that are no numbers.

    >>> trace_columns(b"time,model\\n3,a\\n4,b\\n6,b\\n", "t.csv")
    {'model': ('a', 'b')}
    """
    rows = numbered_rows(data, filename)
    names = [name.strip() for name in next(rows, (0, [""]))[1]]
    values: dict[int, set[str]] = {i: set() for i, name in enumerate(names) if name and i}
    for _, row in rows:
        for i in list(values):
            cell = row[i].strip() if i < len(row) else ""
            if cell and (is_number(cell) or (len(values[i]) >= MOST_VALUES and cell not in values[i])):
                del values[i]
            elif cell:
                values[i].add(cell)
        if not values:
            break
    return {names[i]: tuple(sorted(found)) for i, found in values.items() if found}
