"""The scenario in the side bar: its name, undo and redo, its file."""

from __future__ import annotations

import streamlit as st

from nona.errors import NonaError
from nona.scenario.file import dump_scenario, scenario_hash
from nona.ui.loaded.loading import apart, portable
from nona.ui.session.state import AppState
from nona.ui.session.uploads import safe_name
from nona.ui.shell.equivalents import scenario_file_name
from nona.ui.shell.share_views import share_popover
from nona.ui.widgets.fields import line, plain


def scenario_bar(state: AppState) -> None:
    """Name, fingerprint, undo and redo, file and link of the session's scenario."""
    line(state, "Scenario", ("name",), "The name used in files, reports and links. Press Enter to apply.")
    st.caption(f"Fingerprint `{scenario_hash(state.scenario)}`", help="Equal fingerprints: equal scenarios.")
    _steps(state)
    st.download_button(
        "Download YAML",
        data=lambda: scenario_file(state),
        file_name=scenario_file_name(state),
        mime="application/yaml",
        icon=":material/download:",
        help="The scenario as a file, uploaded models inside; the command line reads it too.",
        on_click="ignore",
        width="stretch",
        key="download-scenario",
    )
    if files := apart(state.scenario):
        st.caption(
            plain(
                f"The YAML names these files but does not contain them: {', '.join(files)}. Keep "
                "them with it."
            )
        )
    with st.popover("Open YAML", icon=":material/upload_file:", width="stretch"):
        st.file_uploader(
            "Scenario file (YAML or JSON)",
            key=f"scenario-file-{state.revision}",
            on_change=_open,
            args=(state, f"scenario-file-{state.revision}"),
            help="It replaces the present scenario; Undo restores that one.",
            max_upload_size=16,
        )
    if state.choices.complaints.get("open-error"):
        st.error(plain(state.choices.complaints["open-error"]), icon=":material/error:")
    share_popover(state)


def _steps(state: AppState) -> None:
    back, forth = state.history.undone, state.history.redone
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Undo",
            icon=":material/undo:",
            disabled=not back,
            on_click=state.undo,
            help=plain(f"Undo: {back}") if back else "Nothing to undo.",
            width="stretch",
            key="undo",
        )
        st.button(
            "Redo",
            icon=":material/redo:",
            disabled=not forth,
            on_click=state.redo,
            help=plain(f"Redo: {forth}") if forth else "Nothing to redo.",
            width="stretch",
            key="redo",
        )


def scenario_file(state: AppState) -> str:
    """The scenario as YAML with uploaded models inside; without them where they cannot be read."""
    try:
        return dump_scenario(portable(state))
    except NonaError:
        return dump_scenario(state.scenario)


def _open(state: AppState, key: str) -> None:
    upload = st.session_state[key]
    if upload is None:
        return
    try:
        state.load(upload.getvalue().decode("utf-8"))
        state.choices.complaints.pop("open-error", None)
    except UnicodeDecodeError:
        state.choices.complaints["open-error"] = (
            f"{safe_name(upload.name)}: it is not UTF-8 text; give YAML or JSON."
        )
    except NonaError as error:
        state.choices.complaints["open-error"] = str(error)
