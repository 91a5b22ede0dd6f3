"""Finish-time fairness: the distribution of ρ under each policy."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.training.figures.policies import rho_figure
from nona.report.training.rows import team_rows
from nona.report.training.titles import rho_title
from nona.results.training.outcome import TrainingOutcome
from nona.results.training.report import TrainingSetting
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
        f"policy is fair if no job is far above 1.{_shown(data.report.setting)}"
    )
    rows = team_rows(policies)
    if rows:
        st.markdown("**Each team under each policy**")
        table(pd.DataFrame(rows), "training-teams", "Mean JCT, ρ and cost of each team under each policy")
        st.caption("Of the first run.")


def _shown(setting: TrainingSetting) -> str:
    """Whose ρ the curves are of, where that is not said by itself."""
    first, last = setting.measured
    jobs = "" if last - first + 1 == setting.jobs else f"jobs {first} to {last}, which are measured"
    run = "" if setting.replications == 1 else "the first run"
    return f" The curves are of {', in '.join(filter(None, (jobs, run)))}." if jobs or run else ""
