"""Saved items as a file to download, and files that are imported."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from nona.foreign.limits import MOST_BUNDLE_BYTES
from nona.report.text import counted
from nona.results.saved import SavedItem
from nona.sources.names import safe_name
from nona.store.transfer import MOST_ITEMS, SUFFIX, export_items, import_items
from nona.ui.pages.saved.access import attempt, complaint, store
from nona.ui.session.state import AppState


def export_button(items: Sequence[SavedItem], all_of_them: bool) -> None:
    """Download these items as one file."""
    own = store()  # here: the file is made outside the script, where nobody's cookie is at hand
    ids, fits = [item.id for item in items], len(items) <= MOST_ITEMS
    name = safe_name(items[0].name).replace(" ", "_") if len(items) == 1 else "saved_runs"
    st.download_button(
        "Export all" if all_of_them else f"Export {len(ids)} ticked",
        data=lambda: export_items(own, ids),
        file_name=f"{name}{SUFFIX}",
        mime="application/zip",
        icon=":material/download:",
        disabled=not fits,
        help="One file with scenarios, models and results, for this page and `nona saved import`."
        if fits
        else f"At most {MOST_ITEMS} at a time: tick those to export.",
        on_click="ignore",
        key="saved-export",
    )


def import_popover(state: AppState) -> None:
    """A field that saves the items of a file as this person's."""
    key = f"saved-file-{state.revision}"
    with st.popover("Import", icon=":material/upload_file:", help="A file that somebody exported."):
        st.file_uploader(
            f"Exported items ({SUFFIX})",
            key=key,
            on_change=_take,
            args=(state, key),
            max_upload_size=MOST_BUNDLE_BYTES // 10**6,
            help="Its items become yours, marked as imported: their figures are what the file states.",
        )
        complaint(state)


def _take(state: AppState, key: str) -> None:
    upload = st.session_state.get(key)
    if upload is None:
        return
    items = attempt(state, lambda: import_items(store(), upload.getvalue()))
    if items:
        state.tell(f"{counted(len(items), 'item')} imported.")
