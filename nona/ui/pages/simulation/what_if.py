"""The what-if panel of the Simulation page: sliders, and an answer that follows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from nona.report.simulations.report import python_decisions
from nona.report.simulations.tables.columns import columns
from nona.report.text import time_text
from nona.ui.pages.simulation.engine_views import engine_text
from nona.ui.pages.simulation.views import overload_warnings, results_table
from nona.ui.pages.simulation.what_if_edits import (
    GROUP,
    LINK,
    capacities,
    load_factor,
    most_servers,
    set_load_factor,
)
from nona.ui.session.live import Live, Shown
from nona.ui.session.state import AppState
from nona.ui.session.workspace import jobs
from nona.ui.widgets.fields import percent, plain
from nona.ui.widgets.tables import table
from nona.units import format_time

POLL_S = 0.15
AREA = "what-if-answer"
RESULTS = columns(
    "scheduler",
    "state",
    "jct",
    "predicted",
    "slo_hit_rate",
    "utilization_compute",
    "utilization_network",
    "jct_p95",
    "jct_p99",
)


def what_if(state: AppState) -> None:
    """Sliders on the scenario's own numbers, a switch, and, while it is on, the answer.

    Sliders and answer are a fragment: a change redraws them alone, except where the rest of the page
    has to say something new about the scenario. The switch is not, so that the answer goes with it.
    """
    with st.container(border=True, key="what-if"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.subheader("What if")
            key = f"what-if-on-{state.revision}"
            st.toggle(
                "Answer as I change",
                state.live.on,
                key=key,
                on_change=_switch,
                args=(state, key),
                help="Every change simulates all schedulers again: a quick run that replications refine.",
            )
        if problem := state.problem():
            st.warning(plain(problem), icon=":material/edit_note:")
        st.fragment(_panel)(state, _remarks(state))


def _remarks(state: AppState) -> tuple[bool, str]:
    """What the rest of the page says about the present scenario."""
    return state.is_stale("simulate"), state.problem()


def _panel(state: AppState, said: tuple[bool, str]) -> None:
    with st.grid(5, min_column_width=150):
        for slider in (_network, _compute, _load, _servers, _capacity):
            with st.container():
                slider(state)
    if said != _remarks(state):
        st.rerun()
    if state.live.on:
        _ask(state)
        busy = state.live.busy(jobs())
        st.fragment(_answer, run_every=POLL_S if busy else None)(state, busy)


def _switch(state: AppState, key: str) -> None:
    state.live.on = bool(st.session_state[key])
    if not state.live.on:
        state.live.stop(jobs())


def _network(state: AppState) -> None:
    hint = "Share of the link's capacity that other traffic takes."
    percent(state, "Link background", ("background", "network", "utilization"), hint)


def _compute(state: AppState) -> None:
    hint = "Share of the time that other work keeps every executor busy."
    percent(state, "Compute background", ("background", "compute", "utilization"), hint)


def _load(state: AppState) -> None:
    def commit(key: str) -> None:
        set_load_factor(state, float(st.session_state[key]))

    factor = load_factor(state)
    st.slider(
        "Load",
        0.1,
        3.0,
        min(max(factor, 0.1), 3.0),
        0.05,
        format="%.2f ×",
        help="Multiplies the rates of all queries as they were when this scenario was opened or edited.",
        **_tied(state, "load", commit),
    )


def _servers(state: AppState) -> None:
    def commit(key: str) -> None:
        state.edit(GROUP, int(st.session_state[key]))

    group = state.scenario.cluster.servers[0]
    label = "Servers" if len(state.scenario.cluster.servers) == 1 else f"Servers with {plain(group.gpu)}"
    hint = "How many servers this group has; all of them alike."
    st.slider(label, 1, most_servers(state), group.count, 1, help=hint, **_tied(state, "servers", commit))


def _capacity(state: AppState) -> None:
    def commit(key: str) -> None:
        state.edit(LINK, str(st.session_state[key]))

    hint = "Capacity of the link that all servers share."
    now = str(state.value(LINK))
    st.select_slider("Link capacity", capacities(state), now, help=hint, **_tied(state, "capacity", commit))


def _tied(state: AppState, name: str, commit: Callable[[str], None]) -> dict[str, Any]:
    key = f"what-if-{name}-{state.revision}"
    return {"key": key, "on_change": commit, "args": (key,)}


def _ask(state: AppState) -> None:
    """Ask for the present scenario, unless it cannot run."""
    if state.problem():
        state.live.stop(jobs())
    else:
        state.live.refresh(jobs(), state.fingerprint("simulate"), state.scenario, state.uploads)


def _answer(state: AppState, was_busy: bool) -> None:
    live = state.live
    if not live.on:  # a last look that was under way when the switch was turned
        return
    _ask(state)
    shown = live.answer
    old = shown is not None and shown.fingerprint != state.fingerprint("simulate")
    # The style stands before the answer and not around it, so that the table stays where and what it is.
    st.html(f"<style>.st-key-{AREA} {{ opacity: {0.45 if old else 1}; transition: opacity .15s }}</style>")
    st.caption(plain(_status(live, old)))
    with st.container():  # always there, as below: what comes and goes must not move the table
        for error in live.errors:
            st.error(plain(error), icon=":material/error:")
    with st.container(key=AREA):
        if shown is not None:
            with st.container():
                for name, why in shown.data.failed.items():
                    st.warning(plain(f"{name} cannot run: {why}"), icon=":material/block:")
                overload_warnings(shown.data.report.schedulers, state)
            alt = "Every scheduler's times, SLO hits and loads for the numbers above"
            table(_table(shown, live.before), "what-if-table", alt, "what_if")
            report = shown.data.report
            st.caption(plain(engine_text(report.engine, python_decisions(report))))
    if was_busy and not live.busy(jobs()):
        st.rerun()  # ends the polling


def _status(live: Live, old: bool) -> str:
    """One short line: how far the answer is."""
    if live.answer is None:
        return "Simulating all schedulers." if live.asked else "Waiting for a free worker."
    if old:
        return "Computing again. The previous answer is below."
    data = live.answer.data
    count = data.replications
    many = f"{count} replication{'s' if count > 1 else ''}"
    return f"{data.jobs:,} jobs per run, {many}, {format_time(data.report.seconds)}."


def _table(shown: Shown, before: Shown | None) -> pd.DataFrame:
    """The table of results, with the mean JCT from before the last change."""
    found = shown.data.report.schedulers
    rows = results_table(found, shown.data.predicted, RESULTS)
    if before is not None:
        earlier = before.data.report.schedulers
        means = [earlier[name].jct_s.mean if name in earlier else None for name in found]
        rows.insert(3, "before the change", [time_text(mean) for mean in means])
    return rows
