"""Rows of CSV from outside: within limits on rows, cells and time, and without a second copy of the text."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from nona.foreign.limits import MOST_COLUMNS, MOST_FILE_BYTES, READ_CPU_S

Refuse = Callable[[str], Exception]


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A file of CSV in UTF-8.

    Attributes
    ----------
    data
        Its bytes.
    what
        How errors call it.
    refuse
        Makes the exception from a message of one line.
    most_rows
        How many rows are taken, the header among them.
    strict
        Whether quotes must be closed and stand alone.
    within_s
        Seconds of processor time in which whoever asks must have taken all rows.

    Examples
    --------
    >>> list(CsvFile(b"a,b\\n\\n1,2\\n", "Table", ValueError).rows())
    [(1, ['a', 'b']), (3, ['1', '2'])]
    >>> list(CsvFile(b"a\\n1\\n", "Table", ValueError, most_rows=1).rows())
    Traceback (most recent call last):
    ValueError: Table: it has more than 1 rows; give fewer.
    """

    data: bytes
    what: str
    refuse: Refuse
    most_rows: int = MOST_FILE_BYTES
    strict: bool = False
    within_s: float = READ_CPU_S

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Numbered rows that are not blank; line numbers as an editor shows them."""
        self.check_size()
        cells = _Cells()
        reader = csv.reader(self._lines(cells), strict=self.strict)
        end, count = time.thread_time() + self.within_s, 0
        try:
            for row in reader:
                cells.count = 0
                if time.thread_time() > end:
                    raise self.refuse(
                        f"{self.what}, line {reader.line_num}: reading it takes more than "
                        f"{self.within_s:g} s of processor time; give a smaller file."
                    )
                if not any(cell.strip() for cell in row):
                    continue
                count += 1
                if count > self.most_rows:
                    raise self.refuse(f"{self.what}: it has more than {self.most_rows:,} rows; give fewer.")
                yield reader.line_num, row
        except csv.Error as error:
            raise self.refuse(
                f"{self.what}, line {reader.line_num}: it is not CSV ({error}); correct it."
            ) from None
        except UnicodeDecodeError:
            raise self.refuse(self._not_text()) from None

    def check_size(self) -> None:
        """Raise what ``refuse`` makes if there are too many bytes."""
        if len(self.data) > MOST_FILE_BYTES:
            raise self.refuse(
                f"{self.what}: {len(self.data):,} bytes are more than {MOST_FILE_BYTES:,}; make it smaller."
            )

    def _lines(self, cells: _Cells) -> Iterator[str]:
        """The lines, decoded one by one; a record of too many cells is refused before it is taken apart."""
        with io.TextIOWrapper(io.BytesIO(self.data), "utf-8-sig", newline="") as lines:
            for line in lines:
                cells.count += line.count(",")
                if cells.count >= MOST_COLUMNS:
                    raise self.refuse(
                        f"{self.what}: a row has more than {MOST_COLUMNS:,} cells; give fewer columns."
                    )
                yield line.replace("\0", "\N{REPLACEMENT CHARACTER}")

    def _not_text(self) -> str:
        try:
            self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            return f"{self.what}: byte {error.start} is not UTF-8; save it as text in UTF-8."
        return f"{self.what}: it is not UTF-8; save it as text in UTF-8."


@dataclass
class _Cells:
    """Cells of the record that is being read."""

    count: int = 0
