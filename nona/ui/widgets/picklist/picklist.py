"""Python's side of the list to pick from: entries as plain data out, the name of the chosen one in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from nona.results.document import Document
from nona.ui.widgets.component import declare

_component = declare(Path(__file__).parent, "picklist")


class Entry(Document):
    """An entry: its name, the family it belongs to, its figures, and a line about it."""

    name: str
    family: str
    figures: str
    about: str


class PickList(Document):
    """What is sent to the browser; ``label`` names the search, ``chosen`` the entry in use."""

    label: str
    entries: tuple[Entry, ...]
    chosen: str


@dataclass(frozen=True, slots=True)
class Picked:
    """What was picked, and a number that is new each time."""

    name: str
    when: int


def pick_list(key: str, label: str, entries: Sequence[Entry], chosen: str) -> None:
    """Draw the list with its search; what is picked in it, the next run finds by :func:`picked`."""
    data = PickList(label=label, entries=tuple(entries), chosen=chosen)
    _component(key=key, data=data.to_json(), on_picked_change=lambda: None)


def picked(key: str) -> Picked | None:
    """The last entry that was picked in the list ``key``."""
    held = st.session_state.get(key)
    found = held.get("picked") if held is not None else None
    if not found or len(found) != 2:
        return None
    name, when = found
    return Picked(str(name), int(when))
