"""Finish-time fairness of elastic jobs under each policy."""

from __future__ import annotations

import streamlit as st

from nona.report.training.elastic.figures import rho_figure
from nona.report.training.elastic.finding import rho_title
from nona.results.training.elastic_history import ElasticHistory
from nona.ui.session.state import AppState
from nona.ui.widgets.charts import chart
from nona.ui.widgets.terms import term


def fairness_tab(state: AppState, data: ElasticHistory) -> None:
    """How many jobs are slower than on an equal share of the cluster."""
    policies = data.report.policies
    chart(
        rho_figure(policies),
        rho_title(policies),
        "elastic-rho",
        "Share of the jobs with at most a ρ, one line for each policy; dashed at 1: an equal share",
    )
    st.caption(
        f"ρ ({term('finish-time fairness')}): JCT over the JCT alone on an equal share: all GPUs over "
        "the mean number of jobs that were there with it, whole GPUs, at the batch size that its user asked "
        "for. A policy that chooses better batch sizes can give most jobs a ρ below 1."
    )
