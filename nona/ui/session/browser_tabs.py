"""The open tabs of a browser: whose they are, and what each shows of the session."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

MOST = 32  # tabs that are remembered; each reload of a page is a new one


@dataclass
class Screen:
    """One tab.

    ``revision`` counts what makes its fields show other values than before; ``drawn`` is that of the last
    page that was drawn to its end. ``behind`` holds from a change in another tab until then, ``moved`` from
    one after which other rows may stand in the places that this tab shows.
    """

    revision: int = 0
    drawn: int = 0
    behind: bool = False
    moved: bool = False


def _running_tab() -> str:
    """Return the identifier of the tab whose script runs in this thread; empty outside of any."""
    context = get_script_run_ctx(suppress_warning=True)
    return "" if context is None else context.session_id


@dataclass
class Screens:
    """The tabs of a session by what distinguishes them, the most recently used last.

    >>> tab = ["left"]
    >>> screens = Screens(lambda: tab[0])
    >>> screens.here.revision, screens.here.behind
    (0, False)
    >>> tab[0] = "right"
    >>> screens.here.revision
    1
    >>> screens.changed()
    >>> tab[0] = "left"
    >>> screens.here.revision, screens.here.behind
    (1, True)
    """

    tab: Callable[[], str] = _running_tab
    _held: dict[str, Screen] = field(default_factory=dict)

    @property
    def here(self) -> Screen:
        """The tab whose script runs; outside of any the one that was used last."""
        name = self.tab()
        if not name and self._held:
            return next(reversed(self._held.values()))
        screen = self._held.pop(name, None) or self._made()
        self._held[name] = screen  # the most recently used comes last
        for old in list(self._held)[:-MOST]:
            del self._held[old]
        return screen

    def changed(self, moved: bool = False) -> None:
        """Note that the tab that runs has changed what the fields of the others show, or ``moved`` rows."""
        here = self.here
        for screen in list(self._held.values()):
            if screen is not here:
                screen.revision, screen.behind = screen.revision + 1, True
                screen.moved = screen.moved or moved

    def drawn(self) -> None:
        """Note that the page of the tab that runs was drawn to its end."""
        here = self.here
        here.drawn, here.behind, here.moved = here.revision, False, False

    def _made(self) -> Screen:
        latest = max((s.revision for s in self._held.values()), default=-1) + 1
        return Screen(latest, latest)


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
        """Return whether a session of ``owner`` is connected."""
        with self._lock:
            return any(map(self._is_there, self._sessions.get(owner, ())))


def _is_connected(session: str) -> bool:
    return Runtime.exists() and Runtime.instance().is_active_session(session)


@st.cache_resource
def tabs_of_owners() -> Tabs:
    return Tabs(_is_connected)
