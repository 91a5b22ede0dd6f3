"""``nona saved COMMAND``: runs that were saved."""

from __future__ import annotations

import click

from nona.cli.commands import group as common
from nona.cli.commands.group import SETTINGS, Commands, command, takes
from nona.cli.options import (
    SavedBundleOptions,
    SavedCopyOptions,
    SavedExportOptions,
    SavedImportOptions,
    SavedItemOptions,
    SavedItemsOptions,
    SavedListOptions,
    SavedNameOptions,
    SavedNoteOptions,
)

SUMMARY = "saved runs: list, compare, rename, delete, export, import"
_ITEM = "an item's name, or the beginning of what `nona saved list` calls it"


@click.group(
    "saved",
    Commands,
    help=f"{SUMMARY}. ITEM: {_ITEM}.",
    short_help=SUMMARY,
    no_args_is_help=False,
    subcommand_metavar="COMMAND [OPTIONS]...",
    context_settings=SETTINGS,
)
def saved() -> None:
    """The commands for saved items."""


item = click.argument("item")


@command("list", "the items, the latest first")
@click.option(
    "--search",
    default="",
    metavar="WORDS",
    help="only items with all of these words in name, note, scheduler or model",
)
@common.store
@common.json
@takes(SavedListOptions)
def items(options: SavedListOptions) -> None:
    """List saved items."""
    from nona.cli import saved as work

    work.items(options)


@command("show", "all that is known of an item")
@item
@common.store
@common.json
@takes(SavedItemOptions)
def show(options: SavedItemOptions) -> None:
    """Show a saved item."""
    from nona.cli import saved as work

    work.show(options)


@command("rename", "give an item another name")
@item
@click.argument("name")
@common.store
@common.json
@takes(SavedNameOptions)
def rename(options: SavedNameOptions) -> None:
    """Rename a saved item."""
    from nona.cli import saved as work

    work.rename(options)


@command("note", "give an item another note")
@item
@click.argument("note")
@common.store
@common.json
@takes(SavedNoteOptions)
def note(options: SavedNoteOptions) -> None:
    """Annotate a saved item."""
    from nona.cli import saved as work

    work.note(options)


@command("duplicate", "copy an item")
@item
@click.option("--name", default="", help="name of the copy (default: that of the item, with (copy))")
@common.store
@common.json
@takes(SavedCopyOptions)
def duplicate(options: SavedCopyOptions) -> None:
    """Duplicate a saved item."""
    from nona.cli import saved as work

    work.duplicate(options)


@command("delete", "delete items; each can be restored for a day")
@click.argument("items", nargs=-1, required=True, metavar="ITEM...")
@common.store
@common.json
@takes(SavedItemsOptions)
def delete(options: SavedItemsOptions) -> None:
    """Delete saved items."""
    from nona.cli import saved as work

    work.delete(options)


@command("restore", "restore an item deleted less than a day ago; ITEM is its whole identifier")
@item
@common.store
@common.json
@takes(SavedItemOptions)
def restore(options: SavedItemOptions) -> None:
    """Restore a deleted item."""
    from nona.cli import saved as work

    work.restore(options)


@command("compare", "two to four items side by side; the first is what the others are compared with")
@click.argument("items", nargs=-1, required=True, metavar="ITEM...")
@common.store
@common.json
@takes(SavedItemsOptions)
def compare(options: SavedItemsOptions) -> None:
    """Compare saved items."""
    from nona.cli import saved as work

    work.compare(options)


@command("bundle", "write the scenario of an item, with its files, as one .nona.zip file")
@item
@click.option(
    "-o", "--output", type=common.OUTPUT, required=True, metavar="FILE", help="file to write, e.g. x.nona.zip"
)
@common.store
@common.json
@takes(SavedBundleOptions)
def bundle(options: SavedBundleOptions) -> None:
    """Write the scenario of a saved item."""
    from nona.cli import saved as work

    work.bundle(options)


@command("export", "write items, or all, as one file")
@click.argument("items", nargs=-1, metavar="[ITEM]...")
@click.option(
    "-o",
    "--output",
    type=common.OUTPUT,
    required=True,
    metavar="FILE",
    help="file to write, e.g. x.nona-saved.zip",
)
@common.store
@common.json
@takes(SavedExportOptions)
def export(options: SavedExportOptions) -> None:
    """Export saved items."""
    from nona.cli import saved as work

    work.export(options)


@command("import", "save the items of a file that `nona saved export` or the app wrote")
@click.argument("file", type=common.FILE)
@common.store
@common.json
@takes(SavedImportOptions)
def take(options: SavedImportOptions) -> None:
    """Import saved items."""
    from nona.cli import saved as work

    work.take(options)


for _command in (
    items,
    show,
    compare,
    rename,
    note,
    duplicate,
    delete,
    restore,
    bundle,
    export,
    take,
):
    saved.add_command(_command)
