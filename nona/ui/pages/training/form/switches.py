"""Switches of the cluster: failures, moves, regions, users' estimates, the estimator of shared GPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from nona.ui.pages.training.form.regions import first_regions, region_fields
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import choice, count, number, quantity, switch, toggle

PART = "training"


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch: its key in the scenario, its label and help, and the fields that it brings."""

    key: str
    label: str
    help: str
    fields: Callable[[AppState], None]


def switch_fields(state: AppState) -> None:
    """A toggle for each switch, then the fields of those that are on."""
    st.caption("Switches: what else the simulation takes into account.")
    on: list[Switch] = []
    with st.container(horizontal=True):
        for each in SWITCHES:
            hint = f"{each.help} Undo brings back what turning it off removed."
            if switch(state, each.label, (PART, each.key), _made(state, each.key), hint):
                on.append(each)
    for each in on:
        with st.container(key=f"training-switch-{each.key}"):
            st.markdown(f"**{each.label}**")
            each.fields(state)


def _made(state: AppState, key: str) -> Mapping[str, Any]:
    return first_regions(len(state.scenario.cluster.servers)) if key == "regions" else {}


def _failures(state: AppState) -> None:
    path = (PART, "failures")
    with st.grid(4, min_column_width=150):
        with st.container():
            quantity(state, "Mean time between failures", (*path, "mtbf"), "Of one node; exponential.")
        with st.container():
            quantity(state, "Checkpoint takes", (*path, "checkpoint"), "Time to save one checkpoint.")
        with st.container():
            quantity(state, "Restart takes", (*path, "restart"), "Time from a failure until work goes on.")
        with st.container():
            hint = (
                "Work between two checkpoints: by Daly's or Young's formula, the best by simulation, or a "
                "time that you type, such as 20 min."
            )
            known = {
                "Daly's formula": "daly",
                "Young's formula": "young",
                "the best by simulation": "best",
            }
            choice(state, "Checkpoint interval", (*path, "interval"), known, hint, own=True)


def _moves(state: AppState) -> None:
    path = (PART, "moves")
    with st.grid(4, min_column_width=150):
        with st.container():
            quantity(state, "Saving", (*path, "save"), "Bandwidth at which a checkpoint is saved.")
        with st.container():
            quantity(state, "Sending", (*path, "network"), "Bandwidth at which a checkpoint is sent.")
        with st.container():
            quantity(state, "Loading", (*path, "load"), "Bandwidth at which a checkpoint is loaded.")
        with st.container():
            quantity(state, "Warm-up", (*path, "warmup"), "Time from a loaded checkpoint to the first step.")
    hint = (
        "A new allocation is taken only if what it gains within the horizon exceeds the steps that its moves "
        "lose; a job that was moved keeps its GPUs for a while."
    )
    toggle(state, "Policies are charged for moves", (*path, "charge"), hint)
    spec = state.scenario.training
    if spec is None or spec.moves is None or not spec.moves.charge:
        return
    with st.grid(4, min_column_width=150):
        with st.container():
            hint = "Largest share of a job's time on its GPUs that a move may be, such as 5 %."
            quantity(state, "Overhead", (*path, "overhead"), hint)
        with st.container():
            hint = "Time within which a new allocation must pay; empty: the time between two allocations."
            quantity(state, "Horizon", (*path, "horizon"), hint, optional=True)


def _estimates(state: AppState) -> None:
    path = (PART, "estimates")
    with st.grid(4, min_column_width=150):
        with st.container():
            hint = "Factor by which a claim is off, at one standard deviation of its logarithm; 1: never."
            number(state, "Error, factor", (*path, "error"), 1.0, 100.0, 0.1, hint)
        with st.container():
            hint = "The same for a factor that all claims of one user (team) share; 1: none."
            number(state, "Bias of a user, factor", (*path, "bias"), 1.0, 100.0, 0.1, hint)
        with st.container():
            hint = "How many measured rounds a claim counts for, where claims are corrected."
            number(state, "Weight of a claim, rounds", (*path, "prior"), 0.01, 1000.0, 1.0, hint)
        with st.container():
            hint = "A job is flagged when its claim is off by more than this factor after 3 rounds."
            number(state, "Flag above, factor", (*path, "flag"), 1.01, 100.0, 0.1, hint)
    hint = "Rounds measure rates, and claims are corrected by them. Off: policies believe the claims."
    toggle(state, "Claims are corrected", (*path, "correct"), hint)


def _estimator(state: AppState) -> None:
    path = (PART, "estimator")
    with st.grid(4, min_column_width=150):
        with st.container():
            hint = "Share of a new job's pairs that are measured before it starts, such as 20 %."
            quantity(state, "Profiled pairs", (*path, "profiled"), hint)
        with st.container():
            count(state, "Rank", (*path, "rank"), 1, 100, "Rank of the matrix completion.")
        with st.container():
            hint = "Weight of the ridge penalty in the matrix completion."
            number(state, "Ridge", (*path, "ridge"), 0.0001, 100.0, 0.01, hint, digits="%g")


SWITCHES = (
    Switch("failures", "Failures", "Nodes fail; jobs go on from their last checkpoint.", _failures),
    Switch("moves", "Moves cost time", "A change of GPUs saves, sends and loads a checkpoint.", _moves),
    Switch("regions", "Regions", "Groups of servers are far apart; moves between are slow.", region_fields),
    Switch(
        "estimates",
        "Users' estimates",
        "Policies see the rates that users claim, which are wrong by a factor.",
        _estimates,
    ),
    Switch(
        "estimator",
        "Estimated pairs",
        "Rates of two jobs on one GPU are estimated from a few profiled pairs. For space sharing.",
        _estimator,
    ),
)
