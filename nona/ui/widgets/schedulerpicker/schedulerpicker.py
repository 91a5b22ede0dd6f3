"""Python's side of the choice of schedulers: all of them as plain data out, the chosen names in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import streamlit as st

from nona.results.document import Document
from nona.schedulers.families import FAMILY_TITLES
from nona.schedulers.network_remarks import VIEW_MEANINGS
from nona.schedulers.registry import SCHEDULERS
from nona.ui.widgets.component import declare

_component = declare(Path(__file__).parent, "schedulerpicker")
Choose = Callable[[tuple[str, ...]], None]


class PickerEntry(Document):
    """A scheduler: its family's title, its network view (``N0`` … ``N4``) with the meaning, its texts."""

    name: str
    family: str
    view: str
    meaning: str
    summary: str
    source: str
    adaptation: str


class SchedulerPicker(Document):
    """What is sent to the browser; ``heard``: the number of its last message that was taken in."""

    label: str
    hint: str
    entries: tuple[PickerEntry, ...]
    chosen: tuple[str, ...]
    heard: int


def picker_entries(others: Iterable[str] = ()) -> tuple[PickerEntry, ...]:
    """Every registered scheduler, family by family; then ``others`` that are not registered.

    >>> [e.family for e in picker_entries(["gone"])][-1]
    'Not registered'
    """
    entries = [
        PickerEntry(
            name=s.name,
            family=title,
            view=s.network_view.name,
            meaning=VIEW_MEANINGS[s.network_view],
            summary=s.summary,
            source=s.source,
            adaptation=s.adaptation,
        )
        for family, title in FAMILY_TITLES.items()
        for s in SCHEDULERS.values()
        if s.family == family
    ]
    return (*entries, *(_unknown(name) for name in others if name not in SCHEDULERS))


def _unknown(name: str) -> PickerEntry:
    return PickerEntry(
        name=name, family="Not registered", view="", meaning="", summary="", source="", adaptation=""
    )


def scheduler_picker(key: str, label: str, chosen: Sequence[str], hint: str, on_choose: Choose) -> None:
    """Draw the choice; ``on_choose`` gets the new names, in the order in which they were chosen."""

    def changed() -> None:
        found = _message(key)
        if found is not None:
            on_choose(found[0])

    message = _message(key)
    data = SchedulerPicker(
        label=label,
        hint=hint,
        entries=picker_entries(chosen),
        chosen=tuple(dict.fromkeys(chosen)),
        heard=0 if message is None else message[1],
    )
    _component(key=key, data=data.to_json(), on_chosen_change=changed)


def _message(key: str) -> tuple[tuple[str, ...], int] | None:
    """The names that the browser sent last, and the message's number; ``None`` if it sent none."""
    held = st.session_state.get(key)
    found = held.get("chosen") if held is not None else None
    if not isinstance(found, list) or len(found) != 2 or not isinstance(found[0], list):
        return None
    names, number = found
    return tuple(dict.fromkeys(str(n) for n in names)), int(number)
