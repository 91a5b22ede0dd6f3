"""Work on models in server threads: done once per content, cached, waited for with progress.

Prepared models are large graphs of small objects. To bring one of 20,000 operators over from another
process (14 MB) keeps the interpreter as busy as to cost and contract it here. A thread shares it with the
other sessions, a fraction of a millisecond at a time; what made them wait were garbage collections, which
:mod:`nona.ui.loaded.tidying` puts off. What parses foreign files or calls
Graphviz runs in guarded processes of its own, for which a thread here only waits.

A session's work is done in turn, one at a time; sessions work side by side, as many as there are turns.
So files that take the whole budget keep only the session waiting that opened them.

The page that asks waits too, but step by step: it shows what is going on, and it stops waiting when
its reader goes on to something else. The work is kept for when they come back.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from nona.errors import JobError
from nona.ui.jobs.line import Line
from nona.ui.loaded.tidying import tidying
from nona.ui.session.workspace import whose

T = TypeVar("T")
KEPT, AT_ONCE = 128, 4
RETRY_S = 20.0
QUIET_S, BEAT_S = 0.25, 0.1
BUDGET_S = 60.0  # that a page waits for one step


class Shelf:
    """Results by key, the most recently used ones; failures are kept for a moment only.

    >>> shelf = Shelf()
    >>> shelf.ask("six", lambda: 2 * 3).result(), shelf.ask("six", lambda: 0).result()
    (6, 6)
    """

    def __init__(
        self,
        most: int = KEPT,
        at_once: int = AT_ONCE,
        retry_s: float = RETRY_S,
        working: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._most, self._retry_s, self._working = most, retry_s, working
        self._held: OrderedDict[Hashable, tuple[Future[Any], float]] = OrderedDict()
        self._lock = threading.Lock()
        self._turns = Turns(at_once)

    def ask(self, key: Hashable, make: Callable[[], Any], owner: str = "") -> Future[Any]:
        """The work of that key: under way, done, or put in line now among that of ``owner``."""
        with self._lock:
            future, begun = self._held.get(key, (None, 0.0))
            if future is not None and _failed(future) and time.monotonic() - begun > self._retry_s:
                future = None
            if future is None:
                future, begun = Future(), time.monotonic()
                self._turns.give(owner, partial(self._run, future, make))
            self._held[key] = (future, begun)
            self._held.move_to_end(key)
            while len(self._held) > self._most:
                self._held.popitem(last=False)
            return future

    def _run(self, future: Future[Any], make: Callable[[], Any]) -> None:
        with self._working():
            try:
                future.set_result(make())
            except Exception as error:  # whoever asked gets it
                future.set_exception(error)


class Turns:
    """At most ``at_once`` pieces of work run, one of each owner; owners are served in turn.

    >>> done = threading.Event()
    >>> Turns(1).give("somebody", done.set)
    >>> done.wait(5)
    True
    """

    def __init__(self, at_once: int) -> None:
        self._line = Line[Callable[[], None]](at_once, each=1)
        self._lock = threading.Lock()

    def give(self, owner: str, work: Callable[[], None]) -> None:
        """Run ``work`` in a thread, now or when it is the owner's turn."""
        with self._lock:
            self._line.put(owner, work)
            self._start()

    def _start(self) -> None:
        """Start what can run; the lock is held."""
        while (work := self._line.start()) is not None:
            threading.Thread(target=self._run, args=(work,), daemon=True, name="shelf").start()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            with self._lock:
                self._line.leave(work)
                self._start()


def _failed(future: Future[Any]) -> bool:
    return future.done() and future.exception() is not None


@st.cache_resource
def shelf() -> Shelf:
    """The shelf of this server."""
    return Shelf(working=tidying().working)


def fetch(key: Hashable, make: Callable[[], T], doing: str) -> T:
    """What ``make`` returns or raises, from the shelf if it is there.

    A page that has to wait shows ``doing`` over an empty frame, and can be left at any moment. Outside
    a page this simply waits.

    Raises
    ------
    JobError
        When a page has waited for :data:`BUDGET_S`; the work goes on, and is there later.
    """
    in_page = get_script_run_ctx() is not None
    future: Future[T] = shelf().ask(key, make, whose() if in_page else "")
    if not in_page:
        return future.result()
    wait([future], QUIET_S)
    if not future.done():
        _show_until(future, doing)
    return future.result()


def _show_until(future: Future[Any], doing: str) -> None:
    place, begin = st.empty(), time.monotonic()
    with place.container():
        line = st.empty()
        st.skeleton(height=180)
    while not future.done():
        seconds = time.monotonic() - begin
        if seconds > BUDGET_S:
            place.empty()
            raise JobError(
                f"{doing}: it takes longer than {BUDGET_S:.0f} s, the budget of a step; "
                "it goes on: open this page again later, or take a smaller model."
            )
        line.caption(f"{doing} … {seconds:.0f} s" if seconds >= 1 else f"{doing} …")  # the run may end here
        wait([future], BEAT_S)
    place.empty()
