"""One saved item in the list with its operations, and the notice that takes a deletion back."""

from __future__ import annotations

import re
from dataclasses import dataclass

import streamlit as st

from nona.report.saved.text import date_text
from nona.results.saved import MOST_NAME, MOST_NOTE, SavedItem
from nona.store.kinds import SAVED_KINDS
from nona.ui.pages.saved.access import attempt, store
from nona.ui.pages.saved.opening import open_item
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain


@dataclass(frozen=True, slots=True)
class _Deleted:
    """The item that was deleted last, until the notice is dismissed."""

    item: SavedItem | None = None


def item_card(state: AppState, item: SavedItem, tick: str) -> None:
    """Name with a box to tick, what it is, its finding and note, its operations."""
    facts = item.facts
    with st.container(border=True, key=f"saved-item-{item.id}", gap="xsmall"):
        hint = "Tick items to compare or export them."
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.checkbox(
                _spoken(item.name), key=tick, help=hint, label_visibility="collapsed", width="content"
            )
            st.markdown(f"**{plain(item.name)}**")
        kind = SAVED_KINDS[item.kind].noun if item.kind in SAVED_KINDS else item.kind
        parts = [
            f"{kind[:1].upper()}{kind[1:]} of “{facts.scenario}”"
            + (f": {facts.about}" if facts.about else ""),
            ", ".join(facts.schedulers),
            date_text(item),
            f"fingerprint {facts.fingerprint}",
        ]
        parts += ["imported: figures as the file states them"] if item.imported else []
        parts += [] if item.mine else ["saved by somebody else"]
        st.caption(plain(" · ".join(parts)))
        if facts.finding:
            st.markdown(plain(facts.finding))
        if item.note:
            st.markdown("  \n".join(f"*{plain(line)}*" for line in item.note.splitlines() if line))
        _operations(state, item)


def _spoken(name: str) -> str:
    """A name as a label that is read out and not shown: without the signs of Markdown.

    >>> _spoken("*a* [b](c)")
    ' a   b (c)'
    """
    return re.sub(r"[\\`*_{}\[\]<>#+!|$~:]", " ", name)


def _operations(state: AppState, item: SavedItem) -> None:
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Open",
            icon=":material/open_in_browser:",
            help="Makes its scenario the present one; Undo in the side bar restores that. A run that was "
            "saved here is shown with its result.",
            on_click=open_item,
            args=(state, item),
            key=f"saved-open-{item.id}",
        )
        if item.mine:
            _edit(state, item)
        st.button(
            "Duplicate",
            icon=":material/content_copy:",
            help="Saves a copy of your own.",
            on_click=_duplicate,
            args=(state, item),
            key=f"saved-copy-{item.id}",
        )
        if item.mine:
            st.button(
                "Delete",
                icon=":material/delete:",
                help="Can be taken back, for a day.",
                on_click=_delete,
                args=(state, item),
                key=f"saved-delete-{item.id}",
            )


def _edit(state: AppState, item: SavedItem) -> None:
    name, note = f"saved-name-{item.id}", f"saved-note-{item.id}"
    with st.popover("Edit", icon=":material/edit:", help="Name and note."):
        st.text_input("Name", item.name, key=name, max_chars=MOST_NAME, help="What it is listed as.")
        hint = "Anything to remember; searches look into it."
        st.text_area("Note", item.note, key=note, max_chars=MOST_NOTE, height=80, help=hint)
        st.button(
            "Save changes",
            icon=":material/check:",
            on_click=_change,
            args=(state, item, name, note),
            key=f"saved-change-{item.id}",
        )


def _change(state: AppState, item: SavedItem, name: str, note: str) -> None:
    given, told = str(st.session_state.get(name, "")), str(st.session_state.get(note) or "")
    if attempt(state, lambda: store().rename(item.id, given)) and attempt(
        state, lambda: store().annotate(item.id, told)
    ):
        state.tell(f"“{given}”: name and note are saved.")


def _duplicate(state: AppState, item: SavedItem) -> None:
    made = attempt(state, lambda: store().duplicate(item.id))
    if made is not None:
        state.tell(f"“{made.name}” is the first in the list.")


def _delete(state: AppState, item: SavedItem) -> None:
    if attempt(state, lambda: store().delete(item.id)):
        state.choices.keep(_Deleted(item))


def undo_notice(state: AppState) -> None:
    """What was deleted last, with the button that takes it back."""
    item = state.choices.of(_Deleted).item
    if item is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="saved-undo"):
        st.markdown(f"“{plain(item.name)}” is deleted.", width="content")
        st.button(
            "Undo the deletion",
            icon=":material/undo:",
            on_click=_restore,
            args=(state, item),
            key="saved-restore",
        )
        st.button("Dismiss", icon=":material/close:", on_click=_dismiss, args=(state,), key="saved-dismiss")


def _restore(state: AppState, item: SavedItem) -> None:
    if attempt(state, lambda: store().restore(item.id)):
        _dismiss(state)


def _dismiss(state: AppState) -> None:
    state.choices.keep(_Deleted())
