"""How a server ends: on a signal all is put away in a few seconds, and one line says so."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from types import FrameType

LIMIT_S = 3.5  # for saving; what takes longer, on a disk that hangs, is given up
INTERRUPTED = 130  # the exit status of an interrupted command
_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK")

Action = Callable[[], object]


class Ending:
    """What must be done before the server's process ends, in the order in which it was added.

    Examples
    --------
    >>> ending = Ending()
    >>> ending.add(lambda: print("saved"))
    >>> ending.run(), ending.run()
    saved
    (None, None)
    """

    def __init__(self) -> None:
        self._actions: list[Action] = []
        self._lock = threading.Lock()

    def add(self, action: Action, *, first: bool = False) -> None:
        """Add what is to be done; ``first``: before all others."""
        with self._lock:
            self._actions.insert(0 if first else len(self._actions), action)

    def run(self) -> None:
        """Do all of it, once; an action that fails does not keep the others from being done."""
        with self._lock:
            actions, self._actions = self._actions, []
        for action in actions:
            try:
                action()
            except Exception as error:
                print(f"nona: at the end: {type(error).__name__}: {error}", file=sys.stderr)


@cache
def ending() -> Ending:
    """That of this process."""
    return Ending()


def end_on_signals() -> None:
    """From now on a signal ends this process: first all of :func:`ending`, at most ``LIMIT_S``; one line.

    The exit status is 130 after Ctrl-C and else 0. A second signal ends the process at once. A hangup that is
    ignored, as ``nohup`` asks, stays ignored. Call it in the main thread.
    """
    told = threading.Event()

    def leave(number: int, _frame: FrameType | None) -> None:
        if told.is_set():
            os._exit(_status(number))
        told.set()
        threading.Thread(target=_end, args=(number,), name="ending").start()

    for number in _signals():
        if number.name != "SIGHUP" or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, leave)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _signals())


def hold_signals() -> None:
    """Let signals wait until :func:`end_on_signals`, also in the program that this process becomes."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _signals())


def _signals() -> list[signal.Signals]:
    """The signals that end a program, as far as the system has them."""
    return [s for s in signal.Signals if s.name in _SIGNALS]


def _end(number: int) -> None:
    """Put everything away, say one line, end the process whatever else it does."""
    work = threading.Thread(target=ending().run, daemon=True, name="putting-away")
    work.start()
    work.join(LIMIT_S)
    late = " before all was saved" if work.is_alive() else ""
    what = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    with suppress(OSError):  # the terminal may be closed
        os.write(2, f"nona: {what}{late}\n".encode())
    os._exit(_status(number))


def _status(number: int) -> int:
    return INTERRUPTED if number == signal.SIGINT else 0
