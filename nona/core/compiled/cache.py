"""Folders of compiled code: their place, who may write there, files sealed by a checksum."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from nona.core.foreign import write_whole

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_PROBE = bytes(1 << 16)


@cache
def code_folder() -> Path:
    """Return the folder of compiled code: :func:`base_folder`, or a temporary one if that cannot be written.

    Where neither can be written it is the former; who then fails to write says so by :func:`tell_not_kept`.
    """
    base = base_folder()
    try:
        _try_writing(base)
    except OSError:
        with suppress(OSError):
            folder = _temporary_folder()
            _try_writing(folder)
            return folder
    return base


def base_folder() -> Path:
    """``$NONA_CACHE_DIR``, or the folder of this program in the user's cache."""
    named = os.environ.get("NONA_CACHE_DIR")
    return Path(named) if named else _user_cache() / "nona-planner"


def _try_writing(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(_PROBE)


def _temporary_folder() -> Path:
    """Return a folder that is ours alone: what lies in it is run."""
    user = str(os.getuid()) if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"nona-planner-{user}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        if not hasattr(os, "getuid") or (
            status.st_uid == os.getuid() and stat.S_IMODE(status.st_mode) == 0o700
        ):
            return folder
    return Path(tempfile.mkdtemp(prefix="nona-planner-"))


def _user_cache() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    given = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return Path(given) if given else Path.home() / ".cache"


def _is_ours(status: os.stat_result) -> bool:
    """Return whether only this user and root can have written a file or in a folder.

    Windows keeps no such owner and mode; there the folder of the user's profile is trusted.
    """
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid in (os.getuid(), 0) and not status.st_mode & _OTHERS


def make_own(folder: Path) -> None:
    """Make a folder that nobody else can write, or check the one that is there.

    Raises ``OSError`` when it cannot be made, or others can write in it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_ours(folder.stat()):
        raise PermissionError(f"other users can write in {str(folder)!r}")


def tell_not_kept(folder: Path, error: OSError) -> None:
    """Say on standard error that compiled code is not kept in ``folder``, once per reason and process."""
    reason = error.strerror or str(error)
    if next(_first(reason), False):
        print(
            f"nona: warning: folder {str(folder)!r}: compiled code cannot be kept: {reason}. Each process "
            "compiles again. Make room, let nobody else write there, or choose another by NONA_CACHE_DIR.",
            file=sys.stderr,
        )


@cache
def _first(_reason: str) -> Iterator[bool]:
    return iter((True,))


_MARK = b"nona compiled code 1\n"
# Links are not followed, and a pipe is not waited for.
_PLAINLY = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
_HEAD = len(_MARK) + hashlib.sha256().digest_size


def write_sealed(path: Path, data: bytes) -> str:
    """Write ``data`` after its SHA-256, whole or not at all; returns the checksum."""
    digest = hashlib.sha256(data)
    write_whole(path, _MARK + digest.digest() + data)
    return digest.hexdigest()


def read_sealed(path: Path, expected: str | None = None) -> bytes | None:
    """Return the data of a file.

    ``None`` where it is missing, damaged, or another user could have written it.

    ``expected``: the checksum that the data must have; by default the one in the file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "code"
    ...     _ = write_sealed(file, b"machine code")
    ...     whole = read_sealed(file)
    ...     _ = file.write_bytes(file.read_bytes()[:-1])
    ...     whole, read_sealed(file)
    (b'machine code', None)
    """
    try:
        file = os.open(path, _PLAINLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link
            return None
        raise
    with os.fdopen(file, "rb") as opened:
        status = os.fstat(opened.fileno())
        if not (stat.S_ISREG(status.st_mode) and _is_ours(status)):
            return None
        text = opened.read()
    head, data = text[:_HEAD], text[_HEAD:]
    digest = hashlib.sha256(data)
    if head != _MARK + digest.digest() or expected not in (None, digest.hexdigest()):
        return None
    return data
