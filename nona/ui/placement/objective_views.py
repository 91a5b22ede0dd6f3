"""What the placement makes small: the choice, and what a search by sampled completion times found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from nona.report.placements.sampled import sampled_finding, sampled_rows
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import choice, plain
from nona.ui.widgets.tables import table

OBJECTIVES = {
    "Mean completion time": "mean-jct",
    "Missed SLOs": "slo",
    "Mean completion time, by formula alone": "formula",
}
HELP = (
    "What the placement minimises. The first two are judged by sampled jobs that walk among random waits. "
    "The formula is the paper's problem: mean waits, solved to a certified gap; for large models it is "
    "optimistic."
)


def objective_choice(state: AppState) -> None:
    """The objective, tied to the scenario."""
    left, _ = st.columns([2, 3])
    with left:
        choice(state, "Objective", ("objective",), OBJECTIVES, HELP)


def sampled_section(report: Mapping[str, Any]) -> None:
    """What the search found, model by model; nothing where there was no search."""
    found = report.get("sampled")
    if not found:
        return
    st.markdown(f"**{plain(sampled_finding(report))}**")
    rows = sampled_rows(report)
    if len(rows) > 1:
        table(pd.DataFrame(rows), "sampled", "What the search by sampled jobs predicts for each model")
    ended = (
        "It ended because no move was better by more than the sampling error"
        if found["settled"]
        else "It ended at its limit"
    )
    st.caption(
        f"{found['evaluations']} placements were sampled; the figures are from {found['samples']:,} jobs of "
        f"each model that the search had not seen. {ended}."
    )
