"""Files and CSV rows from outside, read within limits; own files, written whole.

They are ours: far above any network, trace or table in use, low enough that a hostile or damaged file
cannot exhaust the machine that reads it. What a model graph may hold is in :mod:`nona.graph.text`, what a
scenario may hold in :mod:`nona.scenario.gate`.
"""

from __future__ import annotations

import csv
import io
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MOST_FILE_BYTES = 64_000_000
"""A model, a trace, a table."""

MOST_MODEL_BYTES = 2**31
"""An ONNX file with its weights, which are passed over while it is read."""

MOST_BUNDLE_BYTES = 128_000_000
"""A scenario's bundle, packed and unpacked."""

READ_CPU_S = 10
READ_S = 30.0
READ_MEMORY_BYTES = 2**30
"""Limits on the reading of one file, whatever its format: processor time, wall-clock time, address space.

On a machine with a free core the first is what ends it. Where many work at a time, a file is not refused
because of the others.
"""

MOST_COLUMNS = 600_000
"""Cells in a row of CSV; a row of the Azure Functions trace has 1,444."""

MOST_MINUTES = 366 * 24 * 60
"""Minutes of a trace of counts: a leap year."""

MOST_ARRIVALS = 5_000_000
"""Arrivals of a trace."""

MOST_TRACE_S = 1e12
"""Distance of a time in a trace from 1970, in seconds: 30,000 years."""

MOST_RECEIVED_FILES = 20
MOST_RECEIVED_BYTES = 128_000_000
"""Files of one session that wait in the server's memory until a page takes them."""

MOST_SESSION_FILES = 100
MOST_SESSION_BYTES = 256_000_000
"""Files that a session of the app holds, and their bytes together."""

_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


Take = Callable[[BinaryIO, int], bytes]


def read_file(
    path: Path, what: str, most: int, refuse: Callable[[str], Exception], take: Take | None = None
) -> bytes:
    """The bytes of the regular file at ``path``, at most ``most``; links are followed.

    Nothing is waited for: a pipe without a writer is not opened, and a file that grows while it is read
    is refused. ``take`` makes the bytes from the open file and its size, where it should not be held whole.

    Parameters
    ----------
    what
        How errors call it, ``"File 'm.json'"``.
    refuse
        Makes the exception from the message.

    Raises
    ------
    FileNotFoundError
        When there is none; the caller knows the remedy.
    Exception
        The error of ``refuse`` if the file is no regular file, is too large, or cannot be read.

    Examples
    --------
    >>> read_file(Path("/"), "File '/'", 10, ValueError)
    Traceback (most recent call last):
    ValueError: File '/': it is a folder, not a file; name a file.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    if "\0" in str(path):
        raise refuse(f"{what}: a name of a file holds no null character; check the path.")
    try:
        status = path.stat()
        _check(status, what, most, refuse)  # a device may do something when it is opened
        with os.fdopen(os.open(path, flags), "rb") as file:
            size = _check(os.fstat(file.fileno()), what, most, refuse)
            if take is not None:
                return take(file, size)
            data = file.read(size + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise refuse(f"{what}: {error.strerror or error}; check the path.") from None
    except UnicodeEncodeError:
        raise refuse(f"{what}: a name of a file must be text; check the path.") from None
    if len(data) > size:
        raise refuse(f"{what}: it grows while it is read; wait until it is complete.")
    return data


def _check(found: os.stat_result, what: str, most: int, refuse: Callable[[str], Exception]) -> int:
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for test, name in _KINDS if test(found.st_mode)), "something else")
        raise refuse(f"{what}: it is {kind}, not a file; name a file.")
    if found.st_size > most:
        raise refuse(f"{what}: {found.st_size} bytes is more than the limit of {most}; make it smaller.")
    return found.st_size


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
        True if quotes must be closed and stand alone.
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


FRESH = ".new-"  # begins the name of a file that is being written


def write_whole(path: Path, data: bytes, *, sync: bool = False) -> None:
    """Write a file under another name and rename it, so that no half of it is ever found.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a", b"1")
    ...     [p.name for p in Path(folder).iterdir()]
    ['a']
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f"{FRESH}{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
