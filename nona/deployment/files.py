"""The files of an import: a file, a folder or a ZIP archive, read as text within bounds; nothing is run."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from nona.core.errors import DeploymentError, GraphError
from nona.core.foreign import MOST_FILE_BYTES, Archive, is_zip, read_file
from nona.models.graph.readers import read_model_file, slimmed

MOST_FILES = 5000
MOST_TEXT_BYTES = 16_000_000
MOST_TOTAL_BYTES = 128_000_000
MOST_DEPTH = 8
_SKIPPED = {"__pycache__", ".git", "node_modules", ".venv"}


@dataclass(frozen=True, slots=True)
class GivenFile:
    """A file: its name with the folders inside what was given, and its bytes.

    ``text`` is ``None`` for what is no text: of a plan, weights or a library only the name counts.
    """

    name: str
    data: bytes
    text: str | None

    @property
    def base(self) -> str:
        """The name without folders."""
        return PurePosixPath(self.name).name

    @property
    def parts(self) -> tuple[str, ...]:
        """The folders and the name."""
        return PurePosixPath(self.name).parts


def _refuse(text: str) -> DeploymentError:
    return DeploymentError(text)


_ZIP = Archive(
    lambda why, remedy: DeploymentError(f"Archive: {why}; {remedy}."),
    must_hold="",
    most_main_bytes=MOST_FILE_BYTES,
    most_members=MOST_FILES,
    most_bytes=MOST_TOTAL_BYTES,
    smaller="leave weights out",
    folders=True,
)


def given_files(paths: Sequence[Path]) -> tuple[GivenFile, ...]:
    """Return the files at these paths, those of folders and archives among them, in order of their names.

    Raises ``DeploymentError`` in one line for a path that is not there, or too much at it.
    """
    files: list[GivenFile] = []
    total = 0
    for path in paths:
        for name, data in _read(path):
            total += len(data)
            if len(files) >= MOST_FILES or total > MOST_TOTAL_BYTES:
                raise DeploymentError(
                    f"{path}: more than {MOST_FILES:,} files or {MOST_TOTAL_BYTES // 10**6} MB; give fewer."
                )
            files.append(file_of(name, data))
    return tuple(files)


def file_of(name: str, data: bytes) -> GivenFile:
    """Return a file with its text, where it is one."""
    return GivenFile(name, data, None if name.lower().endswith(".onnx") else _text(name, data))


def unpacked(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of a file, or of those that an archive holds."""
    if not is_zip(data):
        yield name, data
        return
    for member, content in sorted(_ZIP.read(data).items()):
        yield member, _without_weights(member, content)


def _read(path: Path) -> Iterator[tuple[str, bytes]]:
    what = f"File {str(path)!r}"
    if path.is_dir():
        for inner in _walked(path, 0):
            yield str(PurePosixPath(path.resolve().name, inner.relative_to(path).as_posix())), _content(inner)
        return
    try:
        yield from unpacked(path.name, _content(path))
    except FileNotFoundError:
        raise DeploymentError(f"{what}: no such file or folder; check the path.") from None


def _walked(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the files of a folder and of those in it; links to folders are not followed."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise DeploymentError(f"Folder {str(folder)!r}: {error.strerror}; check it.") from None
    for entry in entries:
        if entry.is_dir():
            if depth < MOST_DEPTH and entry.name not in _SKIPPED and not entry.is_symlink():
                yield from _walked(entry, depth + 1)
        elif entry.is_file():
            yield entry


_OPAQUE = (
    ".plan",
    ".engine",
    ".pt",
    ".pth",
    ".bin",
    ".safetensors",
    ".savedmodel",
    ".pb",
    ".so",
    ".gz",
    ".tar",
)


def _content(path: Path) -> bytes:
    what = f"File {str(path)!r}"
    if path.suffix.lower() in _OPAQUE:
        return b""
    if path.suffix.lower() == ".onnx":
        try:
            return read_model_file(path, what)
        except GraphError as error:
            raise DeploymentError(str(error)) from None
    return read_file(path, what, MOST_FILE_BYTES, _refuse)


def _without_weights(name: str, data: bytes) -> bytes:
    return slimmed(io.BytesIO(data), len(data), PurePosixPath(name).name)


def _text(name: str, data: bytes) -> str | None:
    if name.lower().endswith(_OPAQUE) or b"\0" in data[:4096]:
        return None
    if len(data) > MOST_TEXT_BYTES:
        raise DeploymentError(
            f"{name}:1: {len(data):,} bytes are more than {MOST_TEXT_BYTES // 10**6} MB of text; give less."
        )
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
