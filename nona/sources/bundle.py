"""Bundles (``.nona.zip``): a scenario with its models, traces and tables, in one ZIP file.

At the top of the archive lie ``scenario.yaml`` and the files that it names, in no folder. Equal content
gives equal bytes. Whoever made a bundle may want to do harm: what its directory says is bounded before
anything is unpacked, names are plain, and no more bytes are unpacked than it says. The models are
parsed as uploads are, which is in a guarded process.
"""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping

from nona.errors import ScenarioError
from nona.foreign.limits import MOST_BUNDLE_BYTES as MOST_BYTES
from nona.foreign.limits import MOST_FILE_BYTES
from nona.scenario.file import dump_scenario
from nona.scenario.limits import MAX_BYTES as MOST_SCENARIO_BYTES
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.sources.named import file_names, with_files_renamed
from nona.sources.names import unused_name

SUFFIX = ".nona.zip"
SCENARIO = "scenario.yaml"
MOST_MEMBERS = 101  # the scenario and a hundred files
MOST_RATIO = 200  # unpacked over packed bytes of a file
SMALL_BYTES = 1_000_000  # whose ratio does no harm
_MOST_DIRECTORY_BYTES = 100_000
_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_END = struct.Struct("<4s4H2LH")  # of central directory, at the very end of the file
_NAME = re.compile(r"[\w+ -][\w.+ -]{0,99}")
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, OSError, struct.error)


def is_bundle(data: bytes) -> bool:
    """Whether ``data`` begins as a ZIP file does."""
    return data.startswith(_MAGIC)


def pack_bundle(scenario: Scenario, sources: Sources) -> bytes:
    """The bundle of a scenario with every file that it names.

    Files from different folders that share a name get names of their own. A query class keeps its label.

    Raises
    ------
    ScenarioError
        When files are missing: all of them are named.

    Examples
    --------
    >>> from nona.scenario.file import parse_scenario
    >>> text = "{version: 1, cluster: {servers: [{count: 2}]}, workload: [{model: gpt2, rate: 5}]}"
    >>> data = pack_bundle(parse_scenario(text), Sources())
    >>> list(read_bundle(data)), data == pack_bundle(parse_scenario(text), Sources())
    (['scenario.yaml'], True)
    """
    sources.check(scenario)
    names: dict[str, str] = {}
    for name in file_names(scenario):
        names[name] = unused_name(name, [SCENARIO, *names.values()])
    members = {names[name]: sources.read(name) for name in names}
    renamed = with_files_renamed(scenario, lambda name: names[name])
    members = {SCENARIO: dump_scenario(renamed).encode(), **dict(sorted(members.items()))}
    total = sum(map(len, members.values()))
    if total > MOST_BYTES or len(members) > MOST_MEMBERS:
        raise _bad(
            f"{len(members)} files of {total:,} bytes are more than {MOST_MEMBERS} files of {MOST_BYTES:,}",
            "leave weights out of the models",
        )
    return _zipped(members)


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


def read_bundle(data: bytes) -> dict[str, bytes]:
    """The files of a bundle by name, :data:`SCENARIO` among them.

    Raises
    ------
    ScenarioError
        In one line, whatever ``data`` is.
    """
    _check_end(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            _check_members(members)
            return dict(_unpacked(archive, members))
    except ScenarioError:
        raise
    except _BROKEN:
        raise _bad("it is damaged", "get it again") from None


def _check_end(data: bytes) -> None:
    """Refuse what Python's reader would search for, or read, without bound."""
    if len(data) > MOST_BYTES:
        raise _bad(f"{len(data):,} bytes are more than the {MOST_BYTES:,} allowed", "leave weights out of it")
    if len(data) < _END.size:
        raise _bad("it was cut short", "get it again")
    magic, *_, members, size, _, comment = _END.unpack(data[-_END.size :])
    if magic != b"PK\x05\x06" or comment or data[-_END.size - 20 :].startswith(b"PK\x06\x07"):
        raise _bad("it was cut short, or is no plain ZIP file", "get it again, or pack its files again")
    if members > MOST_MEMBERS or size > _MOST_DIRECTORY_BYTES:
        raise _bad(f"{members} files are more than the {MOST_MEMBERS} allowed", "leave some out")


def _check_members(members: list[zipfile.ZipInfo]) -> None:
    for info in members:
        _check_member(info)
    names = [info.filename.casefold() for info in members]
    if len(set(names)) < len(names):
        raise _bad("two of its files have the same name", "rename one")
    if SCENARIO not in (info.filename for info in members):
        raise _bad(f"it holds no {SCENARIO}", "open a bundle that this program wrote")
    total = sum(info.file_size for info in members)
    if total > MOST_BYTES:
        raise _bad(f"it unpacks to {total:,} bytes; {MOST_BYTES:,} are allowed", "leave weights out of it")


def _check_member(info: zipfile.ZipInfo) -> None:
    name, size, packed = info.filename, info.file_size, info.compress_size
    shown = repr(name[:60])
    kind = stat.S_IFMT(info.external_attr >> 16)
    most = MOST_SCENARIO_BYTES if name == SCENARIO else MOST_FILE_BYTES
    if not _NAME.fullmatch(name) or info.is_dir() or kind not in (0, stat.S_IFREG):
        raise _bad(f"{shown} is not the name of a plain file", "put all files at its top")
    if info.flag_bits & 1 or info.compress_type not in _METHODS:
        raise _bad(f"{shown} is encrypted or packed in another way than deflate", "pack it again")
    if size > most:
        raise _bad(f"{shown} has {size:,} bytes; {most:,} are allowed", "make it smaller")
    if size > SMALL_BYTES and size > MOST_RATIO * max(packed, 1):
        raise _bad(f"{shown} unpacks to more than {MOST_RATIO} times its size", "store it without packing")


def _unpacked(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo]) -> Iterator[tuple[str, bytes]]:
    for info in members:
        with archive.open(info) as file:
            data = file.read(info.file_size)
            if len(data) != info.file_size or file.read(1):
                raise _bad(f"{info.filename!r} is not as long as the bundle says", "get it again")
        yield info.filename, data


def _bad(why: str, remedy: str) -> ScenarioError:
    return ScenarioError([f"Bundle: {why}; {remedy}."])
