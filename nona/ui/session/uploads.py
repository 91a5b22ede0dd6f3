"""Files that a person uploaded: a folder of plain names, removed when no longer in use."""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from pathlib import Path, PurePath

from nona.errors import GraphError
from nona.graph.readers import MAX_BYTES
from nona.sources.lookup import Sources

MAX_FILES = 100
_UNSAFE = re.compile(r"[^\w.+ -]+")


class Uploads:
    """A session's own folder.

    Examples
    --------
    >>> uploads = Uploads()
    >>> uploads.add("../../etc/my net.json", b"{}")
    'my net.json'
    >>> uploads.names()
    ('my net.json',)
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="nona-uploads-"))
        self._finalizer = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    @property
    def sources(self) -> Sources:
        """Where a scenario of this session finds its files."""
        return Sources(self.folder, confined=True)

    def add(self, name: str, data: bytes) -> str:
        """Keep ``data``; returns the plain file name under which it is found.

        Raises
        ------
        GraphError
            When the file is too large, or there are too many.
        """
        plain = safe_name(name)
        if len(data) > MAX_BYTES:
            raise GraphError(
                f"File {plain!r}: {len(data)} bytes is more than the limit of {MAX_BYTES}; make it smaller."
            )
        if len(self.names()) >= MAX_FILES and plain not in self.names():
            raise GraphError(f"File {plain!r}: a session holds at most {MAX_FILES} files; start a new one.")
        (self.folder / plain).write_bytes(data)
        return plain

    def drop(self, name: str) -> None:
        """Forget the file ``name``, if it is there."""
        (self.folder / safe_name(name)).unlink(missing_ok=True)

    def names(self) -> tuple[str, ...]:
        """Names of all files, sorted."""
        return tuple(sorted(p.name for p in self.folder.iterdir()))


def safe_name(name: str) -> str:
    """The last part of a path in plain characters; at most 60 of them, never hidden.

    >>> safe_name("C:\\\\models\\\\<b>net</b>.onnx"), safe_name("..")
    ('b_.onnx', 'file')
    """
    base = PurePath(name.replace("\\", "/")).name
    return _UNSAFE.sub("_", base)[-60:].strip(". ") or "file"
