"""Files that a command or a page writes: checked before the work starts, and whole or not there."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from nona.core.errors import ReportError
from nona.core.tables import safe_cell

if TYPE_CHECKING:
    import pandas as pd

PARQUET = (".parquet", ".pq")


def write_job_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table: Parquet where ``path`` ends in ``.parquet`` or ``.pq``, else CSV."""
    with _replaced(path) as place:
        if path.suffix.lower() in PARQUET:
            table.to_parquet(place, index=False)
            return
        for column in ("model", "application"):  # names that people gave
            if column in table:
                safe = {name: safe_cell(name) for name in table[column].unique()}
                table = table.assign(**{column: table[column].map(safe)})
        table.to_csv(place, index=False)


def check_places(*paths: Path | None) -> None:
    """Raise :class:`~nona.core.errors.ReportError` if a file could not be written, before the work starts.

    >>> check_places(None, Path("/nowhere/jobs.csv"))
    Traceback (most recent call last):
    nona.core.errors.ReportError: File '/nowhere/jobs.csv': its folder does not exist; create it or choose \
another.
    """
    for path in paths:
        if path is not None:
            try:
                _check(path)
            except OSError as error:
                raise _unwritten(path, error) from None


def _check(path: Path) -> None:
    """Open the same file as :func:`_replaced` and leave nothing behind; never a device or a pipe."""
    if not path.parent.is_dir():
        raise ReportError(f"File {str(path)!r}: its folder does not exist; create it or choose another.")
    if path.is_dir():
        raise ReportError(f"File {str(path)!r}: it is a folder; name a file.")
    if _special(path):
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return
    if path.exists():
        with path.open("ab"):
            pass
    place = _temporary_name(path)
    place.touch(exist_ok=False)
    place.unlink()


def _special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _temporary_name(path: Path) -> Path:
    """Return a new name in the folder of the file that ``path`` leads to: a link stays a link."""
    return path.resolve().parent / f".nona-{secrets.token_hex(8)}.tmp"


@contextmanager
def _replaced(path: Path) -> Iterator[Path]:
    """Give a path to write to that becomes ``path`` at the end: an older file stays whole until then.

    A device or a pipe is written to directly.
    """
    place = path if _special(path) else _temporary_name(path)
    try:
        yield place
        if place != path:
            if path.exists():
                shutil.copymode(path, place)
            place.replace(path.resolve())
    except OSError as error:
        raise _unwritten(path, error) from None
    finally:
        if place != path:
            place.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8; raises :class:`~nona.core.errors.ReportError` where that cannot be done.

    >>> write_text(Path("/nowhere/report.html"), "")
    Traceback (most recent call last):
    nona.core.errors.ReportError: File '/nowhere/report.html': No such file or directory; choose another \
place.
    """
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write ``data``; raises :class:`~nona.core.errors.ReportError` where that cannot be done."""
    with _replaced(path) as place:
        place.write_bytes(data)


def _unwritten(path: Path, error: OSError) -> ReportError:
    return ReportError(f"File {str(path)!r}: {error.strerror or error}; choose another place.")
