"""The operations on saved items: save, list, search, change, compare, export, import.

At the top of the ZIP file lie ``saved.json``, which lists the items, and for each its scenario's bundle and
its result's JSON. Names, notes and dates are taken; what a list shows of a result is made from the result
again. Scenarios pass the same checks as any that is opened. Models stay bytes until a page reads them, which
is in a guarded process.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import Field, ValidationError

from nona.app.store.contents import (
    LISTED,
    MOST_RESULT_BYTES,
    SAVED_KINDS,
    Contents,
    NewItem,
    clean_name,
    clean_note,
    holds,
    item_of,
    row_of,
    unpacked,
)
from nona.app.store.database import Database
from nona.app.store.saved_results import MOST_NAME, MOST_NOTE, SavedComparison, SavedItem, SavedList
from nona.core.document import Document
from nona.core.errors import NonaError, StoreError
from nona.core.foreign import Archive
from nona.queries.report.scenario_diff import scenario_changes
from nona.scenario.opening import OpenedScenario, is_bundle

MOST_STORED = 1000  # of one owner
MOST_BYTES = 2**30  # of one owner, deleted items among them
MOST_BY_ITSELF = 40  # runs of one owner that keep themselves
MOST_BY_ITSELF_BYTES = 2**28  # of these
UNDO_S = 86400.0  # how long a deleted item can be restored
_LEAST, _SHOWN = 4, 8  # digits of an identifier that name it, and that are shown
COMMAND_LINE = "command line"  # the owner of what was saved there


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class ResultStore:
    """The items of a database that one owner sees.

    ``database``: where the items are.
    ``owner``: whose items are saved and changed.
    ``everyone``: True where the items of others are visible too; they can be duplicated, not changed.
    ``master``: True where those can also be changed, as by the owner of the file.
    ``now``: the time.
    """

    database: Database
    owner: str
    everyone: bool = False
    master: bool = False
    now: Callable[[], datetime] = _now

    def save(self, *items: NewItem) -> tuple[SavedItem, ...]:
        """Keep results with their scenarios: all of them, or none.

        An automatically saved item makes room for newer ones, and for the same result saved by the user.

        Raises ``StoreError`` when one is too large, there are too many, or the database cannot be written.
        """
        rows = [row_of(item, self.owner, self._time()) for item in items]
        with self.database.writing() as connection:
            self._purge(connection)
            for row in rows:
                again = "DELETE FROM items WHERE by_itself AND owner = :owner AND result = :result"
                connection.execute(again, row)
            self._check_room(connection, len(rows), sum(row["size_bytes"] for row in rows))
            for row in rows:
                columns, values = ", ".join(row), ", ".join(f":{name}" for name in row)
                connection.execute(f"INSERT INTO items ({columns}) VALUES ({values})", row)
            self._trim(connection)
            return tuple(self._found(connection, row["id"]) for row in rows)

    def listing(self, search: str = "", kind: str = "") -> SavedList:
        """List the items, latest first, with each word of ``search`` in name, note, policies or models."""
        with self.database.reading() as connection:
            if connection is None:
                return SavedList()
            rows = connection.execute(
                f"SELECT {LISTED} FROM items WHERE {self._visible} ORDER BY saved_at DESC, rowid DESC",
                self._owners,
            ).fetchall()
        read = [self._item(row) for row in rows]
        items = [item for item in read if item is not None and holds(item, search)]
        return SavedList(
            items=tuple(item for item in items if kind in ("", item.kind)), unreadable=read.count(None)
        )

    def keep(self, item_id: str) -> SavedItem:
        """Keep an automatically saved item until it is deleted."""
        return self._set(item_id, "by_itself", 0)

    def find(self, item_id: str) -> SavedItem:
        """Return an item; :class:`StoreError` if there is none."""
        with self.database.reading() as connection:
            return self._found(connection, item_id)

    def named(self, text: str) -> SavedItem:
        """Return the item whose identifier begins with ``text``, or the only one of that name."""
        every = self.listing().items
        named = [item for item in every if item.name == text]
        matching = named or [item for item in every if len(text) >= _LEAST and item.id.startswith(text)]
        if len(matching) == 1:
            return matching[0]
        if not matching:
            raise StoreError(f"Saved item {text[:40]!r}: there is none; look for it in the list.")
        ids = ", ".join(item.id[:_SHOWN] for item in matching[:4])
        raise StoreError(f"Saved item {text[:40]!r}: {len(matching)} are called so; give one of {ids}.")

    def contents(self, item_id: str) -> Contents:
        """Read an item's scenario and result. Raises :class:`StoreError`."""
        with self.database.reading() as connection:
            item = self._found(connection, item_id)
            row = (
                connection
                and connection.execute(
                    "SELECT scenario, result FROM items WHERE id = ?", (item_id,)
                ).fetchone()
            )
        try:
            bundle, result = row or (b"", b"")
            return Contents(item.kind, bytes(bundle), unpacked(result))
        except (ValueError, TypeError) as error:
            raise StoreError(
                f"Saved item {item.name!r}: its result is damaged ({error}); delete the item."
            ) from None

    def rename(self, item_id: str, name: str) -> SavedItem:
        """Give an item another name. Raises :class:`StoreError`."""
        return self._set(item_id, "name", clean_name(name))

    def annotate(self, item_id: str, note: str) -> SavedItem:
        """Give an item another note. Raises :class:`StoreError`."""
        return self._set(item_id, "note", clean_note(note))

    def duplicate(self, item_id: str, name: str = "") -> SavedItem:
        """Return a copy that belongs to this owner, at first called as the item, with ``(copy)``."""
        item, contents = self.find(item_id), self.contents(item_id)
        copied = name or f"{item.name[:100]} (copy)"
        return self.save(NewItem(copied, item.note, contents, item.facts, item.imported))[0]

    def delete(self, item_id: str) -> SavedItem:
        """Delete an item; :meth:`restore` brings it back for a day."""
        with self.database.writing() as connection:
            item = self._mine(connection, item_id)
            connection.execute("UPDATE items SET deleted_at = ? WHERE id = ?", (self._time(), item_id))
            self._purge(connection)
        return item

    def restore(self, item_id: str) -> SavedItem:
        """Take back that an item was deleted."""
        with self.database.writing() as connection:
            self._purge(connection)
            whose = "1 OR owner = ?" if self.master else "owner = ?"
            done = connection.execute(
                f"UPDATE items SET deleted_at = NULL WHERE id = ? AND deleted_at IS NOT NULL AND ({whose})",
                (item_id, self.owner),
            )
            if not done.rowcount:
                raise StoreError(
                    f"Saved item {item_id[:40]!r}: it was not deleted within a day; look for it in the list."
                )
            return self._found(connection, item_id)

    @property
    def _visible(self) -> str:
        others = "? AND " + ("1" if self.master else "NOT by_itself")
        return f"deleted_at IS NULL AND ({others} OR owner = ?)"

    @property
    def _owners(self) -> tuple[bool, str]:
        return self.everyone or self.master, self.owner

    def _time(self) -> str:
        return self.now().isoformat(timespec="microseconds")

    def _set(self, item_id: str, column: str, value: str | int) -> SavedItem:
        """Change an item, which then counts as saved by the user."""
        with self.database.writing() as connection:
            self._mine(connection, item_id)
            connection.execute(f"UPDATE items SET {column} = ?, by_itself = 0 WHERE id = ?", (value, item_id))
            return self._found(connection, item_id)

    def _found(self, connection: sqlite3.Connection | None, item_id: str) -> SavedItem:
        row = (
            connection
            and connection.execute(
                f"SELECT {LISTED} FROM items WHERE id = ? AND {self._visible}",
                (item_id, *self._owners),
            ).fetchone()
        )
        item = self._item(row) if row else None
        if item is None:
            raise StoreError(f"Saved item {item_id[:40]!r}: there is none; look for it in the list.")
        return item

    def _mine(self, connection: sqlite3.Connection, item_id: str) -> SavedItem:
        item = self._found(connection, item_id)
        if not item.mine:
            raise StoreError(f"Saved item {item.name!r}: another user saved it; change a duplicate of it.")
        return item

    def _item(self, row: tuple[object, ...]) -> SavedItem | None:
        return item_of(row, lambda owner: self.master or owner == self.owner)

    def _purge(self, connection: sqlite3.Connection) -> None:
        """Remove what was deleted more than a day ago."""
        end = (self.now() - timedelta(seconds=UNDO_S)).isoformat(timespec="microseconds")
        connection.execute("DELETE FROM items WHERE deleted_at < ?", (end,))

    def _trim(self, connection: sqlite3.Connection) -> None:
        """Remove the oldest runs that kept themselves, until the others are within their bounds."""
        rows = connection.execute(
            "SELECT id, size_bytes FROM items WHERE by_itself AND owner = ? "
            "ORDER BY saved_at DESC, rowid DESC",
            (self.owner,),
        ).fetchall()
        taken = 0
        for number, (item_id, size) in enumerate(rows):
            taken += size
            if number and (number >= MOST_BY_ITSELF or taken > MOST_BY_ITSELF_BYTES):
                connection.execute("DELETE FROM items WHERE id = ?", (item_id,))

    def _check_room(self, connection: sqlite3.Connection, more: int, size: int) -> None:
        many, total = connection.execute(
            "SELECT COUNT(*) - COUNT(deleted_at), TOTAL(size_bytes) FROM items WHERE owner = ?", (self.owner,)
        ).fetchone()
        if many + more > MOST_STORED or total + size > MOST_BYTES:
            raise StoreError(
                f"Saved items: {many:,} with {total:,.0f} bytes are kept, at most {MOST_STORED:,} with "
                f"{MOST_BYTES:,}; export some and delete them."
            )


FEWEST, MOST = 2, 4


def compare(store: ResultStore, ids: Sequence[str]) -> SavedComparison:
    """Return the items beside each other; the first is what the others are compared with.

    Raises ``StoreError`` when they are not two to four different items of one kind, or one cannot be read.
    """
    chosen = list(dict.fromkeys(ids))
    if not FEWEST <= len(chosen) <= MOST:
        raise StoreError(
            f"Comparison: {len(chosen)} items are chosen; choose {FEWEST} to {MOST} different ones."
        )
    items = tuple(store.find(item_id) for item_id in chosen)
    kinds = list(dict.fromkeys(item.kind for item in items))
    if len(kinds) > 1:
        raise StoreError(f"Comparison: {' and '.join(kinds)} are different kinds; choose items of one kind.")
    contents = [store.contents(item_id) for item_id in chosen]
    opened = [content.opened() for content in contents]
    comparison = SAVED_KINDS.find(kinds[0]).compare([content.answer() for content in contents])
    return SavedComparison(
        items=items,
        scenario=tuple(_changes(opened[0], other) for other in opened),
        notes=comparison.notes,
        answers=comparison.answers,
    )


def _changes(first: OpenedScenario, other: OpenedScenario) -> tuple[str, ...]:
    before, after = first.sources.in_memory or {}, other.sources.in_memory or {}
    files = [f"file {name} changed" for name in before if name in after and before[name] != after[name]]
    return (*scenario_changes(first.scenario, other.scenario), *files)


SUFFIX = ".nona-saved.zip"
LIST_FILE = "saved.json"
VERSION = 1
MOST_IN_FILE = 50  # of one file


class _ItemEntry(Document):
    kind: str
    name: Annotated[str, Field(max_length=MOST_NAME)]
    note: Annotated[str, Field(max_length=MOST_NOTE)]
    saved_at: str
    scenario: str
    result: str


class _ItemList(Document):
    version: int
    items: tuple[_ItemEntry, ...]


def _bad(why: str, remedy: str) -> StoreError:
    return StoreError(f"File of saved items: {why}; {remedy}.")


_ARCHIVE = Archive(_bad, LIST_FILE, 1_000_000, 2 * MOST_IN_FILE + 1, smaller="export fewer items at a time")


def export_items(store: ResultStore, ids: Sequence[str]) -> bytes:
    """Return the items as one file; equal items give equal bytes.

    Raises ``StoreError`` when there are none or too many, or one cannot be read.
    """
    chosen = list(dict.fromkeys(ids))
    if not 1 <= len(chosen) <= MOST_IN_FILE:
        raise StoreError(f"Export: {len(chosen)} items are chosen; choose 1 to {MOST_IN_FILE}.")
    entries: list[_ItemEntry] = []
    members: dict[str, bytes] = {}
    for number, item_id in enumerate(chosen, start=1):
        item, contents = store.find(item_id), store.contents(item_id)
        scenario, result = f"{number}.nona.zip", f"{number}.json"
        members |= {scenario: contents.bundle, result: contents.result}
        entries.append(
            _ItemEntry(
                kind=item.kind,
                name=item.name,
                note=item.note,
                saved_at=item.saved_at,
                scenario=scenario,
                result=result,
            )
        )
    listed = _ItemList(version=VERSION, items=tuple(entries))
    return _ARCHIVE.write({LIST_FILE: json.dumps(listed.to_json(), indent=1).encode(), **members})


def import_items(store: ResultStore, data: bytes) -> tuple[SavedItem, ...]:
    """Save all items of a file as this owner's; all of them, or none where one is wrong.

    Raises ``StoreError`` in one line, whatever ``data`` is.
    """
    return store.save(*_checked(_ARCHIVE.read(data)))


def _checked(members: Mapping[str, bytes]) -> Iterator[NewItem]:
    try:
        listed = _ItemList.model_validate_json(members[LIST_FILE])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or LIST_FILE
        raise _bad(f"its list is wrong at {where[:80]} ({first['msg'][:120]})", "get it again") from None
    if listed.version != VERSION:
        raise _bad(f"its version is {listed.version}, not {VERSION}", "install the version that wrote it")
    if not 1 <= len(listed.items) <= MOST_IN_FILE:
        raise _bad(f"it lists {len(listed.items)} items, not 1 to {MOST_IN_FILE}", "export again")
    for number, entry in enumerate(listed.items, start=1):
        try:
            yield _item(entry, members)
        except NonaError as error:
            raise StoreError(f"File of saved items, item {number}: {_first_line(error)}") from None


def _item(entry: _ItemEntry, members: Mapping[str, bytes]) -> NewItem:
    kind = SAVED_KINDS.find(entry.kind[:40]).name
    for name in (entry.scenario, entry.result):
        if name == LIST_FILE or name not in members:
            raise StoreError(f"its file {name[:60]!r} is not there; get it again.")
    if len(members[entry.result]) > MOST_RESULT_BYTES:
        raise StoreError("its result is too large; export it again.")
    if not is_bundle(members[entry.scenario]):
        raise StoreError("its scenario is no bundle; get it again.")
    contents = Contents(kind, members[entry.scenario], members[entry.result])
    contents.scenario()
    return NewItem(clean_name(entry.name), clean_note(entry.note), contents, contents.facts(), imported=True)


def _first_line(error: NonaError) -> str:
    text = str(error)
    return text if len(text) <= 400 else f"{text[:399]}…"
