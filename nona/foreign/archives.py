"""ZIP files from outside: plain names, within limits before anything is unpacked.

Whoever made the file may want to do harm: what its directory says is bounded before a member is read, names
are plain, and no more bytes are unpacked than it says. Equal content gives equal bytes.
"""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from nona.foreign.files import MOST_BUNDLE_BYTES, MOST_FILE_BYTES

MOST_RATIO = 200  # unpacked over packed bytes of a file
SMALL_BYTES = 1_000_000  # whose ratio does no harm
_MOST_DIRECTORY_BYTES = 100_000
_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_END = struct.Struct("<4s4H2LH")  # of central directory, at the very end of the file
_NAME = re.compile(r"[\w+ -][\w.+ -]{0,99}")
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, OSError, struct.error)


def is_zip(data: bytes) -> bool:
    """Return whether ``data`` begins as a ZIP file does."""
    return data.startswith(_MAGIC)


@dataclass(frozen=True, slots=True)
class Archive:
    """A kind of ZIP file that this program writes and reads.

    Attributes
    ----------
    refuse
        Makes the exception from what is wrong and the remedy, one line each.
    must_hold
        The member without which it is none of this kind.
    most_main_bytes
        Bytes that this member may have.
    most_members, most_bytes
        Members, and bytes of the file as of all its members unpacked.
    smaller
        The remedy where it is too large.

    Examples
    --------
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

    def write(self, members: Mapping[str, bytes]) -> bytes:
        """The file that holds these members; what :meth:`read` would refuse for its size is refused here."""
        total = sum(map(len, members.values()))
        if total > self.most_bytes or len(members) > self.most_members:
            raise self.refuse(
                f"{len(members)} files of {total:,} bytes are more than {self.most_members} files of "
                f"{self.most_bytes:,}",
                self.smaller,
            )
        return _zipped(members)

    def read(self, data: bytes) -> dict[str, bytes]:
        """The members by name; what ``refuse`` makes, whatever ``data`` is."""
        self._check_end(data)
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                members = archive.infolist()
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
        if members > self.most_members or size > _MOST_DIRECTORY_BYTES:
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
        if self.must_hold not in (info.filename for info in members):
            return f"it holds no {self.must_hold}", "open a file that this program wrote"
        total = sum(info.file_size for info in members)
        if total > self.most_bytes:
            return f"it unpacks to {total:,} bytes; {self.most_bytes:,} are allowed", self.smaller
        return None

    def _member_problem(self, info: zipfile.ZipInfo) -> tuple[str, str] | None:
        name, size, packed = info.filename, info.file_size, info.compress_size
        shown = repr(name[:60])
        kind = stat.S_IFMT(info.external_attr >> 16)
        most = self.most_main_bytes if name == self.must_hold else MOST_FILE_BYTES
        if not _NAME.fullmatch(name) or info.is_dir() or kind not in (0, stat.S_IFREG):
            return f"{shown} is not the name of a plain file", "put all files at its top"
        if info.flag_bits & 1 or info.compress_type not in _METHODS:
            return f"{shown} is encrypted or packed in another way than deflate", "pack it again"
        if size > most:
            return f"{shown} has {size:,} bytes; {most:,} are allowed", "make it smaller"
        if size > SMALL_BYTES and size > MOST_RATIO * max(packed, 1):
            return f"{shown} unpacks to more than {MOST_RATIO} times its size", "store it without packing"
        return None


def _zipped(members: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            packed = len(zlib.compress(data, 6))
            dense = len(data) > SMALL_BYTES and len(data) > MOST_RATIO // 2 * packed
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
