"""The database's file: its tables, and how it is opened for one operation at a time.

The write-ahead log lets others read while one writes; with ``synchronous=FULL`` what was committed stands on
disk, so that neither the end of the process nor of the machine takes it back. Every trouble is one line.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from nona.core.errors import StoreError

APPLICATION_ID = 0x4E4F4E41  # "NONA": what stands in the file's header
Migrations = Sequence[Sequence[str]]
MIGRATIONS: Migrations = (
    (
        """CREATE TABLE items (
            id TEXT PRIMARY KEY,
            owner TEXT NOT NULL,
            kind TEXT NOT NULL,
            name TEXT NOT NULL,
            note TEXT NOT NULL,
            saved_at TEXT NOT NULL,
            imported INTEGER NOT NULL,
            deleted_at TEXT,
            size_bytes INTEGER NOT NULL,
            facts TEXT NOT NULL,
            scenario BLOB NOT NULL,
            result BLOB NOT NULL
        )""",
        "CREATE INDEX items_of_owners ON items (owner, saved_at)",
    ),
    ("ALTER TABLE items ADD COLUMN by_itself INTEGER NOT NULL DEFAULT 0",),
)
"""Version n of the schema is what the first n entries make; an entry that was released never changes."""


def migrate(connection: sqlite3.Connection, migrations: Migrations = MIGRATIONS) -> None:
    """Bring the database to the latest version, in one transaction; a fresh file starts at version 0."""
    if _state(connection) == (APPLICATION_ID, len(migrations)):
        return
    connection.execute("BEGIN IMMEDIATE")  # of several that open it at once, one migrates
    try:
        application, version = _state(connection)
        if application != APPLICATION_ID and (application or version or _tables(connection)):
            raise StoreError("another program wrote it; name another folder with --store")
        if version > len(migrations):
            raise StoreError(
                f"its version is {version}, and this program knows {len(migrations)}; install the "
                "version of Nona Planner that wrote it"
            )
        for statements in migrations[version:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _state(connection: sqlite3.Connection) -> tuple[int, int]:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return application, version


def _tables(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()[0])


FILE = "saved.sqlite3"
WAIT_S = 20.0  # for another process that writes
_WAIT_STEP_S = 0.02
_SMALLEST = 512  # bytes of a page
_REMEDY = "free space there, or name another folder with --store"
_ALLOW = "make the file and its folder writable, or name another folder with --store"
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_REFUSED = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)


@dataclass(frozen=True, slots=True)
class Database:
    """The file below a folder.

    ``folder``: where it lies; folder and file are made when something is saved, for their owner alone.
    ``migrations``: the steps of its schema.
    ``most_pages``: the most pages of 4,096 bytes that the file may have; 0: as SQLite allows.
    """

    folder: Path
    migrations: Migrations = MIGRATIONS
    most_pages: int = 0

    @property
    def path(self) -> Path:
        """The file of the database."""
        return self.folder / FILE

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """Open a connection to read with.

        ``None`` where nothing was ever saved. Raises :class:`StoreError`.
        """
        with self._troubles():
            if not _is_there(self.path):
                yield None
                return
            with closing(self._open()) as connection:
                yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction, committed at the end of the block unless it raises ``StoreError``."""
        with self._troubles():
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            with closing(self._open()) as connection:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise

    def _open(self) -> sqlite3.Connection:
        # Looked at from outside only: who closes a file gives up the locks of the whole process on it.
        status = self.path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise StoreError("it is no file; move it away, or name another folder with --store")
        if 0 < status.st_size < _SMALLEST:  # SQLite would take it for an empty one and write over it
            raise StoreError("it is damaged, or is not a database; put a copy in its place, or move it away")
        connection = sqlite3.connect(self.path, timeout=WAIT_S, isolation_level=None)
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")
            if self.most_pages:
                connection.execute(f"PRAGMA max_page_count = {self.most_pages:d}")
            migrate(connection, self.migrations)  # refuses the file of another program before anything is set
            _use_log(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _troubles(self) -> Iterator[None]:
        """Whatever fails, as a :class:`StoreError` of one line that names the file."""
        what = f"Saved items, {self.path}"
        try:
            yield
        except StoreError as error:
            text = str(error)
            raise (error if text.endswith(".") else StoreError(f"{what}: {text}.")) from None
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter of text in a damaged file
            raise StoreError(f"{what}: {_trouble(error)}.") from error
        except OSError as error:
            reason = error.strerror or type(error).__name__
            remedy = _ALLOW if isinstance(error, PermissionError) else _REMEDY
            raise StoreError(f"{what}: it cannot be used ({reason}); {remedy}.") from error


def _is_there(path: Path) -> bool:
    """Return whether the file exists; ``OSError`` where that cannot be seen, as in a folder closed to us."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    return True


def _use_log(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log; of several that do so at once all but one are refused for a moment."""
    end = time.monotonic() + WAIT_S
    while True:
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if _code(error) not in _BUSY or time.monotonic() > end:
                raise
            time.sleep(_WAIT_STEP_S)


def _trouble(error: Exception) -> str:
    code, reason = _code(error), " ".join(str(error).split())
    if code in _BUSY:
        return f"another server has been writing for {WAIT_S:g} s ({reason}); try again"
    if code in (*_NO_ROOM, *_REFUSED):
        return f"it cannot be read and written ({reason}); {_ALLOW if code in _REFUSED else _REMEDY}"
    return (
        f"it is damaged, or is not a database ({reason}); put a copy in its place, or move it away to start "
        "with an empty one"
    )


def _code(error: Exception) -> int:
    """SQLite's primary error code; 255 where Python itself raised the error."""
    return int(getattr(error, "sqlite_errorcode", -1)) & 0xFF
