"""Python's side of the MIG editor: a layout as plain data out, edits in; nothing is trusted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from nona.errors import HardwareError
from nona.hardware.geometry import Profile, board
from nona.hardware.mig import MigLayout
from nona.hardware.mig_edit import add_slice, empty_layout, options_at, remove_slice, why_not
from nona.ui.widgets.component import declare
from nona.units import format_size

_component = declare(Path(__file__).parent, "migview")
# Chart colours by compute slices: instances of one size look the same everywhere.
COLOURS: Mapping[int, int] = {1: 1, 2: 4, 3: 0, 4: 6, 7: 2}


def size_colour(compute_slices: int) -> int:
    """Number of the chart colour of instances with so many compute slices."""
    return COLOURS.get(compute_slices, 9)


def stranded_cells(layout: MigLayout) -> tuple[int, ...]:
    """Empty memory slices that no instance could cover, whatever is added first elsewhere.

    >>> from nona.hardware.mig import parse_layout
    >>> stranded_cells(parse_layout(", ".join(["1g.5gb"] * 7), "a100-40gb"))
    (7,)
    """
    whole = board(layout.board)
    covered = {
        cell
        for start in range(whole.memory_slices)
        for p in options_at(layout, start)
        for cell in range(start, start + p.memory_slices)
    }
    return tuple(c for c, owner in enumerate(layout.memory_map) if owner < 0 and c not in covered)


def view_data(layout: MigLayout, name: str) -> dict[str, Any]:
    """What is sent to the browser: instances, empty slices with what may start there, compute slices."""
    whole, cells = board(layout.board), layout.memory_map
    stranded = stranded_cells(layout)
    used = sum(p.compute_slices for p in layout.profiles)
    lost = layout.stranded_compute if layout.slices else 0
    data: dict[str, Any] = {
        "name": name,
        "memory": whole.memory_slices,
        "compute": whole.compute_slices,
        "instances": [
            [
                s.start,
                p.memory_slices,
                p.compute_slices,
                p.name,
                size_colour(p.compute_slices),
                format_size(p.memory_bytes),
            ]
            for s, p in zip(layout.slices, layout.profiles, strict=True)
        ],
        "empty": [
            [cell, cell in stranded, [_option(layout, cell, p) for p in _ordered(layout)]]
            for cell, owner in enumerate(cells)
            if owner < 0
        ],
        "free": whole.compute_slices - used - lost,
        "lost": lost,
    }
    data["sig"] = hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]
    return data


def _ordered(layout: MigLayout) -> list[Profile]:
    return sorted(
        board(layout.board).profiles,
        key=lambda p: (-p.compute_slices, -p.memory_slices, not p.standard, p.name),
    )


def _option(layout: MigLayout, cell: int, profile: Profile) -> list[object]:
    about = f"{profile.compute_slices} of {board(layout.board).compute_slices} compute, "
    about += format_size(profile.memory_bytes)
    return [profile.name, about, why_not(layout, cell, profile), size_colour(profile.compute_slices)]


def edited(layout: MigLayout, wish: object) -> MigLayout:
    """The layout after an edit from the browser; raises :class:`HardwareError` for an illegal one.

    >>> edited(empty_layout("a30"), {"act": "add", "start": 2, "profile": "2g.12gb"}).text
    '2g.12gb'
    """
    if not isinstance(wish, Mapping):
        raise HardwareError("MIG editor: the browser sent no edit; reload the page.")
    start, act = wish.get("start"), wish.get("act")
    if act == "clear":
        return empty_layout(layout.board)
    if isinstance(start, int) and not isinstance(start, bool):
        if act == "add":
            return add_slice(layout, start, str(wish.get("profile")))
        if act == "remove":
            return remove_slice(layout, start)
    raise HardwareError("MIG editor: the browser sent an invalid edit; reload the page.")


def mig_view(key: str, layout: MigLayout, name: str, on_edit: Callable[[object], None]) -> None:
    """Draw the editor; ``on_edit`` gets the browser's edit, to pass to :func:`edited`."""

    def changed() -> None:
        state = st.session_state.get(key)
        on_edit(state.get("edit") if state is not None else None)

    _component(key=key, data=view_data(layout, name), on_edit_change=changed)
