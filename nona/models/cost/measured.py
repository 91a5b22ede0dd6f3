"""Measured times: a CSV table that overrides the model.

Columns: ``model, operator, device, ms`` (``task`` may stand for ``operator``); optional ``batch``
(inputs that ran together, 1 when absent), ``stack`` and ``precision`` (any when absent), ``runs``,
``spread_ms`` and ``note``. Lines that start with ``#`` tell how the table was taken. ``operator`` ``*`` is
the whole model: its operators are scaled so that they add up to it. ``model`` ``*`` is any model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import get_args

from nona.cluster.hardware.executor import spelled
from nona.core.errors import CostError
from nona.core.foreign import CsvFile
from nona.models.cost.options import MOST_QUERIES, CostOptions, CostPrecision, stacks

ANY = "*"
MOST_ROWS = 1_000_000
MOST_MS = 1e9
LOW_LOAD = (
    "a GPU lowers its clocks while it idles, so times from a low, even load are too long for a busy one"
)
_REQUIRED = ("model", "operator", "device", "ms")
_OPTIONAL = ("batch", "stack", "precision", "runs", "spread_ms", "note")


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """One measured time and what it holds for; empty ``stack`` and ``precision`` are any."""

    model: str
    operator: str
    device: str
    time_s: float
    batch: int = 1
    stack: str = ""
    precision: str = ""

    def holds_for(self, options: CostOptions) -> bool:
        """Return whether the row was measured under these options."""
        return self.batch == options.inputs and self.holds_at_its_batch(options)

    def holds_at_its_batch(self, options: CostOptions) -> bool:
        """Return whether it was measured under this stack and precision."""
        precisions = ("", options.precision, *_also(options.precision))
        return self.stack in ("", options.stack) and self.precision in precisions


def _also(precision: CostPrecision) -> tuple[str, ...]:
    """Return ``model`` for ``auto``: times of the file as it is also hold there."""
    return ("model",) if precision == "auto" else ()


@dataclass(frozen=True)
class MeasuredTable:
    """Measured times. ``notes`` holds the comment lines."""

    rows: tuple[MeasuredRow, ...]
    notes: tuple[str, ...] = ()
    _by_place: Mapping[tuple[str, str], tuple[MeasuredRow, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        places: dict[tuple[str, str], list[MeasuredRow]] = {}
        for row in self.rows:
            places.setdefault((row.model, row.device), []).append(row)
        object.__setattr__(self, "_by_place", {k: tuple(v) for k, v in places.items()})

    def times(self, model: str, device: str, options: CostOptions) -> dict[str, float]:
        """Operator → seconds on ``device``; rows for the very model win over those for any."""
        rows = self._rows(model, device)
        return {row.operator: row.time_s for row in rows if row.holds_for(options)}

    def by_batch(self, model: str, device: str, options: CostOptions) -> dict[str, dict[int, float]]:
        """Operator → inputs that ran together → seconds on ``device``."""
        times_s: dict[str, dict[int, float]] = {}
        for row in self._rows(model, device):
            if row.holds_at_its_batch(options):
                times_s.setdefault(row.operator, {})[row.batch] = row.time_s
        return times_s

    def _rows(self, model: str, device: str) -> Iterator[MeasuredRow]:
        """Rows of any model come first, so that those of the very model win."""
        return chain.from_iterable(self._by_place.get((name, device), ()) for name in (ANY, model))


def read_measured(data: bytes | str) -> MeasuredTable:
    r"""Return the table in CSV text (UTF-8).

    Raises ``CostError`` for a missing, repeated or unknown column, a row of another length, an empty name, a
    time that is not a number of milliseconds ≥ 0, or two rows for the same; the line is named.

    >>> table = read_measured("model,operator,device,ms\nresnet18,conv1,a100-40gb,0.5\n")
    >>> table.times("resnet18", "a100-40gb", CostOptions())
    {'conv1': 0.0005}
    """
    if isinstance(data, str):
        data = data.encode("utf-8", "replace")
    notes: list[str] = []
    header: list[str] | None = None
    rows: dict[tuple[object, ...], MeasuredRow] = {}
    for line, cells in CsvFile(data, "Measured table", CostError, strict=True).numbered_rows():
        if cells[0].startswith("#"):
            notes.append(",".join(cells)[1:].strip())
        elif header is None:
            header = _header(cells)
        else:
            _enter(rows, header, cells, line)
    if header is None or not rows:
        raise CostError("Measured table: it has no rows; give a header model,operator,device,ms and rows.")
    return MeasuredTable(tuple(rows.values()), tuple(notes))


def _header(cells: list[str]) -> list[str]:
    names = ["operator" if c.strip() == "task" else c.strip() for c in cells]
    for name in _REQUIRED:
        if name not in names:
            raise CostError(
                f"Measured table: the column {name!r} is missing; the header needs {','.join(_REQUIRED)}."
            )
    for name in names:
        if name not in (*_REQUIRED, *_OPTIONAL):
            raise CostError(
                f"Measured table: the column {name!r} is unknown; use {', '.join((*_REQUIRED, *_OPTIONAL))}."
            )
        if names.count(name) > 1:
            raise CostError(f"Measured table: the column {name!r} appears twice; keep one.")
    return names


def _enter(
    rows: dict[tuple[object, ...], MeasuredRow], header: list[str], cells: list[str], line: int
) -> None:
    where = f"Measured table, line {line}"
    if len(cells) != len(header):
        raise CostError(f"{where}: {len(cells)} cells where the header has {len(header)}; correct the row.")
    if len(rows) >= MOST_ROWS:
        raise CostError(f"{where}: the table has more than {MOST_ROWS} rows; give fewer.")
    values = {k: v.strip() for k, v in zip(header, cells, strict=True)}
    for column in ("model", "operator", "device"):
        if not values[column] or not values[column].isprintable():
            raise CostError(f"{where}: {column}={values[column]!r} must be a name; fill it in.")
    batch = values.get("batch") or "1"
    if not (batch.isascii() and batch.isdigit() and len(batch) < 6 and 1 <= int(batch) <= MOST_QUERIES):
        raise CostError(f"{where}: batch={batch!r} must be a whole number from 1 to {MOST_QUERIES}.")
    stack, precision = values.get("stack", ""), values.get("precision", "")
    for name, value, choices in (
        ("stack", stack, stacks()),
        ("precision", precision, get_args(CostPrecision)),
    ):
        if value and value not in choices:
            raise CostError(f"{where}: {name}={value!r} is unknown; use {', '.join(choices)} or nothing.")
    row = MeasuredRow(
        values["model"],
        values["operator"],
        spelled(values["device"]),
        _seconds(values["ms"], where),
        int(batch),
        stack,
        precision,
    )
    key = (row.model, row.operator, row.device, row.batch, stack, precision)
    if key in rows:
        raise CostError(f"{where}: {row.operator!r} on {row.device!r} has a time already; keep one row.")
    rows[key] = row


def _seconds(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and 0 <= value <= MOST_MS):
        raise CostError(f"{where}: ms={text!r} must be a number of milliseconds from 0 to {MOST_MS:g}.")
    return value / 1e3
