"""Files of workspaces: counted, and removed when they are old or too many."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from pathlib import Path

from nona.foreign.whole_files import FRESH
from nona.ui.session.disk.saved import FILE

KEEP_S = 30 * 86400.0
MOST_BYTES = 4 * 2**30  # of all workspaces
MOST_WORKSPACE_BYTES = 512 * 2**20


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
            for half in folder.rglob(f"{FRESH}*"):
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
