"""The page: search, the list or a comparison, files."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from nona.errors import StoreError
from nona.report.text import counted
from nona.results.saved import SavedItem, SavedList
from nona.store.comparing import FEWEST, MOST
from nona.ui.pages.saved.access import complaint, cookie_hint, store
from nona.ui.pages.saved.compare_views import compare_panel, compared, start_comparing
from nona.ui.pages.saved.file_views import export_button, import_popover
from nona.ui.pages.saved.list_views import item_card, undo_notice
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain

STEP = 20  # items shown at first, and added by each "Show more"


@dataclass(frozen=True, slots=True)
class _Shown:
    most: int = STEP


def saved_page(state: AppState) -> None:
    """Everything on the page; where the data base cannot be used, one line says why."""
    try:
        every = store().listing()
    except StoreError as error:
        st.error(plain(str(error)), icon=":material/database_off:")
        st.caption("All other pages work; runs cannot be saved until this is mended.")
        return
    complaint(state)
    undo_notice(state)
    if compared(state) and compare_panel(state):
        return
    _list(state, every)
    cookie_hint()


def _list(state: AppState, every: SavedList) -> None:
    ticked = [item for item in every.items if st.session_state.get(tick_key(item))]
    if every.items:
        st.text_input(
            "Find",
            placeholder="name, note, scheduler or model",
            icon=":material/search:",
            key="saved-find",
            help="Shows the items with all of these words in name, note, scenario, scheduler or model.",
        )
    _actions(state, every, ticked)
    if not every.items:
        st.info(
            "Nothing is saved yet at this address and port. Run a simulation or find a plan, then press "
            "*Save this run* or *Save this plan* below it; or import a file that somebody exported.",
            icon=":material/bookmarks:",
        )
        st.page_link("pages/7_simulation.py", label="Go to Simulation", icon=":material/timeline:")
    if every.unreadable:
        st.warning(f"{counted(every.unreadable, 'item')} cannot be read: the data base is damaged there.")
    search = str(st.session_state.get("saved-find") or "")
    found = store().listing(search).items if search else every.items
    if every.items and not found:
        st.info("No saved item has all of these words. Try one word, or a shorter one.")
    most = state.choices.of(_Shown).most
    for item in found[:most]:
        item_card(state, item, tick_key(item))
    if len(found) > most:
        more = min(STEP, len(found) - most)
        st.button(f"Show {more} more of {len(found)}", on_click=_more, args=(state,), key="saved-more")


def _more(state: AppState) -> None:
    state.choices.keep(_Shown(state.choices.of(_Shown).most + STEP))


def _actions(state: AppState, every: SavedList, ticked: list[SavedItem]) -> None:
    """What is done with the ticked items, and with files."""
    with st.container(horizontal=True, vertical_alignment="center", key="saved-actions"):
        if every.items:
            fits = FEWEST <= len(ticked) <= MOST
            st.button(
                f"Compare {len(ticked)} ticked" if ticked else "Compare",
                icon=":material/compare_arrows:",
                type="primary" if fits else "secondary",
                disabled=not fits,
                help=f"Tick {FEWEST} to {MOST} items. The others are compared with the one saved first.",
                on_click=start_comparing,
                args=(state, [item.id for item in reversed(ticked)]),
                key="saved-compare",
            )
            export_button(ticked or list(every.items), all_of_them=not ticked)
        import_popover(state)


def tick_key(item: SavedItem) -> str:
    """The key of the item's box."""
    return f"saved-tick-{item.id}"
