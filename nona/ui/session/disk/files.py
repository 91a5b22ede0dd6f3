"""Files of workspaces: written whole or not at all, counted, and removed when they are old or too many."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path

from nona.ui.session.disk.saved import FILE

KEEP_S = 30 * 86400.0
MOST_BYTES = 4 * 2**30  # of all workspaces
MOST_WORKSPACE_BYTES = 512 * 2**20
_FRESH = ".new-"


def write_whole(path: Path, data: bytes, *, sync: bool = False) -> None:
    """Write a file under another name and rename it, so that no half of it is ever found.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a", b"1")
    ...     [p.name for p in Path(folder).iterdir()]
    ['a']
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f"{_FRESH}{secrets.token_hex(8)}")
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


def remove_others(folder: Path, kept: set[str]) -> None:
    """Remove the files of a folder that are not named."""
    with suppress(FileNotFoundError):
        for path in list(folder.iterdir()):
            if path.name not in kept:
                path.unlink(missing_ok=True)


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(p.lstat().st_size for p in folder.rglob("*") if p.is_file())


def sweep(root: Path, keep_s: float = KEEP_S, most_bytes: int = MOST_BYTES) -> None:
    """Remove halves of files, workspaces unused for ``keep_s``, then the oldest until the rest fits."""
    found: list[tuple[float, int, Path]] = []
    now = time.time()
    for folder in list(root.iterdir()) if root.is_dir() else ():
        with suppress(OSError):
            for half in folder.rglob(f"{_FRESH}*"):
                half.unlink(missing_ok=True)
            main = folder / FILE
            changed = (main if main.is_file() else folder).stat().st_mtime
            if now - changed > keep_s:
                shutil.rmtree(folder, ignore_errors=True)
            else:
                found.append((changed, size_of(folder), folder))
    total = sum(size for _, size, _ in found)
    for _, size, folder in sorted(found, key=lambda f: f[0]):
        if total <= most_bytes:
            return
        shutil.rmtree(folder, ignore_errors=True)
        total -= size
