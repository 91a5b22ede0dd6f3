"""Python's side of the MIG editor: a layout as plain data out, edits in; nothing is trusted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
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


@dataclass(frozen=True, slots=True)
class Shown:
    """An instance in the picture: its place, its slices, its name, its chart colour, its memory."""

    start: int
    memory: int
    compute: int
    name: str
    colour: int
    size: str


@dataclass(frozen=True, slots=True)
class Option:
    """A profile that might start at an empty slice; ``why_not`` is empty where it may."""

    name: str
    about: str
    why_not: str
    colour: int


@dataclass(frozen=True, slots=True)
class Empty:
    """An empty memory slice; ``stranded``: no instance can ever cover it."""

    cell: int
    stranded: bool
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class BoardView:
    """One board as the editor draws it: its slices, instances, empty slices, and compute slices.

    ``free`` compute slices can still be used, ``lost`` ones cannot.
    """

    name: str
    memory: int
    compute: int
    instances: tuple[Shown, ...]
    empty: tuple[Empty, ...]
    free: int
    lost: int

    def to_json(self) -> dict[str, Any]:
        """What is sent to the browser; ``sig`` changes when, and only when, the drawing has to."""
        data: dict[str, Any] = {
            "name": self.name,
            "memory": self.memory,
            "compute": self.compute,
            "instances": [list(astuple(i)) for i in self.instances],
            "empty": [[e.cell, e.stranded, [list(astuple(o)) for o in e.options]] for e in self.empty],
            "free": self.free,
            "lost": self.lost,
        }
        data["sig"] = hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]
        return data


def board_view(layout: MigLayout, name: str) -> BoardView:
    """A layout as the editor draws it."""
    whole, stranded = board(layout.board), stranded_cells(layout)
    used = sum(p.compute_slices for p in layout.profiles)
    lost = layout.stranded_compute if layout.slices else 0
    return BoardView(
        name=name,
        memory=whole.memory_slices,
        compute=whole.compute_slices,
        instances=tuple(
            Shown(
                s.start,
                p.memory_slices,
                p.compute_slices,
                p.name,
                size_colour(p.compute_slices),
                format_size(p.memory_bytes),
            )
            for s, p in zip(layout.slices, layout.profiles, strict=True)
        ),
        empty=tuple(
            Empty(cell, cell in stranded, tuple(_option(layout, cell, p) for p in _ordered(layout)))
            for cell, owner in enumerate(layout.memory_map)
            if owner < 0
        ),
        free=whole.compute_slices - used - lost,
        lost=lost,
    )


def _ordered(layout: MigLayout) -> list[Profile]:
    return sorted(
        board(layout.board).profiles,
        key=lambda p: (-p.compute_slices, -p.memory_slices, not p.standard, p.name),
    )


def _option(layout: MigLayout, cell: int, profile: Profile) -> Option:
    about = f"{profile.compute_slices} of {board(layout.board).compute_slices} compute, "
    about += format_size(profile.memory_bytes)
    reason = why_not(layout, cell, profile)
    return Option(profile.name, about, reason, size_colour(profile.compute_slices))


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

    _component(key=key, data=board_view(layout, name).to_json(), on_edit_change=changed)
