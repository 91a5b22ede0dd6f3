"""Files that the browser sent, which Streamlit holds in memory: bounded per session, dropped when it is gone.

A page takes a file into the session's folder (:mod:`nona.ui.session.uploads`) in the moment in which it
arrives. Streamlit keeps it longer: files that no page asked for too, and all of them for a session that
left until another one leaves. So whenever a file comes, the oldest of its session make room for it, and a
thread drops what belongs to no session that is there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.runtime import Runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from nona.foreign.limits import MOST_RECEIVED_BYTES, MOST_RECEIVED_FILES

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
    held = runtime.uploaded_file_mgr
    if not isinstance(held, MemoryUploadedFileManager):
        return None
    made = Received(held, runtime.is_active_session)
    threading.Thread(target=made.run, daemon=True, name="received").start()
    return made
