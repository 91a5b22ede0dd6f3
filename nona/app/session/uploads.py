"""Files that a person uploads: kept in a folder of the session, within bounds."""

from __future__ import annotations

import io
import shutil
import weakref
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from nona.app.server.ending import made, reserved
from nona.core.errors import GraphError
from nona.core.foreign import FRESH, MOST_FILE_BYTES, MOST_SESSION_BYTES, MOST_SESSION_FILES, write_whole
from nona.models.graph.readers import slimmed
from nona.scenario.lookup import Sources, safe_name, unused_name


class Uploads:
    """A session's own folder, made when the first file comes, and again if a cleaner removed it.

    >>> uploads = Uploads()
    >>> uploads.add("../../etc/my net.json", b"{}")
    'my net.json'
    >>> uploads.names()
    ('my net.json',)
    """

    def __init__(self) -> None:
        self.folder = reserved("uploads-")
        self._taken: set[str] = set()
        self._finalizer = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    @property
    def sources(self) -> Sources:
        """The files of this session, for its scenarios."""
        return Sources(self.folder, confined=True)

    def add(self, name: str, data: bytes) -> str:
        """Keep ``data``; returns the plain file name under which it is found."""
        plain = safe_name(name)
        data = slimmed(io.BytesIO(data), len(data), plain)
        if len(data) > MOST_FILE_BYTES:
            raise GraphError(
                f"File {plain!r}: {len(data)} bytes is more than the limit of {MOST_FILE_BYTES}; "
                "make it smaller."
            )
        others = [name for name in self.names() if name != plain]
        if len(others) >= MOST_SESSION_FILES:
            raise GraphError(
                f"File {plain!r}: a session holds at most {MOST_SESSION_FILES} files; start a new one."
            )
        size = len(data) + sum(self.size(name) for name in others)
        if size > MOST_SESSION_BYTES:
            raise GraphError(
                f"File {plain!r}: this session's files would have {size} bytes, more than "
                f"{MOST_SESSION_BYTES}; give it the name of a file that it may replace."
            )
        try:
            write_whole(made(self.folder, GraphError) / plain, data)
        except OSError as error:
            raise GraphError(
                f"File {plain!r}: it cannot be kept in {self.folder} ({error.strerror}); free space there."
            ) from error
        self._taken.add(plain)
        return plain

    def keep(self, name: str, data: bytes) -> str:
        """Add a file as :meth:`add` does; if another content has the name, rename the new file."""
        plain = safe_name(name)
        if plain in self.names() and (self.folder / plain).read_bytes() == data:
            return plain
        return self.add(unused_name(plain, self.names()), data)

    def remove(self, name: str) -> None:
        """Forget the file ``name``, if it is there."""
        plain = safe_name(name)
        self._taken.discard(plain)
        (self.folder / plain).unlink(missing_ok=True)

    def names(self) -> tuple[str, ...]:
        """List the names of the session's files."""
        try:
            names = [p.name for p in self.folder.iterdir()]
        except OSError:  # not made yet, or removed by a cleaner
            return ()
        return tuple(sorted(name for name in names if not name.startswith(FRESH)))

    def lost(self) -> tuple[str, ...]:
        """Names of stored files that have been removed from the disk.

        >>> uploads = Uploads()
        >>> name = uploads.add("a.json", b"{}")
        >>> shutil.rmtree(uploads.folder)
        >>> uploads.names(), uploads.lost()
        ((), ('a.json',))
        """
        return tuple(sorted(self._taken - set(self.names())))

    def forget(self, names: Iterable[str]) -> None:
        """Miss these files no longer."""
        self._taken -= set(names)

    def bring_back(self, copies: Path) -> None:
        """Take the files that are lost from a folder that has copies of them, as far as it has."""
        for name in self.lost():
            with suppress(OSError, GraphError):
                self.add(name, (copies / name).read_bytes())

    def size(self, name: str) -> int:
        """Bytes of a file; 0 if it is not here."""
        try:
            return (self.folder / name).stat().st_size
        except OSError:
            return 0
