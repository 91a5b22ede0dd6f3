"""Rows of text files that users give: read within limits, all problems at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf, isfinite
from typing import TypeVar

from nona.core.errors import ScenarioError
from nona.core.foreign import MOST_FILE_BYTES, CsvFile
from nona.core.units import Dimension, parse_quantity

R = TypeVar("R")
MOST_PROBLEMS = 20
MOST_NAME = 200


@dataclass(frozen=True, slots=True)
class FileProblems:
    """Problems of the file that ``what`` names; the first :data:`MOST_PROBLEMS` are listed.

    >>> problems = FileProblems("Trace 'a.trace'")
    >>> problems.add(3, "steps='x' must be a number; correct it.")
    >>> problems.check()
    Traceback (most recent call last):
    nona.core.errors.ScenarioError: Trace 'a.trace', line 3: steps='x' must be a number; correct it.
    """

    what: str
    texts: list[str] = field(default_factory=list)
    _about: dict[tuple[object, ...], int] = field(default_factory=dict)

    def add(self, line: int, text: str) -> None:
        """Record a problem of a line, by the number that an editor shows; 0: of the file."""
        place = f", line {line}" if line else ""
        self.texts.append(f"{self.what}{place}: {text}")

    def has(self, line: int) -> bool:
        """Return whether the last problem is of this line."""
        return bool(self.texts) and self.texts[-1].startswith(f"{self.what}, line {line}:")

    def is_first(self, line: int, *about: object) -> bool:
        """Return whether a line has no problem and is the first about something; a later one is a problem."""
        if self.has(line):
            return False
        before = self._about.setdefault(about, line)
        if before != line:
            named = ", ".join(str(part) for part in about if part not in (None, ""))
            self.add(line, f"line {before} is about {named[:80]} too; keep one of them.")
        return before == line

    @property
    def full(self) -> bool:
        """Whether no further problem is listed."""
        return len(self.texts) > MOST_PROBLEMS

    def check(self) -> None:
        """Raise them as one :class:`~nona.core.errors.ScenarioError`, if there are some."""
        if self.texts:
            more = [f"{self.what}: there are further problems; correct these first."] if self.full else []
            raise ScenarioError([*self.texts[:MOST_PROBLEMS], *more])

    def number(self, line: int, key: str, text: str, least: float = 0.0, most: float = inf) -> float:
        """Return a finite number from ``least`` to ``most``; 0 where there is a problem."""
        try:
            value = float(text)
        except ValueError:
            value = inf
        if not (isfinite(value) and least <= value <= most):
            self.add(line, f"{key}={text[:40]!r} must be a number {_range(least, most)}; correct it.")
            return 0.0
        return value

    def whole(self, line: int, key: str, text: str, least: int, most: int) -> int:
        """Return a whole number from ``least`` to ``most``; ``least`` where there is a problem."""
        digits = text.strip()
        if digits.isascii() and digits.isdigit() and len(digits) < 16 and least <= int(digits) <= most:
            return int(digits)
        self.add(line, f"{key}={text[:40]!r} must be a whole number {_range(least, most)}; correct it.")
        return least

    def quantity(self, line: int, key: str, text: str, dimension: Dimension, most: float) -> float:
        """Return a quantity with or without unit, from 0 to ``most``; 0 where there is a problem."""
        try:
            value = parse_quantity(text, dimension)
        except ValueError as error:
            self.add(line, f"{key}: {str(error)[:150]}.")
            return 0.0
        if not 0 <= value <= most:
            self.add(line, f"{key}={text[:40]!r} must be from 0 to {most:g}; correct it.")
            return 0.0
        return value

    def name(self, line: int, key: str, text: str) -> str:
        """Return a printable text of 1 to 200 characters."""
        value = text.strip()
        if not value or len(value) > MOST_NAME or not value.isprintable():
            self.add(
                line, f"{key}={value[:40]!r} must have 1 to {MOST_NAME} printable characters; correct it."
            )
        return value


def _range(least: float, most: float) -> str:
    return f"of at least {least:g}" if most == inf else f"from {least:g} to {most:g}"


def file_text(data: bytes, what: str) -> str:
    """Return a file as text; raises ``ScenarioError`` where it is not UTF-8 or too large."""
    _file(data, what).check_size()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScenarioError([f"{what}: byte {error.start} is not UTF-8; save it as text in UTF-8."]) from None


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table: its cells by column, and where its problems go."""

    number: int
    cells: Mapping[str, str]
    problems: FileProblems

    def add(self, text: str) -> None:
        """Record a problem of this row."""
        self.problems.add(self.number, text)

    def cell(self, key: str) -> str:
        """Without the column: nothing."""
        return self.cells.get(key, "")

    def name(self, key: str) -> str:
        """Return the cell as a name."""
        return self.problems.name(self.number, key, self.cell(key))

    def whole(self, key: str, most: int, least: int = 1) -> int:
        """Return the cell as a whole number within bounds."""
        return self.problems.whole(self.number, key, self.cell(key), least, most)

    def value(self, key: str, most: float) -> float:
        """Return the cell as a number from 0 to ``most``."""
        return self.problems.number(self.number, key, self.cell(key), 0.0, most)

    def above(self, key: str, least: float, most: float) -> float:
        """Return the cell as a number above ``least``, up to ``most``; ``most`` where there is a problem."""
        value = self.problems.number(self.number, key, self.cell(key), least, most)
        if value <= least and not self.wrong:
            self.add(f"{key}={self.cell(key)[:40]!r} must be above {least:g}; correct it.")
        return most if self.wrong else value

    def quantity(self, key: str, dimension: Dimension, most: float) -> float:
        """Return the cell as a quantity in SI units."""
        return self.problems.quantity(self.number, key, self.cell(key), dimension, most)

    def one_of(self, key: str, choices: Collection[str]) -> str:
        """Return the cell where it is one of the choices, or empty."""
        if (text := self.cell(key)) and text not in choices:
            self.add(f"{key}={text[:40]!r} is not known; use {', '.join(choices)} or nothing.")
        return text

    def is_first(self, *about: object) -> bool:
        """Return whether this row has no problem, and no other was about the same."""
        return self.problems.is_first(self.number, *about)

    @property
    def wrong(self) -> bool:
        """Whether this row has a problem."""
        return self.problems.has(self.number)


class TextTable:
    """A table in CSV with a ``header``: neither blank rows nor comments (``#``), at most ``most`` rows."""

    def __init__(self, data: bytes, what: str, most: int) -> None:
        rows = _file(data, what, most + 1).numbered_rows()
        self.what = what
        self._rows: Iterator[tuple[int, list[str]]] = (
            (n, row) for n, row in rows if not row[0].lstrip().startswith("#")
        )
        self._first = next(self._rows, (0, []))
        self.header = [cell.strip() for cell in self._first[1]]

    def as_words(self, header: Sequence[str]) -> None:
        """Take the first row as one like the others: words with blanks between them, in these columns."""
        rows = chain((self._first,), self._rows)
        self._rows, self.header = ((n, " ".join(row).split()) for n, row in rows), list(header)

    def read(
        self,
        required: Sequence[str],
        optional: Sequence[str],
        make: Callable[[TableRow], R | None],
        nothing: str = "",
    ) -> list[R]:
        """Apply ``make`` to each row, ``None`` left out; ``nothing`` is the problem where none is left."""
        place = column_places(self.header, required, optional, self.what)
        problems, rows = FileProblems(self.what), list[R]()
        for number, row in self._rows:
            if len(row) != len(self.header):
                wanted = f"{len(row)} cells where the header has {len(self.header)}"
                problems.add(number, f"{wanted}; quote cells that hold a comma.")
            else:
                cells = {name: row[i].strip() for name, i in place.items()}
                if (of_row := make(TableRow(number, cells, problems))) is not None:
                    rows.append(of_row)
            if problems.full:
                break
        if nothing and not rows and not problems.texts:
            problems.add(0, nothing)
        problems.check()
        return rows


def _file(data: bytes, what: str, most_rows: int = MOST_FILE_BYTES) -> CsvFile:
    return CsvFile(data, what, lambda text: ScenarioError([text]), most_rows)


def column_places(
    header: Sequence[str], required: Sequence[str], optional: Sequence[str], what: str
) -> Mapping[str, int]:
    """Column → place, for a header that has the required columns, and others only if they are optional.

    >>> dict(column_places(["b", "a"], ["a"], ["b"], "Table"))
    {'b': 0, 'a': 1}
    """
    names = [cell.strip() for cell in header]
    allowed = [*required, *optional]
    wrong = [
        f"{what}: the column {n!r} is missing; the header needs {', '.join(required)}."
        for n in required
        if n not in names
    ]
    wrong += [
        f"{what}: the column {n[:40]!r} is not known; use {', '.join(allowed)}."
        for n in names[:100]
        if n not in allowed
    ]
    wrong += [
        f"{what}: the column {n!r} appears twice; keep one."
        for n in dict.fromkeys(names)
        if n in allowed and names.count(n) > 1
    ]
    if wrong:
        raise ScenarioError(wrong[:MOST_PROBLEMS])
    return {n: i for i, n in enumerate(names)}
