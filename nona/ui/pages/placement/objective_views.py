"""The placement's objective: the choice, and the extent of its search."""

from __future__ import annotations

import streamlit as st

from nona.results.placement.report import PlacementReport
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import choice
from nona.ui.widgets.summary_bar import summary_bar

OBJECTIVES = {
    "Mean completion time": "mean-jct",
    "Missed SLOs": "slo",
    "Mean completion time, by formula alone": "formula",
}
HELP = (
    "What the placement minimises. The first two are evaluated with sampled jobs that meet random waits. "
    "The formula is the paper's problem: mean waits, solved to a certified gap; for large models it is "
    "optimistic."
)


def objective_choice(state: AppState) -> None:
    """The objective, tied to the scenario; it folds into a line once there is a placement."""
    value = state.shown(("objective",))
    name = next((name for name, known in OBJECTIVES.items() if known == value), str(value))
    with summary_bar("placement-controls", [f"Objective: {name}"], state.jobs.get("place")):
        left, _ = st.columns([2, 3])
        with left:
            choice(state, "Objective", ("objective",), OBJECTIVES, HELP)


def search_note(report: PlacementReport) -> str:
    """How far the search went, in a sentence; empty where the formula was minimised alone."""
    found = report.sampled
    if found is None:
        return ""
    ended = (
        "ended because no move left was better by more than the sampling error"
        if found.settled
        else "ended at its limit"
    )
    return (
        f"The search evaluated {found.evaluations} placements and {ended}; the figures come from "
        f"{found.samples:,} sampled jobs of each model that the search had not used."
    )
