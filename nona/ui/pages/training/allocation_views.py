"""The allocation X as a heat map, beside what jobs received."""

from __future__ import annotations

import math

import streamlit as st

from nona.report.training.figures.allocation import allocation_figure
from nona.report.training.titles import received_title
from nona.results.training.outcome import TrainingOutcome
from nona.ui.session.state import AppState
from nona.ui.widgets.charts import chart
from nona.ui.widgets.choose import choose_one

PAGE = 30  # jobs on one chart


def allocation_tab(state: AppState, data: TrainingOutcome) -> None:
    """Shares of time on each type of GPU, planned and received, thirty jobs at a time."""
    left, right = st.columns(2)
    with left:
        policy = choose_one("Policy", list(data.traces), "training-shown-allocation", "The policy to show.")
    rows = data.traces[policy].received
    pages = max(1, math.ceil(len(rows) / PAGE))
    names = [f"{k * PAGE} to {min(len(rows), (k + 1) * PAGE) - 1}" for k in range(pages)]
    with right:
        chosen = choose_one("Jobs", names, "training-shown-allocation-jobs", "Which jobs to show, by number.")
    first = names.index(chosen) * PAGE
    error = data.report.policies[policy].received_error
    chart(
        allocation_figure(rows[first : first + PAGE], sorted(data.types), data.job_names),
        received_title(rows, error),
        "training-allocation",
        f"Two heat maps of jobs {chosen} and types of GPU under {policy}: mean share of time allocated, and "
        "received",
    )
    st.caption(
        "Means over the time that a job was there since its first allocation. What a row lacks to 1 is time "
        "that the job waits."
    )
