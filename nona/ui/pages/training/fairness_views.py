"""Finish-time fairness: the distribution of ρ under each policy."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.training.figures.policies import rho_figure
from nona.report.training.rows import team_rows
from nona.report.training.titles import rho_title
from nona.results.training.outcome import TrainingOutcome
from nona.ui.session.state import AppState
from nona.ui.widgets.charts import chart
from nona.ui.widgets.tables import table
from nona.ui.widgets.terms import term


def fairness_tab(state: AppState, data: TrainingOutcome) -> None:
    """How many jobs are slower than on an equal share of the cluster."""
    policies = data.report.policies
    chart(
        rho_figure(policies),
        rho_title(policies),
        "training-rho",
        "Share of the jobs with at most a ρ, one line for each policy; dashed at 1: an equal share",
    )
    st.caption(
        f"ρ ({term('finish-time fairness')}): a job's JCT over its JCT on an equal share of the cluster. A "
        "policy is fair if no job is far above 1."
    )
    rows = team_rows(policies)
    if rows:
        st.markdown("**Each team under each policy**")
        table(pd.DataFrame(rows), "training-teams", "Mean JCT, ρ and cost of each team under each policy")
        st.caption("Of the first run.")
