"""Input from outside: limits on it, and how files, CSV and ZIP archives are read; own files, written whole.

The limits are ours: far above any network, trace or table in use, low enough that a hostile or damaged file
cannot exhaust the machine that reads it. What a model graph may hold is in :mod:`nona.models.graph.text`,
what a scenario may hold in :mod:`nona.scenario.gate`.

An archive may be hostile: the sizes in its directory are bounded before a member is read, names are plain,
and no more bytes are unpacked than the directory says. Equal content gives equal bytes.
"""

from __future__ import annotations

import csv
import io
import os
import re
import secrets
import stat
import struct
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
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
    """Return the bytes of a regular file of limited size.

    Nothing is waited for: a pipe without a writer is not opened, and a file that grows while it is read
    is refused.

    Parameters
    ----------
    path : Path
        The file; links are followed.
    what : str
        How errors call it, such as ``"File 'm.json'"``.
    most : int
        Largest size in bytes.
    refuse : callable
        Makes the exception from a message.
    take : callable, optional
        Makes the bytes from the open file and its size, where it should not be held whole.

    Returns
    -------
    bytes
        The content.

    Raises
    ------
    FileNotFoundError
        If there is no such file; the caller knows the remedy.
    Exception
        That of ``refuse``, if the file is no regular file, is too large, or cannot be read.

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


def _check(status: os.stat_result, what: str, most: int, refuse: Callable[[str], Exception]) -> int:
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for test, name in _KINDS if test(status.st_mode)), "something else")
        raise refuse(f"{what}: it is {kind}, not a file; name a file.")
    if status.st_size > most:
        raise refuse(f"{what}: {status.st_size} bytes is more than the limit of {most}; make it smaller.")
    return status.st_size


Refuse = Callable[[str], Exception]


@dataclass(frozen=True, slots=True)
class CsvFile:
    r"""A file of CSV in UTF-8, its cells divided by commas, semicolons or tabs, as its first row has them.

    Where semicolons or tabs divide them, a comma within a number is a decimal one, as spreadsheets of many
    countries write it.

    ``data``: its bytes.
    ``what``: how errors call it.
    ``refuse``: makes the exception from a message of one line.
    ``most_rows``: how many rows are taken, the header among them.
    ``strict``: True if quotes must be closed and stand alone.
    ``within_s``: seconds of processor time in which the caller must have taken all rows.

    >>> list(CsvFile(b"a,b\n\n1,2\n", "Table", ValueError).numbered_rows())
    [(1, ['a', 'b']), (3, ['1', '2'])]
    >>> list(CsvFile(b"a\n1\n", "Table", ValueError, most_rows=1).numbered_rows())
    Traceback (most recent call last):
    ValueError: Table: it has more than 1 rows; give fewer.
    >>> [row for _, row in CsvFile(b"name;hours\n# a, b\na, b;2,5 h\n", "Table", ValueError).numbered_rows()]
    [['name', 'hours'], ['# a, b'], ['a, b', '2.5 h']]
    """

    data: bytes
    what: str
    refuse: Refuse
    most_rows: int = MOST_FILE_BYTES
    strict: bool = False
    within_s: float = READ_CPU_S

    def numbered_rows(self) -> Iterator[tuple[int, list[str]]]:
        """Numbered rows that are not blank; line numbers as an editor shows them."""
        self.check_size()
        mark = _separator(self.data)
        cells = _Cells(mark)
        reader = csv.reader(self._lines(cells), strict=self.strict, delimiter=mark)
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
                yield reader.line_num, row if mark == "," else [_DECIMAL.sub(r"\1.\2", c) for c in row]
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
        """Yield decoded lines one by one; a record of too many cells is refused before it is split."""
        with io.TextIOWrapper(io.BytesIO(self.data), "utf-8-sig", newline="") as lines:
            for line in lines:
                cells.count += line.count(cells.mark)
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
    mark: str
    count: int = 0


_DECIMAL = re.compile(r"^(\s*[+-]?\d+),(\d+(?:[eE][+-]?\d+)?\s*[^\d,.;]*)$")
_QUOTED = re.compile(rb'"[^"]*"')
_HEAD_BYTES = 100_000  # in which the first row lies


def _separator(data: bytes) -> str:
    r"""Return the delimiter of cells: the most frequent one of the first row that is no comment.

    >>> [_separator(text) for text in (b"# a, b, c\na;b\n1,5;2\n", b"a,b;c,d\n", b"a\tb\n", b"a")]
    [';', ',', '\t', ',']
    """
    rows = data[:_HEAD_BYTES].removeprefix(b"\xef\xbb\xbf").splitlines()
    first = next((row for row in rows if row.strip() and not row.startswith(b"#")), b"")
    unquoted = _QUOTED.sub(b"", first)
    return max(",;\t", key=lambda mark: unquoted.count(mark.encode()))


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


_MOST_RATIO = 200  # unpacked over packed bytes of a file
_SMALL_BYTES = 1_000_000  # whose ratio does no harm
_MOST_DIRECTORY_BYTES = 100_000
_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_END = struct.Struct("<4s4H2LH")  # of central directory, at the very end of the file
_NAME = re.compile(r"[\w+ -][\w.+ -]{0,99}")
_IN_FOLDER = re.compile(r"(?!\.{1,2}$)[\w.+ -]{1,100}")  # hidden files too, but no way up
_MOST_FOLDERS = 12
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, OSError, struct.error)


def is_zip(data: bytes) -> bool:
    """Return whether ``data`` begins as a ZIP file does."""
    return data.startswith(_MAGIC)


@dataclass(frozen=True, slots=True)
class Archive:
    """A kind of ZIP file that this program writes and reads.

    ``refuse``: makes the exception from what is wrong and the remedy, one line each.
    ``must_hold``: the member without which it is none of this kind.
    ``most_main_bytes``: bytes that this member may have.
    ``most_members``, ``most_bytes``: members, and bytes of the file as of all its members unpacked.
    ``smaller``: the remedy where it is too large.
    ``folders``: its members may lie in folders; folders themselves are passed over.

    >>> kind = Archive(lambda why, remedy: ValueError(f"{why}; {remedy}."), "a.txt", 100)
    >>> kind.read(kind.write({"a.txt": b"1"}))
    {'a.txt': b'1'}
    >>> kind.read(kind.write({"b.txt": b"1"}))
    Traceback (most recent call last):
    ValueError: it holds no a.txt; open a file that this program wrote.
    """

    refuse: Callable[[str, str], Exception]
    must_hold: str
    most_main_bytes: int
    most_members: int = 101
    most_bytes: int = MOST_BUNDLE_BYTES
    smaller: str = "leave some files out"
    folders: bool = False

    def write(self, members: Mapping[str, bytes]) -> bytes:
        """Return the file that holds these members.

        What :meth:`read` would refuse for its size is refused here.
        """
        total = sum(map(len, members.values()))
        if total > self.most_bytes or len(members) > self.most_members:
            raise self.refuse(
                f"{len(members)} files of {total:,} bytes are more than {self.most_members} files of "
                f"{self.most_bytes:,}",
                self.smaller,
            )
        return _zipped(members)

    def read(self, data: bytes) -> dict[str, bytes]:
        """Return the members by name; what ``refuse`` makes, whatever ``data`` is."""
        self._check_end(data)
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                members = [m for m in archive.infolist() if not (self.folders and m.is_dir())]
                problem = self._problem(members)
                contents = {} if problem else dict(_unpacked(archive, members))
        except _BROKEN:
            raise self.refuse("it is damaged", "get it again") from None
        if problem:
            raise self.refuse(*problem)
        return contents

    def _check_end(self, data: bytes) -> None:
        """Refuse what Python's reader would search for, or read, without bound."""
        if len(data) > self.most_bytes:
            raise self.refuse(
                f"{len(data):,} bytes are more than the {self.most_bytes:,} allowed", self.smaller
            )
        if len(data) < _END.size:
            raise self.refuse("it was cut short", "get it again")
        magic, *_, members, size, _, comment = _END.unpack(data[-_END.size :])
        if magic != b"PK\x05\x06" or comment or data[-_END.size - 20 :].startswith(b"PK\x06\x07"):
            raise self.refuse(
                "it was cut short, or is no plain ZIP file", "get it again, or pack its files again"
            )
        if members > self.most_members or size > max(_MOST_DIRECTORY_BYTES, 200 * self.most_members):
            raise self.refuse(
                f"{members} files are more than the {self.most_members} allowed", "leave some out"
            )

    def _problem(self, members: list[zipfile.ZipInfo]) -> tuple[str, str] | None:
        """Return the problem with the directory of the archive and its remedy; ``None`` without one."""
        for info in members:
            if problem := self._member_problem(info):
                return problem
        names = [info.filename.casefold() for info in members]
        if len(set(names)) < len(names):
            return "two of its files have the same name", "rename one"
        if self.must_hold and self.must_hold not in (info.filename for info in members):
            return f"it holds no {self.must_hold}", "open a file that this program wrote"
        total = sum(info.file_size for info in members)
        if total > self.most_bytes:
            return f"it unpacks to {total:,} bytes; {self.most_bytes:,} are allowed", self.smaller
        return None

    def _is_plain(self, name: str) -> bool:
        if not self.folders:
            return _NAME.fullmatch(name) is not None
        parts = name.split("/")
        return len(parts) <= _MOST_FOLDERS and all(_IN_FOLDER.fullmatch(part) for part in parts)

    def _member_problem(self, info: zipfile.ZipInfo) -> tuple[str, str] | None:
        name, size, packed = info.filename, info.file_size, info.compress_size
        shown = repr(name[:60])
        kind = stat.S_IFMT(info.external_attr >> 16)
        most = self.most_main_bytes if name == self.must_hold else MOST_FILE_BYTES
        if not self._is_plain(name) or info.is_dir() or kind not in (0, stat.S_IFREG):
            return f"{shown} is not the name of a plain file", (
                "rename it" if self.folders else "put all files at its top"
            )
        if info.flag_bits & 1 or info.compress_type not in _METHODS:
            return f"{shown} is encrypted or packed in another way than deflate", "pack it again"
        if size > most:
            return f"{shown} has {size:,} bytes; {most:,} are allowed", "make it smaller"
        if size > _SMALL_BYTES and size > _MOST_RATIO * max(packed, 1):
            return f"{shown} unpacks to more than {_MOST_RATIO} times its size", "store it without packing"
        return None


def _zipped(members: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            packed = len(zlib.compress(data, 6))
            dense = len(data) > _SMALL_BYTES and len(data) > _MOST_RATIO // 2 * packed
            info.compress_type = zipfile.ZIP_STORED if dense else zipfile.ZIP_DEFLATED
            archive.writestr(info, data, compresslevel=6)
    return out.getvalue()


def _unpacked(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo]) -> Iterator[tuple[str, bytes]]:
    for info in members:
        with archive.open(info) as file:
            data = file.read(info.file_size)
            if len(data) != info.file_size or file.read(1):
                raise zipfile.BadZipFile(f"{info.filename!r} is not as long as the directory says")
        yield info.filename, data
