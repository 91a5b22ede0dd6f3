"""Files that their owner alone reads, written whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

FRESH = ".new-"  # begins the name of a file that is being written


def write_whole(path: Path, data: bytes, *, sync: bool = False) -> None:
    """Write a file under another name and rename it, so that no half of it is ever found.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a", b"1")
    ...     [p.name for p in Path(folder).iterdir()]
    ['a']
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f"{FRESH}{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
