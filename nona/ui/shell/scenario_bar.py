"""The scenario in the side bar: its name, undo and redo, its file."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten

import streamlit as st

from nona.errors import NonaError
from nona.report.simulations.compared.scenario_diff import change_text
from nona.scenario.file import dump_scenario, scenario_hash
from nona.scenario.schema import Scenario
from nona.sources.bundle import pack_bundle
from nona.ui.loaded.loading import apart, portable
from nona.ui.session.editing.history import Moment
from nona.ui.session.problems import Problems
from nona.ui.session.start import open_file
from nona.ui.session.state import AppState
from nona.ui.session.uploads import safe_name
from nona.ui.shell.equivalents import bundle_file_name, scenario_file_name
from nona.ui.shell.problem_views import missing
from nona.ui.shell.share_views import share_popover
from nona.ui.widgets.fields import line, plain

LONGEST = 120  # letters of what Undo says
FITTING = 26  # letters of a name that its field shows


def scenario_bar(state: AppState) -> None:
    """Name, fingerprint, undo and redo, file and link of the session's scenario."""
    line(state, "Scenario", ("name",), "The name used in files, reports and links. Press Enter to apply.")
    if len(state.scenario.name) > FITTING:
        st.caption(plain(state.scenario.name))
    st.caption(
        f"Fingerprint `{scenario_hash(state.scenario)}`",
        help="Of the whole scenario. Equal fingerprints: equal scenarios; reports and runs carry it too.",
    )
    _steps(state)
    _downloads(state)
    with st.container(horizontal=True, gap="small"):
        with st.popover("Open", icon=":material/upload_file:", width="stretch"):
            key = f"scenario-file-{state.revision}"
            st.file_uploader(
                "Scenario (YAML, JSON) or bundle (.nona.zip)",
                key=key,
                on_change=_open,
                args=(state, key),
                help="It replaces the present scenario; Undo restores that one.",
                max_upload_size=128,
            )
        share_popover(state)


def _steps(state: AppState) -> None:
    past, future = state.history.steps(1)
    back, forth = _hint(state, past), _hint(state, future)
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Undo",
            icon=":material/undo:",
            disabled=not back,
            on_click=_step,
            args=(state, "Undone"),
            help=plain(f"Back: {back}") if back else "Nothing to undo.",
            width="stretch",
            key="undo",
        )
        st.button(
            "Redo",
            icon=":material/redo:",
            disabled=not forth,
            on_click=_step,
            args=(state, "Redone"),
            help=plain(f"Again: {forth}") if forth else "Nothing to redo.",
            width="stretch",
            key="redo",
        )


def _hint(state: AppState, steps: Sequence[tuple[str, Moment]]) -> str:
    """What the scenario becomes by a step; empty if there is none."""
    if not steps:
        return ""
    place, moment = steps[-1]
    return shorten(_said(state.scenario, moment.scenario, place), LONGEST, placeholder=" …")


def _step(state: AppState, done: str) -> None:
    """Undo or redo, and say what that has changed."""
    before, undoing = state.scenario, done == "Undone"
    place = state.history.undone if undoing else state.history.redone
    if undoing:
        state.undo()
    else:
        state.redo()
    state.tell(shorten(f"{done}: {_said(before, state.scenario, place)}", LONGEST, placeholder=" …"))


def _said(before: Scenario, after: Scenario, place: str) -> str:
    """What differs; of a scenario that was opened as a whole which one is back, of an entry its place."""
    if before.name != after.name:
        return f"“{before.name}” → “{after.name}”"
    return change_text(before, after) or place


def _downloads(state: AppState) -> None:
    st.download_button(
        "Download YAML",
        data=lambda: scenario_file(state),
        file_name=scenario_file_name(state),
        mime="application/yaml",
        icon=":material/download:",
        help="The scenario as a text file, uploaded models inside; the command line reads it too.",
        on_click="ignore",
        width="stretch",
        key="download-scenario",
    )
    st.download_button(
        "Download bundle",
        data=lambda: pack_bundle(state.scenario, state.uploads.sources),
        file_name=bundle_file_name(state),
        mime="application/zip",
        icon=":material/folder_zip:",
        help="The scenario with all its models, traces and tables in one file, for app and command line."
        if not missing(state)
        else "Not while files of the scenario are missing; see above the page.",
        disabled=bool(missing(state)),
        on_click="ignore",
        width="stretch",
        key="download-bundle",
    )
    if files := apart(state.scenario):
        st.caption(plain(f"The bundle contains {', '.join(files)}; YAML and links only name such files."))


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
    name = safe_name(upload.name)
    try:
        open_file(state, name, upload.getvalue())
    except NonaError as error:
        state.choices.keep(Problems.of(name, error))
    else:
        state.choices.keep(Problems())
        state.toast = f"{name} was opened: “{state.scenario.name}”."
