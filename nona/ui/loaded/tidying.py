"""The server's interpreter, shared fairly: collections wait for a quiet moment, and threads take turns often.

A prepared model of 20,000 operators is some 300,000 objects without a cycle. A full garbage collection
walks over all that live while every session waits, a quarter of a second for each such model, and Python
starts several while one is made. So none starts during work on a model. Once no page has run for a while
there is one, after which what lives is set aside (:func:`gc.freeze`) and later collections pass over it.
The next one in a quiet moment takes it back first, so nothing that is set aside is lost.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

QUIET_S, OFTEN_S, LATEST_S = 2.0, 600.0, 120.0
TURN_S = 0.0005  # Python's own 5 ms make a click wait that long whenever it has let go of the interpreter
USUAL, NEVER = (700, 10, 10), 10**9  # Python's own thresholds; full collections off


class Tidying:
    """Full collections in quiet moments only.

    Parameters
    ----------
    quiet_s
        How long no page may have run before a collection.
    latest_s
        After which time without a quiet moment Python's own collections are admitted again.
    often_s
        After which time pages that ran are reason enough for a collection.

    Examples
    --------
    >>> tidying = Tidying(quiet_s=0.0)
    >>> with tidying.working():
    ...     gc.get_threshold()[2] == NEVER, tidying.tidy(now=1e12)
    (True, False)
    >>> tidying.tidy(now=1e12), gc.get_threshold()[2] == NEVER, gc.get_freeze_count() > 0
    (True, False, True)
    >>> gc.unfreeze()
    """

    def __init__(
        self, quiet_s: float = QUIET_S, latest_s: float = LATEST_S, often_s: float = OFTEN_S
    ) -> None:
        self._quiet_s, self._latest_s, self._often_s = quiet_s, latest_s, often_s
        self._lock = threading.Lock()
        self._working, self._grown = 0, False
        self._seen = self._tidied = self._grew = time.monotonic()

    def seen(self) -> None:
        """Note that a page runs."""
        self._seen = time.monotonic()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Work that makes many objects which stay: no full collection inside. Threads may overlap."""
        with self._lock:
            self._working += 1
            self._grown = True
            gc.set_threshold(*USUAL[:2], NEVER)
        try:
            yield
        finally:
            with self._lock:
                self._working -= 1
                self._grew = time.monotonic()

    def tidy(self, now: float) -> bool:
        """Collect if the moment is quiet and there is a reason; whether it did."""
        with self._lock:
            if self._working:
                return False
            if now - self._seen < self._quiet_s:
                if self._grown and now - self._grew > self._latest_s:
                    gc.set_threshold(*USUAL)
                return False
            if not self._grown and (self._seen < self._tidied or now - self._tidied < self._often_s):
                return False
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            gc.set_threshold(*USUAL)
            self._grown, self._tidied = False, now
            return True

    def run(self, beat_s: float = 0.5) -> None:
        """Tidy for ever, as a thread of the server does."""
        while True:
            time.sleep(beat_s)
            self.tidy(time.monotonic())


@st.cache_resource
def tidying() -> Tidying:
    """The one of this server, with its thread; threads of the server take short turns from now on."""
    sys.setswitchinterval(TURN_S)
    made = Tidying()
    threading.Thread(target=made.run, daemon=True, name="tidying").start()
    return made
