"""The button that saves a result, with a name and a note."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import streamlit as st

from nona.results.saved import MOST_NAME, MOST_NOTE
from nona.store.rows import NewItem
from nona.ui.pages.saved.access import attempt, complaint, cookie_hint, store
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain


@dataclass(frozen=True, slots=True)
class ToSave:
    """A result that can be saved.

    Attributes
    ----------
    key
        Tells it from other results of the session.
    noun, name
        What people call its kind, and what it is called until somebody types another name.
    item
        Makes of a name and a note what is saved; raises :class:`~nona.errors.NonaError`.
    """

    key: str
    noun: str
    name: str
    item: Callable[[str, str], NewItem]


@dataclass(frozen=True, slots=True)
class Saved:
    """The names under which results of this session were saved, by their keys."""

    names: Mapping[str, str] = field(default_factory=dict)


def save_popover(state: AppState, made: ToSave) -> None:
    """A button that unfolds name, note and Save."""
    name, note = f"save-name-{made.key}", f"save-note-{made.key}"
    done = state.choices.of(Saved).names.get(made.key)
    with st.popover(f"Save this {made.noun}", icon=":material/bookmark_add:"):
        # Said here: as a hint of the button it would lie over Save, which unfolds where the pointer is.
        st.caption(
            "Keeps the scenario with its models, and the result, until you delete it; see the page Saved."
        )
        # A browser draws the field when it is unfolded, and takes its default then, not what was set before.
        hint = "What the page Saved lists it as."
        st.text_input("Name", made.name[:MOST_NAME], key=name, max_chars=MOST_NAME, help=hint)
        hint = "Anything to remember; searches look into it."
        st.text_area("Note", key=note, max_chars=MOST_NOTE, height=80, help=hint)
        st.button(
            "Save",
            type="primary",
            icon=":material/bookmark_added:",
            on_click=_save,
            args=(state, made, name, note),
            key=f"save-{made.noun}",
        )
        if done is not None:
            st.caption(plain(f"Saved as “{done}”. Save again to keep a second copy."))
        complaint(state)
        cookie_hint()


def _save(state: AppState, made: ToSave, name: str, note: str) -> None:
    given, told = str(st.session_state.get(name, "")), str(st.session_state.get(note) or "")
    saved = attempt(state, lambda: store().save(made.item(given, told)))
    if saved:
        names = state.choices.of(Saved).names
        state.choices.keep(Saved({**names, made.key: saved[0].name}))
        state.tell(f"Saved as “{saved[0].name}”.", "saved", "See it")
