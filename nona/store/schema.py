"""The tables of the data base, as the list of steps that lead from one version to the next."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from nona.errors import StoreError

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
)
"""Version n of the schema is what the first n entries make; an entry that was released never changes."""


def migrate(connection: sqlite3.Connection, migrations: Migrations = MIGRATIONS) -> None:
    """Bring the data base to the latest version, in one transaction; a fresh file starts at version 0.

    Raises
    ------
    StoreError
        When another program wrote the file, or a later version of this one.
    """
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
