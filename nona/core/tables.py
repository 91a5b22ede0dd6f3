"""Tables, each declared once: columns that read a row; text, page, HTML and files are renderings.

First come the texts of values, in tables and sentences; last files.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nona.core.document import Estimate
from nona.core.units import format_bandwidth, format_number, format_size, format_time, time_format

if TYPE_CHECKING:
    import pandas as pd
    from pandas.io.formats.style import Styler

Show = Callable[[float], str]
_UNEVEN = 0.2  # of a half-width: from there on an interval is written by its ends


def or_dash(value: float | None, show: Any) -> str:
    """Return the value as ``show`` writes it, or a dash.

    >>> or_dash(0.5, "{:.0%}".format), or_dash(None, str)
    ('50%', '–')
    """
    return "–" if value is None else str(show(value))


def time_text(seconds: float | None) -> str:
    """Return a time with its unit, or a dash where there is none.

    >>> time_text(0.002), time_text(None)
    ('2 ms', '–')
    """
    return or_dash(seconds, format_time)


def share_text(share: float, digits: int = 0, sign: str = "") -> str:
    """Return a share in per cent, with a space as SI has it; halves are rounded up, as browsers round them.

    >>> share_text(0.125, 1), share_text(-0.5, sign="+"), share_text(0.4725, 1)
    ('12.5 %', '-50 %', '47.3 %')
    """
    return f"{100 * share * (1 + 1e-12):{sign}.{digits}f} %"


def percent_text(share: float | None) -> str:
    """Return a share in per cent, or a dash where it is not known.

    >>> percent_text(0.5), percent_text(None)
    ('50.0 %', '–')
    """
    return or_dash(share, lambda part: share_text(part, 1))


def kept_text(share: float | None, goal: float = 1.0) -> str:
    """Return a share of jobs within their bounds in per cent, as all pages and reports show it.

    It is rounded down to three digits, so that it is never lifted up to a goal that it misses; near 100 %
    it has up to four decimals, and beside a ``goal`` of more digits as many as show on which side it is.

    >>> kept_text(0.991423), kept_text(0.98964), kept_text(0.9997), kept_text(1e-103), kept_text(None)
    ('99.1 %', '98.9 %', '99.97 %', '0 %', '–')
    >>> kept_text(0.950098, 0.95), kept_text(0.94997, 0.95), kept_text(0.98772, 0.9875)
    ('95 %', '94.9 %', '98.77 %')
    >>> kept_text(0.99999999998), kept_text(0.9999995, 0.999999)
    ('99.9999 %', '99.9999 %')
    """
    if share is None:
        return "–"
    value, asked = round(100 * share, 9), round(100 * goal, 9)
    decimals = 1 if value >= 10 else 2 if value >= 1 else 3
    if 0 < 100 - value < 0.1:
        decimals = min(math.ceil(-math.log10(100 - value) - 1e-9), 4)
    while (shown := math.floor(value * 10**decimals + 1e-6) / 10**decimals) < asked <= value:
        decimals += 1
    return f"{shown:.12g} %"


def times_text(ratio: float) -> str:
    """Format a ratio as a factor.

    >>> times_text(1234.5)
    '1,230 ×'
    """
    return f"{format_number(ratio)} ×"


def money(amount: float | None, currency: str) -> str:
    """Return an amount with its currency, which is a label only.

    >>> money(14.2, "USD"), money(None, "EUR"), money(222_222.2, "USD"), money(0.00321, "USD")
    ('$14.20', '–', '$222,222', '$0.00321')
    """
    if currency == "USD":
        return or_dash(amount, lambda value: f"${amount_text(value)}")
    return or_dash(amount, lambda value: f"{amount_text(value)} {currency}")


def currency_sign(currency: str) -> str:
    """Return the sign of a currency for titles of columns and axes.

    >>> currency_sign("USD"), currency_sign("EUR")
    ('$', 'EUR')
    """
    return "$" if currency == "USD" else currency


def amount_text(amount: float) -> str:
    """Return an amount of money: to the cent, from 1,000 on whole, and a small one to three digits.

    >>> [amount_text(a) for a in (1.6, 819, 1234.5, 0.5, 0.083, 0)]
    ['1.60', '819.00', '1,234', '0.50', '0.083', '0.00']
    """
    if 0 < abs(amount) < 0.1:
        return format_number(amount)
    return f"{amount:,.0f}" if abs(amount) >= 1000 else f"{amount:.2f}"


def per_hour(amount: float, currency: str) -> str:
    """Format a cost of servers per hour, alike for every family.

    >>> per_hour(14.2, "USD")
    '$14.20 per hour'
    """
    return f"{money(amount, currency)} per hour"


def mean_text(value: Estimate, show: Show, ends: bool = False) -> str:
    """Write a mean with its interval, ``mean ± half-width``.

    An interval that reaches much farther to one side, or of which a part was cut off, for no share lies
    beyond 1, is written by its ``ends`` where these digits tell them apart; any is if it is asked for.

    Parameters
    ----------
    value : Estimate
        The mean and its interval.
    show : callable
        Writes a number.
    ends : bool, optional
        Write the interval by its ends in any case.

    Returns
    -------
    str
        The text; a dash where there is no mean.

    Examples
    --------
    >>> mean_text(Estimate(mean=0.25, ci95=(0.2, 0.3)), "{:.2f}".format)
    '0.25 ± 0.05'
    >>> mean_text(Estimate(mean=0.99, ci95=(0.97, 1.0)), "{:.2f}".format)
    '0.99 (0.97 to 1.00)'
    >>> mean_text(Estimate(mean=0.9999, ci95=(0.9998, 1.0)), "{:.1%}".format)
    '100.0% ± 0.0%'
    """
    if value.mean is None:
        return "–"
    half = value.half_width
    if half is None or value.ci95 is None:
        return show(value.mean)
    low, high = value.ci95
    if (ends or is_uneven(value)) and show(low) != show(high):
        return f"{show(value.mean)} ({show(low)} to {show(high)})"
    half = 0.0 if _is_cut(value) else half
    half = half if half > 1e-9 * abs(value.mean) else 0.0  # below: rounding
    return f"{show(value.mean)} ± {_in_unit_of(value.mean, half, show)}"


def is_uneven(value: Estimate) -> bool:
    """Return whether an interval reaches much farther to one side of its mean, or was cut off at one."""
    half, mean = value.half_width, value.mean
    if half is None or mean is None or value.ci95 is None:
        return False
    return _is_cut(value) or abs(sum(value.ci95) - 2 * mean) > _UNEVEN * half


def _is_cut(value: Estimate) -> bool:
    (low, high), mean, half = value.ci95 or (0.0, 0.0), value.mean or 0.0, value.half_width or 0.0
    return (low == 0 or high == 1) and abs(high + low - 2 * mean) > 1e-6 * max(abs(mean), half)


def _in_unit_of(mean: float, half: float, show: Show) -> str:
    """Return a half-width in the unit of its mean.

    >>> _in_unit_of(0.0175, 0.000476, format_time), _in_unit_of(0.0175, 0.002, format_time)
    ('0.476 ms', '2 ms')
    """
    (number, _, unit), (_, _, own) = show(mean).partition(" "), show(half).partition(" ")
    if unit == own or mean == 0:
        return show(half)
    shown = float(number.replace(",", ""))
    if shown == 0:  # rounding noise
        return show(half)
    power = math.log10(mean / shown)
    decimal = abs(power - round(power)) < 0.01  # as from ms to µs, not from hours to minutes
    return f"{format_number(half / 10.0 ** round(power))} {unit}" if decimal else show(half)


Value = Estimate | float | str | None
MOST_STYLED = 40_000  # cells of a table whose numbers have a text of their own on pages
_Formatter = str | Callable[[object], str] | None
R = TypeVar("R")
R_contra = TypeVar("R_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class NumberKind:
    """A kind of number: how people read it, and the ending of its column's name in files.

    ``bare``: the number itself reads as well; very large tables show only such numbers as numbers.
    ``alike``: shows the numbers of a column, in one unit.
    """

    show: Show
    ending: str = ""
    bare: bool = False
    alike: Callable[[Iterable[float]], Show] | None = None


NUMBER = NumberKind(format_number)
COUNT = NumberKind("{:,}".format, bare=True)
PLAIN = NumberKind(partial(format_number, digits=4), bare=True)
MONEY = NumberKind(amount_text, bare=True)
TIME = NumberKind(format_time, "_s", alike=time_format)
PRECISE = NumberKind(partial(format_time, digits=4), "_s", alike=partial(time_format, digits=4))
SIZE = NumberKind(format_size, "_bytes")
BANDWIDTH = NumberKind(format_bandwidth, "_bytes_per_s")
WHOLE_SHARE = NumberKind(share_text)
SHARE = NumberKind(partial(share_text, digits=1))
KEPT = NumberKind(kept_text)
CHANGE = NumberKind(partial(share_text, digits=1, sign="+"))
FACTOR = NumberKind(times_text)


@dataclass(frozen=True, slots=True)
class Column(Generic[R_contra]):
    """A heading, the value of a row, and its kind.

    ``key``: its name in files and in selections; the heading where none is given.
    ``interval``: means, which have an interval: files have a lower and an upper bound beside them.
    ``decides``: pages show it before all columns are asked for.
    ``optional``: left out where no row has a value.
    ``help``, ``width``: what pages say of the heading when it is pointed at, and the width there in pixels.
    ``ends``: all intervals are written by their ends, as one of them has to be.
    """

    heading: str
    value_of: Callable[[R_contra], Value]
    kind: NumberKind = NUMBER
    key: str = ""
    interval: bool = False
    decides: bool = False
    optional: bool = False
    help: str = ""
    width: int | None = None
    ends: bool = False

    @property
    def name(self) -> str:
        """Its name in selections."""
        return self.key or self.heading

    def text(self, value: Value) -> str:
        """Return the value as people read it, a dash where there is none."""
        if isinstance(value, Estimate):
            return mean_text(value, self.kind.show, self.ends)
        if value is None or isinstance(value, str):
            return value or "–"
        return self.kind.show(value)

    def alike(self, values: Iterable[Value]) -> Column[R_contra]:
        """Return the column with one form of intervals, and one unit where its kind has several."""
        own = list(values)
        column = replace(self, ends=any(isinstance(v, Estimate) and is_uneven(v) for v in own))
        if self.kind.alike is None:
            return column
        means = [v.mean if isinstance(v, Estimate) else v for v in own]
        show = self.kind.alike(m for m in means if m is not None and not isinstance(m, str))
        return replace(column, kind=replace(self.kind, show=show))

    def place(self, value: Value) -> float | None:
        """Return the number by which pages sort: of an estimate its mean; words stand after all numbers."""
        if isinstance(value, Estimate):
            return value.mean
        return math.inf if isinstance(value, str) else value

    def numbers(self, value: Value) -> dict[str, float | str | None]:
        """Return the plain value, or mean and bounds, by their names in files."""
        if not self.interval:
            return {f"{self.name}{self.kind.ending}": value.mean if isinstance(value, Estimate) else value}
        mean = value if isinstance(value, Estimate) else Estimate(mean=None, ci95=None)
        ends = zip(("", "_low", "_high"), (mean.mean, *(mean.ci95 or (None, None))), strict=True)
        return {f"{self.name}{end}{self.kind.ending}": number for end, number in ends}


@dataclass(frozen=True, slots=True)
class FilledTable:
    """A table with its rows: values, and every way to show them."""

    columns: tuple[Column[Any], ...]
    values: tuple[tuple[Value, ...], ...]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings of the columns, in order."""
        return tuple(c.heading for c in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns in files, in order."""
        return tuple(c.name for c in self.columns)

    @property
    def deciding(self) -> tuple[str, ...]:
        """Names of the columns that pages show first; empty where they show all."""
        return tuple(c.name for c in self.columns if c.decides)

    def select(self, *names: str) -> FilledTable:
        """Return the table with only the columns of these names, in this order.

        Those left out are passed over.
        """
        places = {c.name: k for k, c in enumerate(self.columns)}
        order = [places[n] for n in names if n in places]
        return FilledTable(
            tuple(self.columns[k] for k in order), tuple(tuple(row[k] for k in order) for row in self.values)
        )

    def without_columns(self, *names: str) -> FilledTable:
        """Return the table without the columns of these names."""
        return self.select(*(name for name in self.names if name not in names))

    def renamed(self, heading: str, to: str) -> FilledTable:
        """Return the table with the column ``heading`` headed ``to``."""
        columns = (replace(c, heading=to, key=c.name) if c.heading == heading else c for c in self.columns)
        return replace(self, columns=tuple(columns))

    def texts(self) -> list[dict[str, str]]:
        """Heading → text of each row, for terminals and HTML; times of a column in one unit."""
        shown = self._in_one_unit()
        return [{c.heading: c.text(v) for c, v in zip(shown, row, strict=True)} for row in self.values]

    def _in_one_unit(self) -> list[Column[Any]]:
        return [c.alike(row[k] for row in self.values) for k, c in enumerate(self.columns)]

    def text(self) -> str:
        """Lines of text, for terminals."""
        return text_table(self.texts(), self.headings)

    def markdown(self) -> str:
        """For documents, whose lines are checked one by one: each value has a unit of its own."""
        rows = [[c.text(v) for c, v in zip(self.columns, row, strict=True)] for row in self.values]
        lines = [self.headings, *rows]
        head, *body = (f"| {' | '.join(_escaped(cell) for cell in line)} |" for line in lines)
        return "\n".join([head, f"|{'---|' * len(self.columns)}", *body])

    def to_pandas(self) -> pd.DataFrame | Styler:
        """Return the table for pages: numbers, by which one sorts, shown as text.

        Plain in a very large table.
        """
        import pandas as pd

        styled = len(self.columns) * len(self.values) <= MOST_STYLED
        data, shown = dict[str, list[str] | list[float | None]](), dict[Any, _Formatter]()
        for k, column in enumerate(self._in_one_unit()):
            own = [row[k] for row in self.values]
            texts, places = [column.text(v) for v in own], [column.place(v) for v in own]
            words = all(place in (None, math.inf) for place in places)
            if words or not (styled or column.kind.bare):
                data[column.heading] = texts
            else:
                data[column.heading], shown[column.heading] = places, _one_by_one(texts)
        frame = pd.DataFrame(data, columns=list(self.headings), index=range(len(self.values)))
        return frame.style.format(shown) if styled and shown else frame

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


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def _one_by_one(texts: Sequence[str]) -> Callable[[object], str]:
    """Return a formatter whose n-th call returns the n-th text, as pandas formats cells in order."""
    following = cycle(texts)
    return lambda _: next(following)


@dataclass(frozen=True)
class Table(Generic[R]):
    """Columns over rows; with ``named``, the heading of their names, the rows are those of a mapping."""

    named: str
    columns: tuple[Column[R], ...]

    def fill(self, rows: Mapping[str, R] | Iterable[R]) -> FilledTable:
        """Return the table of these rows, without optional columns that no row has."""
        items = list(rows.values() if isinstance(rows, Mapping) else rows)
        values = [[c.value_of(row) for row in items] for c in self.columns]
        present = [
            k for k, c in enumerate(self.columns) if not c.optional or any(v is not None for v in values[k])
        ]
        columns: list[Column[Any]] = [self.columns[k] for k in present]
        kept = [values[k] for k in present]
        if isinstance(rows, Mapping):
            columns.insert(0, Column(self.named, str, decides=any(c.decides for c in columns)))
            kept.insert(0, list(rows))
        return FilledTable(tuple(columns), tuple(zip(*kept, strict=True)))


def of_mappings(rows: Sequence[Mapping[str, Value]]) -> FilledTable:
    """Return a table of rows that name their columns themselves, which have what any row has."""
    headings = dict.fromkeys(heading for row in rows for heading in row)
    columns: list[Column[Any]] = [Column(heading, itemgetter(heading)) for heading in headings]
    return FilledTable(tuple(columns), tuple(tuple(row.get(heading) for heading in headings) for row in rows))


def text_table(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> str:
    """Return a table with a header line; columns as wide as needed, the last one not padded.

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


# A spreadsheet takes a cell that begins with one of these for a formula (CWE-1236).
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(value: object) -> object:
    """Text that a spreadsheet would run as a formula gets a leading apostrophe; all else is unchanged.

    >>> safe_cell("=1+1"), safe_cell(-1.5), safe_cell("conv1")
    ("'=1+1", -1.5, 'conv1')
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def csv_bytes(frame: pd.DataFrame) -> bytes:
    """Return the table as CSV in UTF-8, without its index.

    >>> import pandas as pd
    >>> csv_bytes(pd.DataFrame({"task": ["@a"], "ms": [1.5]})).decode().split()
    ['task,ms', "'@a,1.5"]
    """
    safe = frame.rename(columns=safe_cell).map(safe_cell)
    return safe.to_csv(index=False).encode("utf-8")


def parquet_bytes(frame: pd.DataFrame) -> bytes:
    """Return the table as Parquet.

    Columns of mixed types are written as text, columns without a value as numbers.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"ms": [1.5]})
    >>> pd.read_parquet(io.BytesIO(parquet_bytes(frame))).equals(frame)
    True
    """
    import pandas as pd

    typed = frame.rename(columns=str)
    for column in typed.columns:
        kind = pd.api.types.infer_dtype(typed[column], skipna=True)
        if kind.startswith("mixed") and kind != "mixed-integer-float":
            typed[column] = typed[column].map(str)
        elif kind == "empty":  # Parquet's type "null" fits no other file of the same table
            typed[column] = typed[column].astype("float64")
    buffer = io.BytesIO()
    typed.to_parquet(buffer, index=False)
    return buffer.getvalue()


_BEGIN, _END = "<!-- made from the data: begin -->", "<!-- made from the data: end -->"


def between_marks(page: str, text: str, around: str = "\n\n") -> str:
    """Replace the part of ``page`` between its two marks by ``text``, with ``around`` on both sides.

    >>> print(between_marks(f"a {_BEGIN}old{_END} b", "new"))
    a <!-- made from the data: begin -->
    <BLANKLINE>
    new
    <BLANKLINE>
    <!-- made from the data: end --> b
    """
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}{around}{text}{around}{_END}{after}"
