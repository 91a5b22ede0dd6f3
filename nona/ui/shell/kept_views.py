"""What is said about a workspace that came back from disk, and when work is not being saved."""

from __future__ import annotations

import streamlit as st

from nona.ui.session.disk.reading import Restored
from nona.ui.session.state import AppState
from nona.ui.session.workspace import saving_problem
from nona.ui.widgets.fields import plain


def kept_notice(state: AppState) -> None:
    """What could not be restored, with the file for download; or why nothing is saved."""
    if problem := saving_problem():
        st.warning(plain(problem), icon=":material/save:")
    found = state.choices.of(Restored)
    if not found.lines and found.broken is None:
        return
    broken = found.broken
    with st.container(key="restored", gap="xsmall"):
        title = "**Your saved work could not be opened, so this workspace is empty.** Download its text."
        lines = [] if broken is None else [title]
        st.warning("\n\n".join([*lines, *map(plain, found.lines)]), icon=":material/restore_page:")
        with st.container(horizontal=True):
            if broken is not None:
                st.download_button(
                    "Download the text",
                    data=broken.read_bytes,
                    file_name="nona_workspace.json",
                    mime="application/json",
                    icon=":material/download:",
                    help="The whole saved workspace; the scenario stands under its key `scenarios`.",
                    on_click="ignore",
                    key="download-broken",
                )
            st.button(
                "Dismiss",
                icon=":material/close:",
                help="Removes this notice, and the file that could not be opened.",
                on_click=_dismiss,
                args=(state,),
                key="dismiss-restored",
            )


def _dismiss(state: AppState) -> None:
    broken = state.choices.of(Restored).broken
    if broken is not None:
        broken.unlink(missing_ok=True)
    state.choices.keep(Restored())
