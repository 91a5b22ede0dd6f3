"""Command ``nona saved``: list, show, change, compare, export and import items."""

from __future__ import annotations

import sys
from pathlib import Path

from nona.app.server.settings import store_folder
from nona.app.store.contents import SAVED_KINDS
from nona.app.store.database import Database
from nona.app.store.report import comparison_text, item_text, list_text
from nona.app.store.saved_results import SavedList
from nona.app.store.store import COMMAND_LINE, ResultStore, export_items, import_items
from nona.app.store.store import compare as compared
from nona.cli.commands.saved import (
    SavedBundleOptions,
    SavedCompareOptions,
    SavedCopyOptions,
    SavedExportOptions,
    SavedImportOptions,
    SavedItemOptions,
    SavedItemsOptions,
    SavedListOptions,
    SavedNameOptions,
    SavedNoteOptions,
    SavedRestoreOptions,
)
from nona.cli.output import emit
from nona.core.document import RunResult
from nona.core.errors import StoreError
from nona.core.foreign import MOST_BUNDLE_BYTES, read_file
from nona.core.output_files import check_places, write_bytes
from nona.scenario.lookup import Sources


def _store_at(folder: Path | None) -> ResultStore:
    """All items below a folder, as who has the file sees them; what is added belongs to the command line."""
    return ResultStore(Database(folder or store_folder()), COMMAND_LINE, everyone=True, master=True)


def save_item(folder: Path | None, name: str, result: RunResult, sources: Sources) -> None:
    """Save a result; where is said on standard error."""
    kind = next(kind for kind in SAVED_KINDS.values() if kind.is_of(result))
    (item,) = _store_at(folder).save(kind.new_item(name, "", result, sources))
    print(f"saved as {item.id[:8]}, {item.name!r}; see: nona saved show {item.id[:8]}", file=sys.stderr)


def items(options: SavedListOptions) -> None:
    """List the items that contain all words of the search."""
    emit(options, _store_at(options.store).listing(options.search), list_text)


def show(options: SavedItemOptions) -> None:
    """All that is said of an item."""
    emit(options, _store_at(options.store).named(options.item), item_text)


def rename(options: SavedNameOptions) -> None:
    """Give an item another name."""
    store = _store_at(options.store)
    emit(options, store.rename(store.named(options.item).id, options.name), item_text)


def note(options: SavedNoteOptions) -> None:
    """Give an item another note."""
    store = _store_at(options.store)
    emit(options, store.annotate(store.named(options.item).id, options.note), item_text)


def duplicate(options: SavedCopyOptions) -> None:
    """Copy an item."""
    store = _store_at(options.store)
    emit(options, store.duplicate(store.named(options.item).id, options.name), item_text)


def delete(options: SavedItemsOptions) -> None:
    """Delete items; all of the names are looked up before the first goes."""
    store = _store_at(options.store)
    chosen = [store.named(text) for text in options.items]
    gone = [store.delete(item.id) for item in chosen]
    emit(options, SavedList(items=tuple(gone)), list_text)
    for item in gone:
        print(f"deleted; for a day it comes back with: nona saved restore {item.id}", file=sys.stderr)


def restore(options: SavedRestoreOptions) -> None:
    """Bring a deleted item back."""
    emit(options, _store_at(options.store).restore(options.item), item_text)


def compare(options: SavedCompareOptions) -> None:
    """Two to four items side by side."""
    store = _store_at(options.store)
    emit(options, compared(store, [store.named(text).id for text in options.items]), comparison_text)


def export(options: SavedExportOptions) -> None:
    """Write items, or all, as one file."""
    check_places(options.output)
    store = _store_at(options.store)
    chosen = [store.named(text) for text in options.items] or list(store.listing().items)
    data = export_items(store, [item.id for item in chosen])
    write_bytes(options.output, data)
    emit(options, SavedList(items=tuple(chosen)), list_text)
    print(f"{options.output}: {len(data):,} bytes", file=sys.stderr)


def bundle(options: SavedBundleOptions) -> None:
    """Write the scenario of an item, with its files, as one bundle."""
    check_places(options.output)
    store = _store_at(options.store)
    item = store.named(options.item)
    write_bytes(options.output, store.contents(item.id).bundle)
    emit(options, item, item_text)


def import_saved(options: SavedImportOptions) -> None:
    """Save the items of a file."""
    path = options.file
    try:
        data = read_file(path, f"File {str(path)!r}", MOST_BUNDLE_BYTES, StoreError)
    except FileNotFoundError:
        raise StoreError(f"File {str(path)!r}: it is not here; check the path.") from None
    emit(options, SavedList(items=import_items(_store_at(options.store), data)), list_text)
