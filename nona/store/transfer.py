"""Saved items as one file (``.nona-saved.zip``), and such a file read with suspicion.

At the top of the ZIP file lie ``saved.json``, which lists the items, and for each its scenario's bundle and
its result's JSON. Names, notes and dates are taken; what a list shows of a result is made from the result
again. Scenarios pass the same checks as any that is opened. Models stay bytes until a page reads them, which
is in a guarded process.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import Field, ValidationError

from nona.errors import NonaError, StoreError
from nona.foreign.archives import Archive
from nona.results.document import Document
from nona.results.saved import MOST_NAME, MOST_NOTE, SavedItem
from nona.sources.bundle import is_bundle
from nona.store.contents import MOST_RESULT_BYTES, Contents, clean_name, clean_note
from nona.store.kinds import SAVED_KINDS
from nona.store.rows import NewItem
from nona.store.store import Store

SUFFIX = ".nona-saved.zip"
LISTED = "saved.json"
VERSION = 1
MOST_ITEMS = 50  # of one file


class _Entry(Document):
    kind: str
    name: Annotated[str, Field(max_length=MOST_NAME)]
    note: Annotated[str, Field(max_length=MOST_NOTE)]
    saved_at: str
    scenario: str
    result: str


class _Listed(Document):
    version: int
    items: tuple[_Entry, ...]


def _bad(why: str, remedy: str) -> StoreError:
    return StoreError(f"File of saved items: {why}; {remedy}.")


_ARCHIVE = Archive(_bad, LISTED, 1_000_000, 2 * MOST_ITEMS + 1, smaller="export fewer items at a time")


def export_items(store: Store, ids: Sequence[str]) -> bytes:
    """The items as one file; equal items give equal bytes.

    Raises
    ------
    StoreError
        When there are none or too many, or one cannot be read.
    """
    chosen = list(dict.fromkeys(ids))
    if not 1 <= len(chosen) <= MOST_ITEMS:
        raise StoreError(f"Export: {len(chosen)} items are chosen; choose 1 to {MOST_ITEMS}.")
    entries: list[_Entry] = []
    members: dict[str, bytes] = {}
    for number, item_id in enumerate(chosen, start=1):
        item, contents = store.find(item_id), store.contents(item_id)
        scenario, result = f"{number}.nona.zip", f"{number}.json"
        members |= {scenario: contents.bundle, result: contents.result}
        entries.append(
            _Entry(
                kind=item.kind,
                name=item.name,
                note=item.note,
                saved_at=item.saved_at,
                scenario=scenario,
                result=result,
            )
        )
    listed = _Listed(version=VERSION, items=tuple(entries))
    return _ARCHIVE.write({LISTED: json.dumps(listed.to_json(), indent=1).encode(), **members})


def import_items(store: Store, data: bytes) -> tuple[SavedItem, ...]:
    """Save all items of a file as this owner's; all of them, or none where one is wrong.

    Raises
    ------
    StoreError
        In one line, whatever ``data`` is.
    """
    return store.save(*_checked(_ARCHIVE.read(data)))


def _checked(members: Mapping[str, bytes]) -> Iterator[NewItem]:
    try:
        listed = _Listed.model_validate_json(members[LISTED])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or LISTED
        raise _bad(f"its list is wrong at {where[:80]} ({first['msg'][:120]})", "get it again") from None
    if listed.version != VERSION:
        raise _bad(f"its version is {listed.version}, not {VERSION}", "install the version that wrote it")
    if not 1 <= len(listed.items) <= MOST_ITEMS:
        raise _bad(f"it lists {len(listed.items)} items, not 1 to {MOST_ITEMS}", "export again")
    for number, entry in enumerate(listed.items, start=1):
        try:
            yield _item(entry, members)
        except NonaError as error:
            raise StoreError(f"File of saved items, item {number}: {_first_line(error)}") from None


def _item(entry: _Entry, members: Mapping[str, bytes]) -> NewItem:
    kind = SAVED_KINDS.find(entry.kind[:40]).name
    for name in (entry.scenario, entry.result):
        if name == LISTED or name not in members:
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
