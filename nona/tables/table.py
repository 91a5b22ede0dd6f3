"""Tables, each declared once: columns that read a row; text, page, HTML and files are renderings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nona.results.document import Estimate
from nona.tables.formats import Show, mean_text, share_text, times_text
from nona.units import format_number, format_time

if TYPE_CHECKING:
    import pandas as pd

Value = Estimate | float | str | None
Cell = str | float | None
R = TypeVar("R")
R_contra = TypeVar("R_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of number: how people read it, and the ending of its column's name in files.

    ``sorts``: pages get the number itself, by which one sorts, with at most three decimals.
    """

    show: Show
    ending: str = ""
    sorts: bool = False


NUMBER = Kind(format_number)
COUNT = Kind("{:,}".format, sorts=True)
PLAIN = Kind("{:,.6g}".format, sorts=True)
TIME = Kind(format_time, "_s")
SHARE = Kind(partial(share_text, digits=1))
RATE = Kind(partial(share_text, digits=2))  # of SLO hits, which differ in the last digits
CHANGE = Kind(partial(share_text, digits=1, sign="+"))
FACTOR = Kind(times_text)


@dataclass(frozen=True, slots=True)
class Column(Generic[R_contra]):
    """A heading, the value of a row, and its kind.

    Attributes
    ----------
    key
        Its name in files and in selections; the heading where none is given.
    interval
        Means, which have an interval: files have a lower and an upper bound beside them.
    decides
        Pages show it before all columns are asked for.
    optional
        Left out where no row has a value.
    """

    heading: str
    of: Callable[[R_contra], Value]
    kind: Kind = NUMBER
    key: str = ""
    interval: bool = False
    decides: bool = False
    optional: bool = False

    @property
    def name(self) -> str:
        """Its name in selections."""
        return self.key or self.heading

    def text(self, value: Value) -> str:
        """The value as people read it, a dash where there is none."""
        if isinstance(value, Estimate):
            return mean_text(value, self.kind.show)
        if value is None or isinstance(value, str):
            return value or "–"
        return self.kind.show(value)

    def cell(self, value: Value) -> Cell:
        """The value for pages: its text, or the number itself where one sorts by it."""
        if self.kind.sorts and isinstance(value, float | int | None):
            return value if value is None or isinstance(value, int) else round(value, 3)
        return self.text(value)

    def numbers(self, value: Value) -> dict[str, float | str | None]:
        """The plain value, or mean and bounds, by their names in files."""
        if not self.interval:
            return {f"{self.name}{self.kind.ending}": value.mean if isinstance(value, Estimate) else value}
        mean = value if isinstance(value, Estimate) else Estimate(mean=None, ci95=None)
        ends = zip(("", "_low", "_high"), (mean.mean, *(mean.ci95 or (None, None))), strict=True)
        return {f"{self.name}{end}{self.kind.ending}": number for end, number in ends}


@dataclass(frozen=True, slots=True)
class Filled:
    """A table with its rows: values, and every way to show them."""

    columns: tuple[Column[Any], ...]
    values: tuple[tuple[Value, ...], ...]

    def __bool__(self) -> bool:
        return bool(self.values)

    @property
    def headings(self) -> tuple[str, ...]:
        """Headings of all columns."""
        return tuple(c.heading for c in self.columns)

    @property
    def deciding(self) -> tuple[str, ...]:
        """Headings of the columns that pages show first; empty where they show all."""
        return tuple(c.heading for c in self.columns if c.decides)

    def select(self, *names: str) -> Filled:
        """The table with only the columns of these names, in this order; those left out are passed over."""
        places = {c.name: k for k, c in enumerate(self.columns)}
        order = [places[n] for n in names if n in places]
        return Filled(
            tuple(self.columns[k] for k in order), tuple(tuple(row[k] for k in order) for row in self.values)
        )

    def cells(self) -> list[dict[str, Cell]]:
        """Heading → cell of each row, for pages."""
        return [{c.heading: c.cell(v) for c, v in zip(self.columns, row, strict=True)} for row in self.values]

    def texts(self) -> list[dict[str, str]]:
        """Heading → text of each row, for HTML and Markdown."""
        return [{c.heading: c.text(v) for c, v in zip(self.columns, row, strict=True)} for row in self.values]

    def text(self) -> str:
        """Lines of text, for terminals."""
        return text_table(self.texts(), self.headings)

    def frame(self) -> pd.DataFrame:
        """The cells as a data frame, for pages."""
        import pandas as pd

        return pd.DataFrame(self.cells(), columns=list(self.headings), dtype=object)

    def numbers(self) -> pd.DataFrame:
        """Plain numbers, for files: seconds, fractions, counts; what has no value is missing."""
        import pandas as pd

        empty = [c.numbers(None) for c in self.columns]
        rows = [
            {k: n for c, v in zip(self.columns, row, strict=True) for k, n in c.numbers(v).items()}
            for row in self.values
        ]
        frame = pd.DataFrame(rows, columns=[name for names in empty for name in names])
        numeric = [
            name
            for k, (c, names) in enumerate(zip(self.columns, empty, strict=True))
            if not any(isinstance(row[k], str) for row in self.values)
            for name in names
        ]
        return frame.astype(dict.fromkeys(numeric, "float64"))


@dataclass(frozen=True)
class Table(Generic[R]):
    """Columns over rows; with ``named``, the heading of their names, the rows are those of a mapping."""

    named: str
    columns: tuple[Column[R], ...]

    def of(self, rows: Mapping[str, R] | Iterable[R]) -> Filled:
        """The table of these rows, without optional columns that no row has."""
        items = list(rows.values() if isinstance(rows, Mapping) else rows)
        values = [[c.of(row) for row in items] for c in self.columns]
        present = [
            k for k, c in enumerate(self.columns) if not c.optional or any(v is not None for v in values[k])
        ]
        columns: list[Column[Any]] = [self.columns[k] for k in present]
        kept = [values[k] for k in present]
        if isinstance(rows, Mapping):
            columns.insert(0, Column(self.named, str, decides=any(c.decides for c in columns)))
            kept.insert(0, list(rows))
        return Filled(tuple(columns), tuple(zip(*kept, strict=True)))


def text_table(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> str:
    """A table with a header line; columns as wide as needed, the last one not padded.

    >>> print(text_table([{"a": 1, "b": "x"}, {"a": 22, "b": "y"}], ("a", "b")))
    a   b
    1   x
    22  y
    """
    cells = [list(columns), *([str(row[c]) for c in columns] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    widths[-1] = 0
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in cells
    )
