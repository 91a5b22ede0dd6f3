"""What stands below the finding and its charts: all of one run."""

from __future__ import annotations

import streamlit as st

from nona.report.simulations.finding.advice import scheduler_advice
from nona.report.simulations.tables.columns import headings
from nona.ui.pages.simulation.baseline_views import baseline_panel
from nona.ui.pages.simulation.result_tabs import result_tabs
from nona.ui.pages.simulation.runs_views import runs_bar
from nona.ui.pages.simulation.views import DECIDING, notes, overload_warnings, results_table
from nona.ui.session.runs import Kept
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table


def result_views(state: AppState, run: Kept) -> None:
    """Trouble, advice, the table, the run against the baseline, and the tabs."""
    data = run.data
    for line in data.report.failed_checks:
        st.error(plain(f"A self-check failed: {line}."), icon=":material/error:")
    overload_warnings(data.report.schedulers, data)
    for line in data.cautions:
        st.warning(plain(f"{line}."), icon=":material/school:")
    _advice(run)
    _results(run)
    notes(data)
    runs_bar(state, run)
    baseline_panel(state, run)
    result_tabs(state, run)


def _advice(run: Kept) -> None:
    told = scheduler_advice(run.data.report.schedulers, run.data.differences)
    if told is not None:
        with st.container(border=True, key="advice"):
            st.markdown(f"**{plain(told.why)}** {plain(told.otherwise)}")


def _results(run: Kept) -> None:
    """One row per scheduler."""
    found = results_table(run.data.report.schedulers, run.data.predicted)
    alt = f"Every scheduler with its times, SLO hits and loads. {run.mark}"
    table(found, "results", alt, "simulation", headings(DECIDING))
