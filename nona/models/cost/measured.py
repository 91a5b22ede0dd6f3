"""Measured times: a CSV table that overrides the model.

Columns: ``model, operator, device, ms`` (``task`` may stand for ``operator``); optional ``batch``
(inputs that ran together, 1 when absent), ``stack`` and ``precision`` (any when absent), ``runs``,
``spread_ms`` and ``note``. Lines that start with ``#`` tell how the table was taken. ``operator`` ``*`` is
the whole model: its operators are scaled so that they add up to it. ``model`` ``*`` is any model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import get_args

from nona.cluster.hardware.executor import spelled
from nona.core.errors import ScenarioError
from nona.core.rows import TableRow, TextTable
from nona.models.cost.options import MOST_QUERIES, CostOptions, CostPrecision, stacks

ANY = "*"
MOST_ROWS = 1_000_000
MOST_MS = 1e9
LOW_LOAD = (
    "a GPU lowers its clocks while it idles, so times from a low, even load are too long for a busy one"
)
NOTHING = "it has no rows; give a header model,operator,device,ms and rows."
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
    """Measured times."""

    rows: tuple[MeasuredRow, ...]
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

    Raises ``ScenarioError`` for a missing, repeated or unknown column, a row of another length, an empty
    name, a time that is not a number of milliseconds ≥ 0, or two rows for the same; each line is named.

    >>> table = read_measured("model,operator,device,ms\nresnet18,conv1,a100-40gb,0.5\n")
    >>> table.times("resnet18", "a100-40gb", CostOptions())
    {'conv1': 0.0005}
    """
    text = data.encode("utf-8", "replace") if isinstance(data, str) else data
    table = TextTable(text, "Measured table", MOST_ROWS)
    if not table.header:
        raise ScenarioError([f"Measured table: {NOTHING}"])
    table.header = ["operator" if name == "task" else name for name in table.header]
    return MeasuredTable(tuple(table.read(_REQUIRED, _OPTIONAL, _row, NOTHING)))


def _row(line: TableRow) -> MeasuredRow | None:
    row = MeasuredRow(
        line.name("model"),
        line.name("operator"),
        spelled(line.name("device")),
        line.value("ms", MOST_MS) / 1e3,
        line.whole("batch", MOST_QUERIES) if line.cell("batch") else 1,
        line.one_of("stack", stacks()),
        line.one_of("precision", get_args(CostPrecision)),
    )
    about = (row.model, row.operator, row.device, row.batch, row.stack, row.precision)
    return row if line.is_first(*about) else None
