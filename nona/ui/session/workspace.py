"""Sessions that survive a reload: the state lives on the server under an unguessable name in the URL."""

from __future__ import annotations

import os
import secrets
import threading
import time
from dataclasses import dataclass, field

import streamlit as st

from nona.ui.jobs.registry import JobRegistry
from nona.ui.session.page_list import icon_path, page_list
from nona.ui.session.start import new_state
from nona.ui.session.state import AppState

PARAMETER = "workspace"
IDLE = 2  # workers that wait, imports done: each takes about 150 MB
_KEY = "nona_state"
_TOKEN = "nona_token"
_BEGUN = "nona_begun"  # this run of the script began with app.py


@dataclass
class Workspaces:
    """States by token; those unseen for ``keep_s`` are dropped, the oldest first beyond ``limit``."""

    limit: int = 200
    keep_s: float = 6 * 3600.0
    _held: dict[str, tuple[AppState, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self, token: str | None) -> tuple[str, AppState]:
        """The state of ``token``, or a new one under a new token when it is unknown."""
        with self._lock:
            held = self._held.get(token) if token else None
        if token is None or held is None:
            token, held = secrets.token_urlsafe(16), (new_state(), 0.0)
        self.touch(token, held[0])
        return token, held[0]

    def touch(self, token: str, state: AppState) -> None:
        """Note that ``state`` is in use, and drop the sessions unused for long."""
        now = time.monotonic()
        with self._lock:
            self._held.pop(token, None)
            self._held[token] = (state, now)  # the most recently used comes last
            old = [t for t, (_, seen) in self._held.items() if now - seen > self.keep_s]
            for t in old + list(self._held)[: max(0, len(self._held) - len(old) - self.limit)]:
                self._held.pop(t, None)


@st.cache_resource
def workspaces() -> Workspaces:
    """The workspaces of this server."""
    return Workspaces()


@st.cache_resource
def jobs() -> JobRegistry:
    """The jobs of this server."""
    return JobRegistry(limit=max(4, os.cpu_count() or 1), idle=IDLE)


def current() -> AppState:
    """The state of this session, for a page.

    A fresh server that is first asked for a page runs that page's file alone, without app.py: until an
    app has declared its pages, Streamlit takes a folder ``pages`` for an app of the old kind. So the page
    declares them, as app.py does in every run, and asks for another run, which begins with app.py.
    """
    if not st.session_state.pop(_BEGUN, False):
        st.set_page_config(page_icon=icon_path(), layout="wide")
        st.navigation(page_list(), position="hidden")
        st.rerun()
    state: AppState = st.session_state[_KEY]
    return state


def whose() -> str:
    """What distinguishes the session that runs from others: the same for all its tabs."""
    return str(st.session_state.get(_TOKEN, ""))


def session_state() -> AppState:
    """The state of this session, for app.py; a reloaded page finds its own by the token in its URL."""
    session = st.session_state
    session[_BEGUN] = True
    if _KEY not in session:
        session[_TOKEN], session[_KEY] = workspaces().open(st.query_params.get(PARAMETER))
    state: AppState = session[_KEY]
    workspaces().touch(session[_TOKEN], state)
    if st.query_params.get(PARAMETER) != session[_TOKEN]:
        st.query_params[PARAMETER] = session[_TOKEN]
    return state
