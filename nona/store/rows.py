"""Rows of the data base, from items and back."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nona.results.saved import SavedFacts, SavedItem
from nona.store.contents import Contents, clean_name, clean_note, packed

LISTED = "id, owner, kind, name, note, saved_at, imported, size_bytes, facts"
"""The columns that :func:`item_of` reads."""


@dataclass(frozen=True, slots=True)
class NewItem:
    """What is to be saved: name and note, the contents, what the result says of itself."""

    name: str
    note: str
    contents: Contents
    facts: SavedFacts
    imported: bool = False


def row_of(item: NewItem, owner: str, time: str) -> dict[str, Any]:
    """The columns of a new row; :class:`~nona.errors.StoreError` where name, note or result break a limit."""
    result = packed(item.contents.result)
    return {
        "id": secrets.token_hex(8),
        "owner": owner,
        "kind": item.contents.kind,
        "name": clean_name(item.name),
        "note": clean_note(item.note),
        "saved_at": time,
        "imported": item.imported,
        "size_bytes": len(item.contents.bundle) + len(result),
        "facts": item.facts.model_dump_json(),
        "scenario": item.contents.bundle,
        "result": result,
    }


def item_of(row: tuple[object, ...], is_mine: Callable[[object], bool]) -> SavedItem | None:
    """A row as an item, ``None`` where it is damaged; ``is_mine`` says whose items may be changed."""
    item_id, owner, kind, name, note, saved_at, imported, size_bytes, facts = row
    try:
        return SavedItem.model_validate(
            {
                "id": item_id,
                "kind": kind,
                "name": name,
                "note": note,
                "saved_at": saved_at,
                "imported": bool(imported),
                "mine": is_mine(owner),
                "size_bytes": size_bytes,
                "facts": SavedFacts.model_validate_json(str(facts)),
            }
        )
    except (ValueError, TypeError):
        return None


def holds(item: SavedItem, search: str) -> bool:
    """Whether every word of ``search`` is in the name, the note, the schedulers or the models."""
    facts = item.facts
    words = (item.name, item.note, facts.scenario, *facts.schedulers, *facts.models)
    text = "\n".join(words).casefold()
    return all(word in text for word in search.casefold().split())
