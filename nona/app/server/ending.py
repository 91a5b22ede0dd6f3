"""End and clean-up of a server: signals, temporary folders, memory given back.

A root is named ``nona-<pid>-<random>`` and holds a file ``owner``, which its process keeps locked: the system
releases the lock however the process ends, and the numbers of processes need not be compared, which differ
between containers that share a folder. A cleaner may remove anything here at any time: what is asked for
again is made again.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import secrets
import shutil
import signal
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FrameType

from nona.core.errors import NonaError

LIMIT_S = 3.5  # for saving; what takes longer, on a disk that hangs, is given up
INTERRUPTED = 130  # the exit status of an interrupted command
_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK")

Action = Callable[[], object]


class Ending:
    """Actions before the server's process ends, in the order in which they were added.

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
    """Return the ending of this process."""
    return Ending()


def end_on_signals() -> None:
    """From now on a signal ends this process: first all of :func:`ending`, at most ``LIMIT_S``; one line.

    The exit status is 130 after Ctrl-C and else 0. A second signal ends the process at once. A hangup that is
    ignored, as ``nohup`` asks, stays ignored. Call it in the main thread.
    """
    signalled = threading.Event()

    def leave(number: int, _frame: FrameType | None) -> None:
        if signalled.is_set():
            os._exit(_status(number))
        signalled.set()
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


try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed
    fcntl = None  # type: ignore[assignment]

PREFIX, OWNER = "nona-", "owner"
NO_OWNER_S = 3600.0  # a root without its file may be one that a cleaner went through


class TemporaryRoot:
    """The folder of one process below ``parent``; nothing is made before it is needed.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     root = TemporaryRoot(Path(folder))
    ...     made = root.make(root.reserve("job-"))
    ...     made.is_dir(), made.parent == root.path, sweep(Path(folder)), root.remove(), root.path.exists()
    (True, True, 0, None, False)
    """

    def __init__(self, parent: Path) -> None:
        self.path = parent / f"{PREFIX}{os.getpid()}-{secrets.token_hex(8)}"
        self._lock = threading.Lock()
        self._owner: int | None = None

    def reserve(self, prefix: str) -> Path:
        """Return an unused folder name with that prefix; the folder is not created."""
        return self.path / f"{prefix}{secrets.token_hex(8)}"

    def make(self, folder: Path) -> Path:
        """Make a reserved folder unless it is there, readable by this user alone; raises ``OSError``."""
        with self._lock:
            self.path.mkdir(mode=0o700, exist_ok=True)
            if not (self.path / OWNER).exists():
                self._own()
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        with self._lock:
            self._release()
            shutil.rmtree(self.path, ignore_errors=True)

    def _own(self) -> None:
        """Write the owner's file, locked before it gets its name."""
        self._release()
        fresh = self.path / f"{OWNER}.new"
        self._owner = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        _locked(self._owner)
        os.write(self._owner, f"{os.getpid()} {time.time():.0f}\n".encode())
        fresh.rename(self.path / OWNER)

    def _release(self) -> None:
        if self._owner is not None:
            os.close(self._owner)
            self._owner = None


def temporary_folder(prefix: str, error: type[NonaError]) -> Path:
    """Return a new folder below this process's root; raises ``error``, in one line, when none can be made."""
    return made(reserved(prefix), error)


def reserved(prefix: str) -> Path:
    """Return the path of a folder below this process's root, not made yet."""
    return _own(os.getpid()).reserve(prefix)


def made(folder: Path, error: type[NonaError]) -> Path:
    """Make a :func:`reserved` folder, again if a cleaner removed it; raises ``error`` when it cannot be."""
    try:
        return _own(os.getpid()).make(folder)
    except OSError as reason:
        raise error(
            f"Folder {folder.parent.parent}: no temporary folder can be made there ({reason.strerror}); free "
            "space, or name another folder in TMPDIR."
        ) from reason


def remove_temporary() -> None:
    """Remove this process's root with all that is in it."""
    _own(os.getpid()).remove()


def sweep(parent: Path | None = None) -> int:
    """Remove the roots of this user whose process has ended; returns how many that were."""
    removed = 0
    for path in (parent or Path(tempfile.gettempdir())).glob(f"{PREFIX}[0-9]*-*"):
        with suppress(OSError):
            if _left_behind(path):
                shutil.rmtree(path, ignore_errors=True)
                removed += 1
    return removed


def _left_behind(path: Path) -> bool:
    about = path.lstat()
    if not stat.S_ISDIR(about.st_mode) or (hasattr(os, "getuid") and about.st_uid != os.getuid()):
        return False
    try:
        owner = os.open(path / OWNER, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return time.time() - about.st_mtime > NO_OWNER_S
    try:
        return _locked(owner)
    finally:
        os.close(owner)


def _locked(file: int) -> bool:
    """Lock an open file for this process; returns whether that was possible."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@cache
def _own(process: int) -> TemporaryRoot:
    """Return the root of this process; one that was forked has another than its parent."""
    root = TemporaryRoot(Path(tempfile.gettempdir()))
    atexit.register(_remove_if, process, root)
    return root


def _remove_if(process: int, root: TemporaryRoot) -> None:
    if os.getpid() == process:
        root.remove()


def give_back_memory() -> None:
    """Collect what is unreachable, and have the C library return its free pages where it can (glibc)."""
    gc.collect()
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
