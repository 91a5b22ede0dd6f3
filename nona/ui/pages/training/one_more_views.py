"""What if: one more GPU of each type, and what it buys."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.figures.compare import dots_figure
from nona.report.training.one_more import one_more_dots, one_more_finding, one_more_rows
from nona.results.training.one_more import OneMoreReport
from nona.results.training.outcome import TrainingOutcome
from nona.ui.session.state import AppState
from nona.ui.shell.job_panel import job_panel
from nona.ui.tasks.training.asked import OneMoreAsked
from nona.ui.widgets.charts import chart
from nona.ui.widgets.choose import choose_one
from nona.ui.widgets.tables import table

KIND = "training-one-more"


def one_more_tab(state: AppState, data: TrainingOutcome | None) -> None:
    """Simulate the same jobs with one more GPU of each type in turn."""
    spec = state.scenario.training
    names = [p.name for p in spec.policies] if spec else []
    policy = choose_one("Under", names, "training-shown-one-more", "The policy that shares the GPUs.")
    asked = OneMoreAsked(policy=policy)
    mark = f"{state.fingerprint(KIND)} {asked}"
    job_panel(state, KIND, "Add one GPU of each type", options=asked.to_json(), fingerprint=mark)
    report = state.held(KIND, OneMoreReport)
    if report is None or data is None:
        st.caption(
            "Simulates the same jobs with one more GPU of each type in turn. The answer is how much shorter "
            "the mean JCT becomes, and at which price."
        )
        return
    if state.results[KIND].fingerprint != mark:
        st.caption("This answer is for settings other than those above; compare again.")
    chart(
        dots_figure(one_more_dots(report), "mean JCT, h"),
        one_more_finding(report).removesuffix("."),
        "training-one-more-figure",
        "Mean JCT with one more GPU of each type, beside that of the cluster as it is",
    )
    table(pd.DataFrame(one_more_rows(report)), "training-one-more-table", "The cluster with one more GPU")
