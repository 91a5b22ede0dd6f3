"""What stands around every page: the page list, the side bar with the scenario's file and its jobs."""

from __future__ import annotations

import streamlit as st

from nona import app_root
from nona.errors import NonaError
from nona.scenario_file import dump_scenario
from nona.ui.job_panel import collect, current_job
from nona.ui.models import apart, portable
from nona.ui.state import AppState
from nona.ui.uploads import safe_name
from nona.ui.widgets import plain
from nona.ui.workspace import session_state

NOUNS = {"place": "placement", "simulate": "simulation", "count": "count of configurations", "sweep": "sweep"}


def open_session() -> AppState:
    """The session's state, with the results of finished jobs taken in."""
    state = session_state()
    collect(state)
    return state


def follow(state: AppState) -> None:
    """Go where a button's callback sends the reader; a callback itself cannot."""
    if state.go_to:
        page, state.go_to = state.go_to, ""
        st.switch_page(page)


def icon_path() -> str:
    """The page icon, a local file: a symbol would be fetched from elsewhere."""
    return str(app_root() / "static" / "nona.png")


def side_bar(state: AppState) -> None:
    """The scenario at a glance, its file, and what is running."""
    with st.sidebar:
        st.caption("SCENARIO")
        st.markdown(f"**{plain(state.scenario.name)}**")
        st.download_button(
            "Download YAML",
            data=lambda: scenario_file(state),
            file_name=f"{safe_name(state.scenario.name).replace(' ', '_')}.yaml",
            mime="application/yaml",
            icon=":material/download:",
            on_click="ignore",
            width="stretch",
            key="download-scenario",
        )
        if files := apart(state.scenario):
            st.caption(plain(f"The YAML names but does not hold: {', '.join(files)}. Keep them beside it."))
        with st.popover("Open YAML", icon=":material/upload_file:", width="stretch"):
            st.file_uploader(
                "Scenario file (YAML or JSON)",
                key=f"scenario-file-{state.revision}",
                on_change=_open,
                args=(state, f"scenario-file-{state.revision}"),
                max_upload_size=16,
            )
        if state.choices.get("open-error"):
            st.error(plain(state.choices["open-error"]), icon=":material/error:")
        running = any(_running(state, kind) for kind in NOUNS)
        st.fragment(_jobs, run_every=2.0 if running else None)(state)


def scenario_file(state: AppState) -> str:
    """The scenario as YAML with uploaded models inside; without them where they cannot be read."""
    try:
        return dump_scenario(portable(state))
    except NonaError:
        return dump_scenario(state.scenario)


def _running(state: AppState, kind: str) -> bool:
    job = current_job(state, kind)
    return job is not None and job.running


def _jobs(state: AppState) -> None:
    for kind, noun in NOUNS.items():
        job = current_job(state, kind)
        if job is not None and job.running:
            job.touch()  # a job goes on while its reader looks at another page
            st.progress(job.fraction, text=f"{noun.capitalize()} running")


def _open(state: AppState, key: str) -> None:
    upload = st.session_state[key]
    if upload is None:
        return
    try:
        state.load(upload.getvalue().decode("utf-8"))
        state.choices.pop("open-error", None)
    except UnicodeDecodeError:
        state.choices["open-error"] = f"{safe_name(upload.name)}: it is not UTF-8 text; give YAML or JSON."
    except NonaError as error:
        state.choices["open-error"] = str(error)
