"""The button that saves the run that is shown, with a name and a note."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st

from nona.results.saved import MOST_NAME, MOST_NOTE
from nona.store.simulations import run_item
from nona.ui.pages.saved.access import attempt, complaint, cookie_hint, store
from nona.ui.session.runs import Kept
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain


@dataclass(frozen=True, slots=True)
class Saved:
    """The names under which runs of this session were saved, by their numbers."""

    names: Mapping[int, str] = field(default_factory=dict)


def save_popover(state: AppState, run: Kept) -> None:
    """A button that unfolds name, note and Save."""
    name, note = f"save-name-{run.number}", f"save-note-{run.number}"
    done = state.choices.of(Saved).names.get(run.number)
    hint = "Keeps the scenario with its models, and the result, until you delete it; see the page Saved."
    with st.popover("Save this run", icon=":material/bookmark_add:", help=hint):
        st.session_state.setdefault(name, run.name[:MOST_NAME])
        st.text_input("Name", key=name, max_chars=MOST_NAME, help="What the page Saved lists it as.")
        hint = "Anything to remember; searches look into it."
        st.text_area("Note", key=note, max_chars=MOST_NOTE, height=80, help=hint)
        st.button(
            "Save",
            type="primary",
            icon=":material/bookmark_added:",
            on_click=_save,
            args=(state, run, name, note),
            key="save-run",
        )
        if done is not None:
            st.caption(plain(f"Saved as “{done}”. Save again to keep a second copy."))
        complaint(state)
        cookie_hint()


def _save(state: AppState, run: Kept, name: str, note: str) -> None:
    given, told = str(st.session_state.get(name, "")), str(st.session_state.get(note) or "")
    saved = attempt(state, lambda: store().save(run_item(given, told, run.data, state.uploads.sources)))
    if saved:
        names = state.choices.of(Saved).names
        state.choices.keep(Saved({**names, run.number: saved[0].name}))
        state.tell(f"Saved as “{saved[0].name}”.", "saved", "See it")
