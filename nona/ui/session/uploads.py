"""Files that a person uploads: held in memory within bounds, kept in a folder.

A page takes a file into the session's folder (:mod:`nona.ui.session.uploads`) in the moment in which it
arrives. Streamlit keeps it longer: files that no page asked for too, and all of them for a session that
left until another one leaves. So whenever a file comes, the oldest of its session make room for it, and a
thread drops what belongs to no session that is there.
"""

from __future__ import annotations

import io
import shutil
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime import Runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from nona.errors import GraphError
from nona.foreign.files import (
    FRESH,
    MOST_FILE_BYTES,
    MOST_RECEIVED_BYTES,
    MOST_RECEIVED_FILES,
    MOST_SESSION_BYTES,
    MOST_SESSION_FILES,
    write_whole,
)
from nona.graph.readers import slimmed
from nona.serving.ending import made, reserved
from nona.sources.lookup import Sources, safe_name, unused_name

BEAT_S, GONE_S = 5.0, 30.0  # a tab that loses its connection for a moment keeps its files


class Received:
    """The files that ``held`` keeps, with limits; ``is_there`` says whether a session is connected.

    Examples
    --------
    >>> from streamlit.runtime.uploaded_file_manager import UploadedFileRec
    >>> held = MemoryUploadedFileManager("/upload")
    >>> received = Received(held, lambda session: False, most_bytes=10)
    >>> for name in ("a", "b", "c"):
    ...     held.add_file("me", UploadedFileRec(name, name, "", b"12345"))
    >>> [file.name for file in held.get_files("me", ["a", "b", "c"])]
    ['b', 'c']
    >>> received.sweep(now=0.0), received.sweep(now=1000.0), held.get_files("me", ["c"])
    (0, 1, [])
    """

    def __init__(
        self,
        held: MemoryUploadedFileManager,
        is_there: Callable[[str], bool],
        most_bytes: int = MOST_RECEIVED_BYTES,
        most_files: int = MOST_RECEIVED_FILES,
    ) -> None:
        self._held, self._is_there = held, is_there
        self._most_bytes, self._most_files = most_bytes, most_files
        self._gone: dict[str, float] = {}
        self._add = held.add_file
        held.add_file = self._take  # type: ignore[method-assign]

    def _take(self, session_id: str, file: Any) -> None:
        self._add(session_id, file)
        files = list(self._held.file_storage.get(session_id, {}).values())
        size, count = sum(len(f.data) for f in files), len(files)
        for old in files:
            if size <= self._most_bytes and count <= self._most_files:
                break
            if old.file_id != file.file_id:
                self._held.remove_file(session_id, old.file_id)
                size, count = size - len(old.data), count - 1

    def sweep(self, now: float) -> int:
        """Drop the files of sessions that have been gone for a while; how many sessions that were."""
        gone = [s for s in list(self._held.file_storage) if not self._is_there(s)]
        self._gone = {s: self._gone.get(s, now) for s in gone}
        late = [s for s, since in self._gone.items() if now - since > GONE_S]
        for session_id in late:
            self._held.remove_session_files(session_id)
        return len(late)

    def run(self) -> None:
        """Sweep for ever, as a thread of the server does."""
        while True:
            time.sleep(BEAT_S)
            self.sweep(time.monotonic())


@st.cache_resource
def received() -> Received | None:
    """The one of this server, with its thread; ``None`` where no server runs."""
    if not Runtime.exists():
        return None
    runtime = Runtime.instance()
    manager = runtime.uploaded_file_mgr
    if not isinstance(manager, MemoryUploadedFileManager):
        return None
    keeper = Received(manager, runtime.is_active_session)
    threading.Thread(target=keeper.run, daemon=True, name="received").start()
    return keeper


class Uploads:
    """A session's own folder, made when the first file comes, and again if a cleaner removed it.

    Examples
    --------
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
        """Keep ``data``; returns the plain file name under which it is found.

        Raises
        ------
        GraphError
            When the file is too large, or those of the session are too many or too large together.
        """
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
                f"File {plain!r}: with it the files of this session have {size} bytes, at most "
                f"{MOST_SESSION_BYTES} are kept; give it the name of a file that it may replace."
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
        """Names of all files, sorted."""
        try:
            names = [p.name for p in self.folder.iterdir()]
        except OSError:  # not made yet, or removed by a cleaner
            return ()
        return tuple(sorted(name for name in names if not name.startswith(FRESH)))

    def lost(self) -> tuple[str, ...]:
        """Names of files that were kept here and that somebody else has removed.

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
