"""The runs of this session: show one again, restore its scenario, pin one as the baseline."""

from __future__ import annotations

import streamlit as st

from nona.report.simulations.compared.scenario_diff import change_text
from nona.store.simulations import run_item
from nona.ui.jobs.kinds import KINDS
from nona.ui.pages.saved.saving import ToSave, save_popover
from nona.ui.session.runs import Kept
from nona.ui.session.state import AppState, Result
from nona.ui.widgets.fields import plain

KIND = "simulate"
RUN = "Run the simulation"


def shown_run(state: AppState) -> Kept | None:
    """The run whose result is on the page, while it is kept."""
    held = state.results.get(KIND)
    return None if held is None else state.runs.of_job(held.job_id)


def show_run(state: AppState, number: int | None, instead_of: int) -> None:
    """Put a kept run's result on the page, ``instead_of`` the one that the choice was offered beside.

    A page that polls also sends the values of fields that were on it a moment ago. To Streamlit the value
    of a field that is gone is a change, so that its callback comes once more, after a newer run has come to
    be shown: such a late message is no choice.
    """
    shown, run = shown_run(state), state.runs.find(number)
    if shown is None or shown.number != instead_of:
        return
    if run is not None:
        state.results[KIND] = Result(run.fingerprint, run.data, run.job_id)


def run_note(state: AppState, shown: Kept) -> None:
    """Which run is shown where it is not one of the present scenario, what has changed, and what to do."""
    if not state.is_stale(KIND):
        return
    mark, present = state.fingerprint(KIND), state.scenario
    what = change_text(shown.data.scenario, present, KINDS.find(KIND).parts)
    if shown.data.about.name == present.name:
        then = f"The scenario has changed since: {what}." if what else "The scenario has changed since."
    else:
        then = f"It is of “{shown.data.about.name}”; the scenario is “{present.name}” now."
    same = next((k for k in reversed(state.runs.kept) if k.fingerprint == mark), None)
    if same is not None:
        now = f"Run {same.number} is of the scenario as it is now: choose it under *Run shown*."
    else:
        now = (
            f"*{RUN}* simulates the scenario as it is now, as run {state.runs.made + 1}; run {shown.number} "
            "can then be chosen under *Run shown*."
        )
    st.warning(f"Run {shown.number} is shown. {plain(then)} {now}", icon=":material/history:")


def restore_scenario(state: AppState, number: int) -> None:
    """Make a kept run's scenario the scenario."""
    run = state.runs.find(number)
    if run is not None:
        state.adopt(run.data.scenario)


def pin_run(state: AppState, number: int | None) -> None:
    """Compare later runs with this one; ``None``: with none."""
    state.runs.pinned = number


def runs_bar(state: AppState, shown: Kept) -> None:
    """Which run is shown, and what can be done with it."""
    runs = {run.number: run for run in reversed(state.runs.kept)}
    with st.container(horizontal=True, vertical_alignment="bottom", key="runs-bar"):
        if len(runs) > 1:
            _choose(state, runs, shown)
        pinned = state.runs.pinned == shown.number
        st.button(
            "Unpin the baseline" if pinned else "Pin as baseline",
            icon=":material/keep_off:" if pinned else ":material/keep:",
            help="Later runs are shown beside this one, with the differences and their intervals.",
            on_click=pin_run,
            args=(state, None if pinned else shown.number),
            key="pin-run",
        )
        save_popover(state, _to_save(state, shown))
        if state.is_stale(KIND):
            st.button(
                "Restore its scenario",
                icon=":material/settings_backup_restore:",
                help="Set every page back to the scenario that this run belongs to.",
                on_click=restore_scenario,
                args=(state, shown.number),
                key="restore-run",
            )


def _to_save(state: AppState, run: Kept) -> ToSave:
    sources = state.uploads.sources
    return ToSave(
        str(run.number), "run", run.name, lambda name, note: run_item(name, note, run.data, sources)
    )


def _choose(state: AppState, runs: dict[int, Kept], shown: Kept) -> None:
    numbers = list(runs)
    key = f"run-shown-{numbers[0]}-{shown.number}"  # a new key with every run, so that it says what is shown

    def title(number: int) -> str:
        mark = " (baseline)" if number == state.runs.pinned else ""
        return f"{runs[number].title}{mark}, {runs[number].made[-9:]}"

    def choose() -> None:
        show_run(state, st.session_state[key], shown.number)

    st.selectbox(
        "Run shown",
        numbers,
        numbers.index(shown.number),
        format_func=title,
        key=key,
        on_change=choose,
        width=420,
        help="The last runs of this session, named by what changed against the run before.",
    )
