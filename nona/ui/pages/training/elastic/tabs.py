"""The tabs of elastic jobs; only the open one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from nona.results.training.elastic_history import ElasticHistory
from nona.ui.pages.training.elastic.downloads import elastic_downloads
from nona.ui.pages.training.elastic.fairness_views import fairness_tab
from nona.ui.pages.training.elastic.form import KIND
from nona.ui.pages.training.elastic.job_views import jobs_tab
from nona.ui.pages.training.elastic.node_views import nodes_tab
from nona.ui.pages.training.elastic.policy_views import policies_tab
from nona.ui.session.state import AppState
from nona.ui.shell.equivalents import equivalent
from nona.ui.shell.job_panel import no_result_text

TABS: Mapping[str, Callable[[AppState, ElasticHistory], None]] = {
    "Policies": policies_tab,
    "Nodes": nodes_tab,
    "Jobs": jobs_tab,
    "Fairness": fairness_tab,
}


def elastic_tabs(state: AppState, data: ElasticHistory | None) -> None:
    """Everything on the page beyond its finding."""
    tabs = st.tabs(list(TABS), on_change="rerun", key="training-elastic-tabs")
    for tab, draw in zip(tabs, TABS.values(), strict=True):
        if tab.open:
            with tab:
                if data is not None:
                    draw(state, data)
                else:
                    st.caption(no_result_text(state, KIND))
    if data is not None:
        elastic_downloads(state, data)
    equivalent(state, "training elastic", key="training-elastic")
