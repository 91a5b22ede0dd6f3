"""Read a file that a user names: its kind and size are looked at before its content."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def read_file(path: Path, what: str, most: int, refuse: Callable[[str], Exception]) -> bytes:
    """The bytes of the regular file at ``path``, at most ``most``; links are followed.

    Nothing is waited for: a pipe without a writer is not opened, and a file that grows while it is read
    is refused.

    Parameters
    ----------
    what
        How errors call it, ``"File 'm.json'"``.
    refuse
        Makes the exception from the message.

    Raises
    ------
    FileNotFoundError
        When there is none; the caller knows the remedy.
    Exception
        What ``refuse`` makes, for what is no regular file, is too large, or cannot be read.

    Examples
    --------
    >>> read_file(Path("/"), "File '/'", 10, ValueError)
    Traceback (most recent call last):
    ValueError: File '/': it is a folder, not a file; name a file.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    if "\0" in str(path):
        raise refuse(f"{what}: a name of a file holds no null character; check the path.")
    try:
        found = path.stat()
        _check(found, what, most, refuse)  # a device may do something when it is opened
        with os.fdopen(os.open(path, flags), "rb") as file:
            size = _check(os.fstat(file.fileno()), what, most, refuse)
            data = file.read(size + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise refuse(f"{what}: {error.strerror or error}; check the path.") from None
    except UnicodeEncodeError:
        raise refuse(f"{what}: a name of a file must be text; check the path.") from None
    if len(data) > size:
        raise refuse(f"{what}: it grows while it is read; wait until it is complete.")
    return data


def _check(found: os.stat_result, what: str, most: int, refuse: Callable[[str], Exception]) -> int:
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for test, name in _KINDS if test(found.st_mode)), "something else")
        raise refuse(f"{what}: it is {kind}, not a file; name a file.")
    if found.st_size > most:
        raise refuse(f"{what}: {found.st_size} bytes is more than the limit of {most}; make it smaller.")
    return found.st_size
