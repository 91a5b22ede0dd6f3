"""Which people are connected: the open tabs of each owner of a workspace."""

from __future__ import annotations

import threading
from collections.abc import Callable

import streamlit as st
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx


class Tabs:
    """The sessions of every owner; ``is_there`` says whether a session is connected.

    >>> tabs = Tabs(lambda session: session == "open")
    >>> tabs.add("ann", "open"), tabs.add("bob", "closed")
    (None, None)
    >>> tabs.connected("ann"), tabs.connected("bob"), tabs.connected("carl")
    (True, False, False)
    """

    def __init__(self, is_there: Callable[[str], bool]) -> None:
        self._is_there = is_there
        self._sessions: dict[str, set[str]] = {}
        self._lock = threading.Lock()

    def note(self, owner: str) -> None:
        """Note that the session that runs is one of ``owner``."""
        context = get_script_run_ctx()
        if context is not None:
            self.add(owner, context.session_id)

    def add(self, owner: str, session: str) -> None:
        """Note a session of ``owner``; with a new owner's, those of owners who are gone are forgotten."""
        with self._lock:
            if owner not in self._sessions:
                self._sessions = {o: s for o, s in self._sessions.items() if any(map(self._is_there, s))}
            there = {s for s in self._sessions.get(owner, ()) if self._is_there(s)}
            self._sessions[owner] = there | {session}

    def connected(self, owner: str) -> bool:
        """Whether a session of ``owner`` is connected."""
        with self._lock:
            return any(map(self._is_there, self._sessions.get(owner, ())))


def _is_connected(session: str) -> bool:
    return Runtime.exists() and Runtime.instance().is_active_session(session)


@st.cache_resource
def tabs_of_owners() -> Tabs:
    """The tabs of this server."""
    return Tabs(_is_connected)
