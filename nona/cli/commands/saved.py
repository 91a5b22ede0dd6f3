"""``nona saved COMMAND``: runs that were saved."""

from __future__ import annotations

from pathlib import Path

from nona.cli.declared import FILE, JSON, OUTPUT, STORE, argument, command, group, made_by, option

_ITEM = "an item's name, or the beginning of what `nona saved list` calls it"


@command("list", "the items, the latest first", "nona.cli.saved:items")
class SavedListOptions:
    """``nona saved list``."""

    search: str = option(
        "only items with all of these words in name, note, scheduler or model", default="", metavar="WORDS"
    )
    store: Path | None = STORE
    json: bool = JSON


@command("show", "all that is known of an item", "nona.cli.saved:show")
class SavedItemOptions:
    """``nona saved show``."""

    item: str = argument()
    store: Path | None = STORE
    json: bool = JSON


@command("rename", "give an item another name", "nona.cli.saved:rename")
class SavedNameOptions(SavedItemOptions):
    """``nona saved rename``."""

    name: str = argument()


@command("note", "give an item another note", "nona.cli.saved:note")
class SavedNoteOptions(SavedItemOptions):
    """``nona saved note``."""

    note: str = argument()


@command("duplicate", "copy an item", "nona.cli.saved:duplicate")
class SavedCopyOptions(SavedItemOptions):
    """``nona saved duplicate``."""

    name: str = option("name of the copy (default: that of the item, with (copy))", default="")


@command("delete", "delete items; each can be restored for a day", "nona.cli.saved:delete")
class SavedItemsOptions:
    """``nona saved delete``."""

    items: tuple[str, ...] = argument(nargs=-1, metavar="ITEM...")
    store: Path | None = STORE
    json: bool = JSON


@command(
    "restore",
    "restore an item deleted less than a day ago; ITEM is its whole identifier",
    "nona.cli.saved:restore",
)
class SavedRestoreOptions(SavedItemOptions):
    """``nona saved restore``."""


@command(
    "compare",
    "two to four items side by side; the first is what the others are compared with",
    "nona.cli.saved:compare",
)
class SavedCompareOptions(SavedItemsOptions):
    """``nona saved compare``."""


@command(
    "bundle", "write the scenario of an item, with its files, as one .nona.zip file", "nona.cli.saved:bundle"
)
class SavedBundleOptions(SavedItemOptions):
    """``nona saved bundle``."""

    output: Path = option(
        "file to write, e.g. x.nona.zip", OUTPUT, required=True, metavar="FILE", flags=("-o", "--output")
    )


@command("export", "write items, or all, as one file", "nona.cli.saved:export")
class SavedExportOptions:
    """``nona saved export``."""

    items: tuple[str, ...] = argument(nargs=-1, metavar="[ITEM]...", required=False)
    output: Path = option(
        "file to write, e.g. x.nona-saved.zip",
        OUTPUT,
        required=True,
        metavar="FILE",
        flags=("-o", "--output"),
    )
    store: Path | None = STORE
    json: bool = JSON


@command(
    "import",
    "save the items of a file that `nona saved export` or the app wrote",
    "nona.cli.saved:import_saved",
)
class SavedImportOptions:
    """``nona saved import``."""

    file: Path = argument(FILE)
    store: Path | None = STORE
    json: bool = JSON


saved = group("saved", "saved runs: list, compare, rename, delete, export, import", more=f". ITEM: {_ITEM}.")
for _kind in (
    SavedListOptions,
    SavedItemOptions,
    SavedCompareOptions,
    SavedNameOptions,
    SavedNoteOptions,
    SavedCopyOptions,
    SavedItemsOptions,
    SavedRestoreOptions,
    SavedBundleOptions,
    SavedExportOptions,
    SavedImportOptions,
):
    saved.add_command(made_by(_kind))
