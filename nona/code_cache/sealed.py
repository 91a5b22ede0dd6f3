"""Files that begin with the checksum of the rest, so that damage is found before anything is made of them."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path

from nona.code_cache.folders import is_ours
from nona.foreign.whole_files import write_whole

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
    """The data of a file; ``None`` where it is missing, damaged, or another user could have written it.

    Parameters
    ----------
    expected
        The checksum that the data must have; by default the one in the file.

    Raises
    ------
    OSError
        When the file is there and cannot be read.

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
        found = os.fstat(opened.fileno())
        if not (stat.S_ISREG(found.st_mode) and is_ours(found)):
            return None
        text = opened.read()
    head, data = text[:_HEAD], text[_HEAD:]
    digest = hashlib.sha256(data)
    if head != _MARK + digest.digest() or expected not in (None, digest.hexdigest()):
        return None
    return data
