"""Sessions that survive reload and restart: a cookie leads a browser to its state."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st

from nona.app.jobs.registry import JobRegistry
from nona.app.server.browser import cookie_name, is_token, new_token, tabs_of_owners
from nona.app.server.ending import ending, give_back_memory
from nona.app.server.settings import Serving
from nona.app.session.opening import new_state, open_fresh
from nona.app.session.page_list import icon_path, page_list
from nona.app.session.saving import WorkspaceStore
from nona.app.session.state import AppState
from nona.core.experiments import cores

FORMER = "workspace"  # in addresses of earlier versions: it opens nothing
KEEP_S = 900.0  # a finished job's files, once the last tab of its owner is closed
IDLE_S = 1800.0  # a state in memory, once the last tab is closed and its jobs are gone; on disk it stays
GONE_S = 150.0  # the same without a cookie to come back with; Streamlit keeps a lost connection for 120 s
SWEEP_S = 30.0
IDLE = 2  # workers that wait, imports done: each takes about 150 MB
_KEY = "nona_state"
_TOKEN = "nona_token"
_HELD = "nona_workspaces"
_BEGUN = "nona_begun"  # this run of the script began with app.py


@dataclass
class Workspaces:
    """States by token; those unseen for ``keep_s`` are dropped, beyond ``limit`` first those without work.

    With a ``store`` the dropped ones stay on disk, and come back when their browser does. Those without an
    open tab and without a job are dropped after ``idle_s``.
    """

    limit: int = 200
    keep_s: float = 6 * 3600.0
    store: WorkspaceStore | None = None
    idle_s: float = math.inf
    is_open: Callable[[str], bool] = lambda token: True
    is_worked_for: Callable[[AppState], bool] = lambda state: False
    _states: dict[str, tuple[AppState, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self, token: str | None) -> tuple[str, AppState]:
        """Return the state of ``token``, from memory or from disk, or a new one.

        A text that is no token gets a new one.
        """
        token = token if token is not None and is_token(token) else new_token()
        with self._lock:
            entry = self._states.get(token)
        if entry is None:  # reading takes its time: the other sessions go on meanwhile
            opened = restored(self.store, token) if self.store else new_state()
            with self._lock:
                entry = self._states.setdefault(token, (opened, time.monotonic()))
        state = entry[0]
        if self.store is not None:
            self.store.watch(token, state)
        self.mark_used(token, state)
        return token, state

    def mark_used(self, token: str, state: AppState) -> None:
        """Note that ``state`` is in use, and drop the sessions unused for long."""
        now = time.monotonic()
        with self._lock:
            self._states.pop(token, None)
            self._states[token] = (state, now)  # the most recently used comes last
            old = [t for t, (_, seen) in self._states.items() if now - seen > self.keep_s]
            for t in old:
                self._drop(t)
            while len(self._states) > self.limit:
                idle = [t for t in self._states if t != token]
                self._drop(next((t for t in idle if self._states[t][0].untouched), idle[0]))

    def start(self) -> None:
        """Drop idle states from now on, in a thread of its own."""
        threading.Thread(target=self._run, daemon=True, name="idle workspaces").start()

    def sweep(self) -> int:
        """Drop the idle states; returns how many."""
        now = time.monotonic()
        with self._lock:
            unseen = [(t, s) for t, (s, seen) in self._states.items() if now - seen > self.idle_s]
        idle = [t for t, state in unseen if not self.is_open(t) and not self.is_worked_for(state)]
        with self._lock:
            idle = [t for t in idle if t in self._states and now - self._states[t][1] > self.idle_s]
            for token in idle:
                self._drop(token)
        return len(idle)

    def _run(self) -> None:
        while True:
            time.sleep(SWEEP_S)
            if self.sweep():
                give_back_memory()

    def _drop(self, token: str) -> None:
        self._states.pop(token, None)
        if self.store is not None:
            self.store.retire(token)


def restored(store: WorkspaceStore, token: str) -> AppState:
    """Return the state that is kept on disk, else a new one.

    A server that was started with another scenario than before opens that one; Undo brings back the work.
    """
    state, fresh = store.load(token), new_state()
    if state is None:
        state = fresh
    elif fresh.started_with and fresh.started_with != state.started_with:
        state = open_fresh(state, fresh)
    return state


@st.cache_resource
def _workspaces() -> Workspaces:
    serving = Serving.read()
    if not serving.persist:
        return Workspaces()
    store = WorkspaceStore(serving.data / "workspaces")
    store.start()
    ending().add(store.flush, first=True)
    return _swept(store, IDLE_S)


@st.cache_resource
def _passing() -> Workspaces:
    return _swept(None, GONE_S)


def _swept(store: WorkspaceStore | None, idle_s: float) -> Workspaces:
    """Return the workspaces; those without an open tab and without a job are dropped in time."""
    registry = jobs()
    workspaces = Workspaces(
        store=store,
        idle_s=idle_s,
        is_open=tabs_of_owners().connected,
        is_worked_for=lambda state: any(map(registry.get, state.jobs.values())),
    )
    workspaces.start()
    return workspaces


@st.cache_resource
def jobs() -> JobRegistry:
    """Return the jobs of this server.

    As many run as there are cores, at least two: a third on two cores would only make the others slower,
    and take memory. Quick answers have half as many places, at least two, beside them.
    """
    places = max(2, cores())
    registry = JobRegistry(
        places,
        idle=IDLE,
        quick=max(2, places // 2),
        keep_s=KEEP_S,
        present=tabs_of_owners().connected,
    )
    ending().add(registry.shut_down, first=True)
    return registry


def current() -> AppState:
    """Return the state of this session, for a page.

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


def owner_key() -> str:
    """Return the identifier of the session that runs: the same for all its tabs."""
    return str(st.session_state.get(_TOKEN, ""))


def is_open_twice() -> bool:
    """Whether another tab shows this session too."""
    return tabs_of_owners().count(owner_key()) > 1


def session_state() -> AppState:
    """Return the state of this session, for app.py; a reloaded page finds its own by its browser's cookie.

    Without a cookie the state lasts as long as the connection, and is kept nowhere.
    """
    session = st.session_state
    session[_BEGUN] = True
    st.query_params.pop(FORMER, None)
    if _KEY not in session:
        cookie = st.context.cookies.get(cookie_name())
        has_token = is_token(cookie)
        workspaces = session[_HELD] = _workspaces() if has_token else _passing()
        session[_TOKEN], session[_KEY] = workspaces.open(cookie if has_token else session.get(_TOKEN))
    state: AppState = session[_KEY]
    session[_HELD].mark_used(session[_TOKEN], state)
    tabs_of_owners().note(session[_TOKEN])
    return state


def saving_problem() -> str:
    """Name the reason why this session's work is not saved on disk; empty if it is, or if that is off."""
    workspaces: Workspaces | None = st.session_state.get(_HELD)
    return workspaces.store.problem if workspaces is not None and workspaces.store is not None else ""
