"""Edits of a server group's MIG layout: by clicks, by a preset, from a mig-parted file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nona.errors import HardwareError
from nona.hardware.mig import MigLayout
from nona.hardware.mig_edit import empty_layout, layout_of, placed_text
from nona.hardware.mig_parted import Parted, read_mig_parted, write_mig_parted
from nona.ui.session.state import AppState, Draft, Path
from nona.ui.session.uploads import safe_name
from nona.ui.widgets.migview.migview import edited

EMPTY = "the layout has no instance yet, and a sliced GPU needs one; place one, or share it another way."


@dataclass(frozen=True, slots=True)
class PartedFiles:
    """The mig-parted files that were read: server group → board and layouts."""

    by_group: Mapping[int, tuple[str, Parted]] = field(default_factory=dict)


def mig_path(group: int) -> Path:
    """The path of a server group's layout in the scenario."""
    return ("cluster", "servers", group, "mig")


def shown_layout(state: AppState, group: int, board: str) -> MigLayout:
    """The layout as the user left it, the empty one included; empty where it cannot be read."""
    try:
        return layout_of(str(state.shown(mig_path(group)) or ""), board)
    except HardwareError:
        return empty_layout(board)


def set_layout(state: AppState, group: int, layout: MigLayout) -> None:
    """Make it the group's layout; one without an instance is kept as a draft."""
    path = mig_path(group)
    if layout.slices:
        state.edit(path, placed_text(layout))
    else:
        state.drafts[path] = Draft("", f"cluster.servers[{group}].mig: {EMPTY}")


def edit_layout(state: AppState, group: int, board: str, wish: object) -> None:
    """Apply the browser's edit if it is legal; else report why it is not."""
    note = f"mig-note-{group}"
    state.choices.complaints.pop(note, None)
    try:
        set_layout(state, group, edited(shown_layout(state, group, board), wish))
    except HardwareError as error:
        state.choices.complaints[note] = str(error)


def take_parted(state: AppState, group: int, board: str, data: bytes) -> None:
    """Read a mig-parted file for a group's board; its layouts become choices, the first one is used."""
    note = f"mig-note-{group}"
    state.choices.complaints.pop(note, None)
    try:
        parted = read_mig_parted(data, board)
    except HardwareError as error:
        state.choices.complaints[note] = str(error)
        return
    held = state.choices.of(PartedFiles).by_group
    state.choices.keep(PartedFiles({**held, group: (board, parted)}))
    set_layout(state, group, next(iter(parted.layouts.values())))
    state.revision += 1


def taken_parted(state: AppState, group: int, board: str) -> Parted | None:
    """What was read for this group, if it was read for the board that the group has now."""
    held = state.choices.of(PartedFiles).by_group.get(group)
    return held[1] if held and held[0] == board else None


def parted_file(state: AppState, group: int, layout: MigLayout) -> str:
    """The layout as a mig-parted file with one configuration, named after the scenario and the group."""
    words = "".join(c if c.isascii() and c.isalnum() else "-" for c in safe_name(state.scenario.name).lower())
    name = "-".join(w for w in words.split("-") if w)[:60] or "layout"
    return write_mig_parted({f"{name}-{group + 1}": layout})
