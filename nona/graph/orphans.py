"""A child process ends when its parent does, also when that is killed.

Linux sends a signal for it. Elsewhere, and besides, a thread watches the pipe from the parent: the system
closes it with the parent. Before that, one may already be an orphan: the parent has another number then.
"""

from __future__ import annotations

import os
import select
import sys
import threading
from contextlib import suppress

_PR_SET_PDEATHSIG, _SIGKILL = 1, 9


def end_with_parent(parent: int, pipe: int | None = None) -> None:
    """End this process as soon as ``parent`` is gone, or the thread there that started this process.

    ``pipe`` is one of which the parent holds the other end as long as it lives.
    """
    if sys.platform.startswith("linux"):
        _ask_the_system()
    if hasattr(os, "getppid") and os.getppid() != parent:
        os._exit(1)
    if pipe is not None and hasattr(select, "poll"):
        threading.Thread(target=_watch, args=(pipe,), daemon=True, name="orphans").start()


def _ask_the_system() -> None:
    with suppress(ImportError, OSError, AttributeError):  # the watching thread remains
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)


def _watch(pipe: int) -> None:
    poll = select.poll()
    poll.register(pipe, 0)  # nothing but the end of the pipe
    poll.poll()
    os._exit(1)
