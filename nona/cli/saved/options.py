"""The options of ``nona saved`` and its commands; ``store`` is the folder of the data base."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nona.cli.options import ListOptions


@dataclass(frozen=True, kw_only=True)
class SavedOptions(ListOptions):
    """What every command has."""

    store: Path | None


@dataclass(frozen=True, kw_only=True)
class SavedListOptions(SavedOptions):
    """``nona saved list``."""

    search: str


@dataclass(frozen=True, kw_only=True)
class SavedItemOptions(SavedOptions):
    """``nona saved show | restore``."""

    item: str


@dataclass(frozen=True, kw_only=True)
class SavedNameOptions(SavedItemOptions):
    """``nona saved rename``."""

    name: str


@dataclass(frozen=True, kw_only=True)
class SavedCopyOptions(SavedItemOptions):
    """``nona saved duplicate``; without a name: that of the item, with ``(copy)``."""

    name: str


@dataclass(frozen=True, kw_only=True)
class SavedNoteOptions(SavedItemOptions):
    """``nona saved note``."""

    note: str


@dataclass(frozen=True, kw_only=True)
class SavedItemsOptions(SavedOptions):
    """``nona saved delete | compare``."""

    items: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SavedExportOptions(SavedItemsOptions):
    """``nona saved export``; without items: all."""

    output: Path


@dataclass(frozen=True, kw_only=True)
class SavedBundleOptions(SavedItemOptions):
    """``nona saved bundle``."""

    output: Path


@dataclass(frozen=True, kw_only=True)
class SavedImportOptions(SavedOptions):
    """``nona saved import``."""

    file: Path
