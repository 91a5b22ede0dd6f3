"""What is compiled before anybody waits for it: which families are ready, and the process that compiles them.

No family needs the code of another, nor does a run wait for this process: queries are simulated by SimPy
meanwhile, and of the others a run compiles what it calls, if that is not there yet.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from nona import import_root
from nona.core.compiled.build import cache_folder, is_ready, mark_ready
from nona.core.compiled.cache import tell_not_kept
from nona.core.family import families
from nona.core.priority import LOWEST, give_way
from nona.core.registry import load

#: What is compiled, by name, in the order in which that is done.
_PARTS = [part for family in families() for part in family.compiled]
FAMILIES = {part.name: part.run for part in sorted(_PARTS, key=lambda part: part.last)}
_CLAIM = "preparing"
_STALE_S = (
    3600.0  # a process that claimed the work so long ago has died; a busy machine may take half an hour
)


def compile_families(families: Iterable[str] = FAMILIES) -> None:
    """Compile in this process what is not ready."""
    for family in families:
        if not is_ready(family):
            load(FAMILIES[family])()
            mark_ready(family)


def prepare_in_background(*families: str) -> bool:
    """Let a process of its own compile these, in this order, unless one is at it.

    Returns whether all are ready.
    """
    missing = [family for family in families if not is_ready(family)]
    if missing and _claimed():
        _start(missing)
    return not missing


def compiling() -> tuple[str, float] | None:
    """Return the family that a process compiles now, and for how many seconds; ``None`` where none does."""
    claim = cache_folder() / _CLAIM
    try:
        pid, _, family = claim.read_text(encoding="ascii").partition(" ")
        seconds = time.time() - claim.stat().st_mtime
    except OSError:
        return None
    return (family, max(0.0, seconds)) if family in FAMILIES and not _is_gone(pid) else None


def compile_in_turn(*families: str) -> None:
    """Compile the families one by one at the lowest priority: what the background process does.

    Where compiling fails, the claim stays for its time, so that nobody begins again at once.
    """
    give_way(LOWEST)
    claim = cache_folder() / _CLAIM
    try:
        for family in families:
            _note(claim, f"{os.getpid()} {family}")
            compile_families([family])
    except BaseException:
        _note(claim, "failed")
        raise
    with contextlib.suppress(OSError):
        claim.unlink()


def _start(families: Iterable[str]) -> None:
    program = f"from {__name__} import compile_in_turn; compile_in_turn(*{tuple(families)!r})"
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=import_root(),
        start_new_session=True,  # it goes on when we end
    )
    _note(cache_folder() / _CLAIM, str(process.pid))
    threading.Thread(target=process.wait, daemon=True, name="compile").start()


def _note(claim: Path, text: str) -> None:
    """Write into the claim who has the work; without that it holds for its time."""
    with contextlib.suppress(OSError):
        claim.write_text(text, encoding="ascii")


def _claimed() -> bool:
    """Return whether this process may have the work done: only one does it at a time."""
    claim = cache_folder() / _CLAIM
    with contextlib.suppress(OSError):
        pid = claim.read_text(encoding="ascii").partition(" ")[0]
        if time.time() - claim.stat().st_mtime > _STALE_S or _is_gone(pid):
            claim.unlink()
    try:
        os.close(os.open(claim, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    except OSError as error:
        tell_not_kept(claim.parent, error)
        return False
    return True


def _is_gone(pid: str) -> bool:
    """Return whether the process that has the work has ended; false where asking could do harm."""
    if not pid.isdigit() or os.name != "posix":
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
