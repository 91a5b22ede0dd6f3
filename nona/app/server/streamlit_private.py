"""The one place that reaches into Streamlit: runs in order, uploads within bounds, no look-up of addresses.

Streamlit 1.67 breaks a page in five ways, the more often the busier the machine is.

- A run writes from a thread of its own; what it writes is sent later, by the server's event loop. A request
  that comes in between starts a new run at once, and what was not sent yet is thrown away. Where the request
  is that of a polling fragment, which writes only its own part, the rest of the page never comes.
- A polling fragment of the side bar asks with the page that the browser shows. If the script has moved to
  another page meanwhile (``st.switch_page``, a link), the fragment's run names the old page, so the browser
  removes what the new page wrote; and a change of page that still waits to run is forgotten.
- A press is a trigger that the browser holds until its request is sent. A polling fragment that asks then
  sends the trigger too, so a button acts twice: a demo goes two steps on.
- A person types a number and clicks on another page. The browser asks for that page first, and hands on the
  number some 10 to 50 ms later, with the page that was left: the script goes back to it, the click is lost.
- A request names the messages that the browser still holds, so that they are not sent again. One that waits,
  as those of fragments do until a run has ended, names some that the browser forgets at that end.

The first two end with "Bad delta path" or an empty page, the last with "Cached ForwardMsg MISS".
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import streamlit as st
from streamlit import net_util
from streamlit.runtime import Runtime
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests, ScriptRequestType

from nona.core.foreign import MOST_RECEIVED_BYTES, MOST_RECEIVED_FILES

VERSION = "1.67"  # of Streamlit, whose private methods these are; a test names it
LOOK_AGAIN_S = 0.005  # seconds
LATE_VALUE_S = 0.08  # seconds that a change of page waits for a value typed on the page that is left
TRIGGERS = frozenset({"trigger_value", "string_trigger_value", "json_trigger_value", "chat_input_value"})


def keep_in_order() -> None:
    """Make every session of this process run in order; a second call changes nothing."""
    for owner, name, changed in (
        (AppSession, "request_rerun", _in_order),
        (AppSession, "handle_backmsg", _page_after_its_values),
        (ScriptRequests, "_request_rerun_locked", _page_of_the_waiting),
        (ScriptRunner, "_run_script", _on_the_present_page),
    ):
        method = getattr(owner, name)
        if not hasattr(method, "__wrapped__"):
            setattr(owner, name, wraps(method)(changed(method)))


def _in_order(request_rerun: Callable[..., None]) -> Callable[..., None]:
    return _pressed_once(_after_the_last(request_rerun))


def _pressed_once(request_rerun: Callable[..., None]) -> Callable[..., None]:
    """Streamlit's ``AppSession.request_rerun``; a fragment that polls brings no press, a request its own."""

    def without_presses(session: Any, client_state: Any) -> None:
        if client_state is not None and client_state.is_auto_rerun:
            widgets = client_state.widget_states.widgets
            kept = [w for w in widgets if w.WhichOneof("value") not in TRIGGERS]
            del widgets[:]
            widgets.extend(kept)
        request_rerun(session, client_state)

    return without_presses


def _after_the_last(request_rerun: Callable[..., None]) -> Callable[..., None]:
    """Streamlit's ``AppSession.request_rerun``, called again while the last run's messages are on their way.

    The runner of a run that has ended stays the session's until its last message was taken in.
    """

    def waiting(session: Any, client_state: Any) -> None:
        runner = session._scriptrunner
        ends = runner is not None and runner._requests._state is ScriptRequestType.STOP
        if client_state is not None and (ends or client_state.fragment_id):
            _send_in_full(client_state)
        if ends:
            session._event_loop.call_later(LOOK_AGAIN_S, waiting, session, client_state)
        else:
            request_rerun(session, client_state)

    return waiting


def _page_after_its_values(handle: Callable[..., None]) -> Callable[..., None]:
    """Streamlit's ``AppSession.handle_backmsg``: a change of page waits a moment for late values."""

    def waiting(session: Any, message: Any) -> None:
        if _changes_page(session, message):
            _send_in_full(message.rerun_script)
            session._event_loop.call_later(LATE_VALUE_S, handle, session, message)
        else:
            handle(session, message)

    return waiting


def _send_in_full(client_state: Any) -> None:
    """Name no cached message in a waiting request: the browser may forget it meanwhile."""
    del client_state.cached_message_hashes[:]


def _changes_page(session: Any, message: Any) -> bool:
    asked = message.rerun_script if message.WhichOneof("type") == "rerun_script" else None
    return bool(
        asked
        and not asked.fragment_id
        and session.page_script_hash
        and asked.page_script_hash not in ("", session.page_script_hash)
    )


def _page_of_the_waiting(request: Callable[..., bool]) -> Callable[..., bool]:
    """Streamlit's ``ScriptRequests._request_rerun_locked``: a fragment leaves a page that waits alone."""

    def kept(requests: Any, new: Any) -> bool:
        waits = requests._rerun_data
        if requests._state is ScriptRequestType.RERUN and _of_fragment(new) and not _of_fragment(waits):
            new = _on_page(new, waits.page_script_hash, waits.page_name, waits.query_string)
        return request(requests, new)

    return kept


def _on_the_present_page(run_script: Callable[..., None]) -> Callable[..., None]:
    """Streamlit's ``ScriptRunner._run_script``: a fragment runs on the page that the last run was on."""

    def there(runner: Any, asked: Any) -> None:
        now = runner._get_script_run_ctx()
        if _of_fragment(asked) and now.page_script_hash:
            asked = _on_page(asked, now.page_script_hash, "", now.query_string or asked.query_string)
        run_script(runner, asked)

    return there


def _on_page(asked: Any, page_hash: str, name: str, query: str) -> Any:
    if asked.page_script_hash == page_hash:
        return asked
    return replace(asked, page_script_hash=page_hash, page_name=name, query_string=query)


def _of_fragment(asked: Any) -> bool:
    """Return whether a request runs only parts of the page."""
    return bool(asked.fragment_id or asked.fragment_id_queue)


def look_up_nothing() -> None:
    """Keep Streamlit from asking a host elsewhere for this machine's address.

    It would do so to print that address, and, inside its event loop, to judge a foreign origin.
    """
    net_util._external_ip = "127.0.0.1"


BEAT_S, GONE_S = 5.0, 30.0  # a tab that loses its connection for a moment keeps its files


class FileStore:
    """The files that ``held`` keeps, with limits; ``is_there`` says whether a session is connected.

    A page takes a file into the session's folder in the moment in which it arrives. Streamlit keeps it for
    longer: files that no page asked for too, and all of them for a session that left until another one
    leaves. So whenever a file comes, the oldest of its session make room for it, and a thread drops what
    belongs to no session that is there.

    >>> from streamlit.runtime.uploaded_file_manager import UploadedFileRec
    >>> held = MemoryUploadedFileManager("/upload")
    >>> received = FileStore(held, lambda session: False, most_bytes=10)
    >>> for name in ("a", "b", "c"):
    ...     held.add_file("me", UploadedFileRec(name, name, "", b"12345"))
    >>> [file.name for file in held.get_files("me", ["a", "b", "c"])]
    ['b', 'c']
    >>> received.sweep(now=0.0), received.sweep(now=1000.0), held.get_files("me", ["c"])
    (0, 1, [])
    """

    def __init__(
        self,
        manager: MemoryUploadedFileManager,
        is_there: Callable[[str], bool],
        most_bytes: int = MOST_RECEIVED_BYTES,
        most_files: int = MOST_RECEIVED_FILES,
    ) -> None:
        self._held, self._is_there = manager, is_there
        self._most_bytes, self._most_files = most_bytes, most_files
        self._gone: dict[str, float] = {}
        self._add = manager.add_file
        manager.add_file = self._receive  # type: ignore[method-assign]

    def _receive(self, session_id: str, file: Any) -> None:
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
def received() -> FileStore | None:
    """Return the one of this server, with its thread; ``None`` where no server runs."""
    if not Runtime.exists():
        return None
    runtime = Runtime.instance()
    manager = runtime.uploaded_file_mgr
    if not isinstance(manager, MemoryUploadedFileManager):
        return None
    keeper = FileStore(manager, runtime.is_active_session)
    threading.Thread(target=keeper.run, daemon=True, name="received").start()
    return keeper
