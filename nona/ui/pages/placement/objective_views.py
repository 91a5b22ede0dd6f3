"""The placement's objective: the choice, and the result of a search for fewer missed SLOs."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.placements.sampled import missed_finding, sampled_rows
from nona.results.placement.report import PlacementReport
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import choice, plain
from nona.ui.widgets.tables import table

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
    """The objective, tied to the scenario."""
    left, _ = st.columns([2, 3])
    with left:
        choice(state, "Objective", ("objective",), OBJECTIVES, HELP)


def sampled_section(report: PlacementReport) -> None:
    """What the search for fewer missed SLOs found, model by model; how far any search went."""
    found = report.sampled
    if found is None:
        return
    missed = missed_finding(report)
    if missed:
        st.markdown(f"**{plain(missed)}**")
        rows = sampled_rows(report)
        if len(rows) > 1:
            table(pd.DataFrame(rows), "sampled", "Predicted share of missed SLOs of each model")
    ended = (
        "ended because no move left was better by more than the sampling error"
        if found.settled
        else "ended at its limit"
    )
    st.caption(
        f"The search evaluated {found.evaluations} placements and {ended}; the figures come from "
        f"{found.samples:,} sampled jobs of each model that the search had not used."
    )
