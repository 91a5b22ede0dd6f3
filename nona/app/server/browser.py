"""A browser: the cookie that leads it to its workspace; its open tabs, and what each shows of the session."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import TypeGuard

import streamlit as st
from streamlit import config
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

KEPT_S = 30 * 86400
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


def cookie_name(kind: str = "workspace") -> str:
    """Return the cookie's name: a browser sends cookies to every port of a host, so it names the port."""
    return f"nona_{kind}_{config.get_option('server.port')}"


def new_token() -> str:
    """Return an unguessable name for a workspace: 256 random bits."""
    return secrets.token_urlsafe(32)


def is_token(text: object) -> TypeGuard[str]:
    """Return whether the text has the form of a token.

    >>> is_token(new_token()), is_token("../../etc/passwd"), is_token(None)
    (True, False, False)
    """
    return isinstance(text, str) and _TOKEN.fullmatch(text) is not None


def read_cookie(header: str, name: str) -> str | None:
    """Return the value of a cookie in the header ``Cookie``.

    >>> read_cookie("a=1; b=two", "b"), read_cookie("a=1", "b"), read_cookie("=;;", "b")
    ('two', None, None)
    """
    for part in header.split(";"):
        key, equals, value = part.strip().partition("=")
        if equals and key == name:
            return value.strip('"')
    return None


def set_cookie(name: str, value: str, seconds: int, secure: bool) -> str:
    """Return the header ``Set-Cookie``: out of reach for scripts, and not sent from other sites' pages.

    Raises ``ValueError`` when a cookie cannot hold the value.

    >>> set_cookie("a", "1", 60, secure=False)
    'a=1; HttpOnly; Max-Age=60; Path=/; SameSite=lax'
    """
    jar: SimpleCookie = SimpleCookie()
    try:
        jar[name] = value
    except CookieError as error:
        raise ValueError(f"Cookie {name!r}: cannot hold this value; {error}.") from error
    cookie = jar[name]
    cookie["path"], cookie["max-age"], cookie["httponly"], cookie["samesite"] = "/", str(seconds), True, "lax"
    if secure:
        cookie["secure"] = True
    return cookie.OutputString()


MOST = 32  # tabs that are remembered; each reload of a page is a new one


@dataclass
class BrowserTab:
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
class BrowserTabs:
    """The tabs of a session by what distinguishes them, the most recently used last.

    >>> tab = ["left"]
    >>> screens = BrowserTabs(lambda: tab[0])
    >>> screens.current.revision, screens.current.behind
    (0, False)
    >>> tab[0] = "right"
    >>> screens.current.revision
    1
    >>> screens.changed()
    >>> tab[0] = "left"
    >>> screens.current.revision, screens.current.behind
    (1, True)
    """

    tab: Callable[[], str] = _running_tab
    _tabs: dict[str, BrowserTab] = field(default_factory=dict)

    @property
    def current(self) -> BrowserTab:
        """The tab whose script runs; outside of any the one that was used last."""
        name = self.tab()
        if not name and self._tabs:
            return next(reversed(self._tabs.values()))
        screen = self._tabs.pop(name, None) or self._made()
        self._tabs[name] = screen  # the most recently used comes last
        for old in list(self._tabs)[:-MOST]:
            del self._tabs[old]
        return screen

    def changed(self, moved: bool = False) -> None:
        """Note that the tab that runs has changed what the fields of the others show, or ``moved`` rows."""
        here = self.current
        for screen in list(self._tabs.values()):
            if screen is not here:
                screen.revision, screen.behind = screen.revision + 1, True
                screen.moved = screen.moved or moved

    def drawn(self) -> None:
        """Note that the page of the tab that runs was drawn to its end."""
        here = self.current
        here.drawn, here.behind, here.moved = here.revision, False, False

    def _made(self) -> BrowserTab:
        latest = max((s.revision for s in self._tabs.values()), default=-1) + 1
        return BrowserTab(latest, latest)


class ConnectedSessions:
    """The sessions of every owner; ``is_there`` says whether a session is connected.

    >>> tabs = ConnectedSessions(lambda session: session == "open")
    >>> tabs.add("ann", "open"), tabs.add("bob", "closed")
    (None, None)
    >>> tabs.connected("ann"), tabs.connected("bob"), tabs.connected("carl")
    (True, False, False)
    >>> tabs.count("ann")
    1
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

    def count(self, owner: str) -> int:
        """How many sessions of ``owner`` are connected."""
        with self._lock:
            return sum(1 for session in self._sessions.get(owner, ()) if self._is_there(session))

    def connected(self, owner: str) -> bool:
        """Return whether a tab of this owner is connected."""
        return self.count(owner) > 0


def _is_connected(session: str) -> bool:
    return Runtime.exists() and Runtime.instance().is_active_session(session)


@st.cache_resource
def tabs_of_owners() -> ConnectedSessions:
    """Return the tabs of all sessions of this server."""
    return ConnectedSessions(_is_connected)
