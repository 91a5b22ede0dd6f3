"""Where the page begins when the scenario has no serverless part: demos, or the scenario's own workflows."""

from __future__ import annotations

import streamlit as st

from nona.errors import NonaError
from nona.scenario.file import scenario_from_mapping, scenario_hash, scenario_to_mapping
from nona.study.serverless import prepare_serverless
from nona.ui.loaded.shelf import fetch
from nona.ui.session.state import AppState
from nona.ui.session.workspace import whose
from nona.ui.shell.demo_cards import Demo, demo_cards, demo_error
from nona.ui.widgets.fields import plain
from nona.ui.widgets.guide_link import guide_link

SLO_FACTOR = 1.0  # for workflows whose rows have no SLO


DEMOS = (
    Demo(
        "strict_light",
        "Strict SLO, light load",
        "Little time, much capacity: which policy finds a fast configuration soon enough?",
        ":material/speed:",
    ),
    Demo(
        "moderate_normal",
        "Moderate SLO, normal load",
        "Queues begin to form: plans made in advance start to miss.",
        ":material/balance:",
    ),
    Demo(
        "relaxed_heavy",
        "Relaxed SLO, heavy load",
        "Much time, little capacity: which policy batches well, and what does a hit cost?",
        ":material/stacked_bar_chart:",
    ),
    Demo(
        "mig_or_mps",
        "MIG or MPS?",
        "The same workload on slices, on MPS and in turns: isolation against flexibility.",
        ":material/view_week:",
        (("serverless-tabs", "Sharing"),),
    ),
    Demo(
        "serverless_nodes",
        "How many nodes for 99 % at the least cost?",
        "Each policy on one node more or less, until the target holds.",
        ":material/dns:",
        (("serverless-tabs", "Nodes"),),
    ),
)


def start_screen(state: AppState) -> None:
    """What the page can do, five ways to begin, and one with the scenario that is open."""
    st.markdown(
        "#### Which policy keeps the SLO of serverless workflows, and at what cost?\n"
        "Every function of a workflow is batched and gets vCPUs and a part of a GPU. A policy chooses these "
        "*configurations* while calls come in; the platform queues, dispatches, warms and shares."
    )
    with st.grid(3, min_column_width=260):
        demo_cards(state, "serverless", DEMOS)
        _own(state)
    demo_error(state)
    guide_link("serverless", "What is simulated here, and what is assumed")


def _own(state: AppState) -> None:
    reason = why_not(state)
    names = ", ".join(map(plain, state.scenario.labels[:4]))
    with st.container(border=True, height="stretch"):
        st.markdown("**My own workflows**")
        st.caption(plain(reason) if reason else f"{names}: each stage a function, on the present cluster.")
        st.button(
            "Make this scenario's workflows serverless",
            icon=":material/bolt:",
            type="primary" if not reason else "secondary",
            key="make-serverless",
            width="stretch",
            disabled=bool(reason),
            on_click=make_serverless,
            args=(state,),
            help="Adds the key serverless to the scenario, with its defaults; everything else stays.",
        )


def make_serverless(state: AppState) -> None:
    """Add the serverless part; rows without SLO get one from the time at the smallest configuration."""
    if state.edit(("serverless",), _part(state)):
        state.tell(
            "The workflows are serverless applications now; the scenario's steps are on the",
            "overview",
            "Overview",
        )


def _part(state: AppState) -> dict[str, float]:
    missing = any(row.slo is None for row in state.scenario.workload)
    return {"slo_factor": SLO_FACTOR} if missing else {}


def why_not(state: AppState) -> str:
    """Why the scenario's models cannot be serverless applications; empty if they can."""
    mark = f"{scenario_hash(state.scenario, 'workload', 'models', 'cluster')} {state.uploads.names()}"
    return fetch(("why-not", whose(), mark), lambda: _reason(state), "Reading the workflows")


def _reason(state: AppState) -> str:
    data = {**scenario_to_mapping(state.scenario), "serverless": _part(state)}
    try:
        prepare_serverless(scenario_from_mapping(data), state.uploads.sources)
    except NonaError as error:
        return str(error)
    return ""
