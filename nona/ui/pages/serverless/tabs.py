"""The tabs of the Serverless page; only the open one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from nona.results.serverless.dispatch import ServerlessOutcome
from nona.ui.pages.serverless.functions.tab import functions_tab
from nona.ui.pages.serverless.latency_views import latency_tab
from nona.ui.pages.serverless.layout_views import layouts_tab
from nona.ui.pages.serverless.node_views import nodes_tab
from nona.ui.pages.serverless.over_views import over_tab
from nona.ui.pages.serverless.policy_views import policies_tab
from nona.ui.pages.serverless.scheduler_views import schedulers_tab
from nona.ui.pages.serverless.search_views import search_tab
from nona.ui.pages.serverless.sharing_views import sharing_tab
from nona.ui.pages.serverless.slides_views import slides_tab
from nona.ui.session.state import AppState
from nona.ui.shell.equivalents import equivalent
from nona.ui.shell.job_panel import current_job, no_result_text

Tab = Callable[[AppState, ServerlessOutcome | None], None]


def serverless_tabs(state: AppState, data: ServerlessOutcome | None) -> None:
    """Everything on the page beyond its finding."""
    tabs = st.tabs(list(TABS), on_change="rerun", key="serverless-tabs")
    for tab, (name, draw) in zip(tabs, TABS.items(), strict=True):
        if tab.open:
            with tab:
                draw(state, data)
                if name not in OWN_COMMAND:
                    equivalent(state, "serverless", key="serverless")


def _of_run(draw: Callable[[AppState, ServerlessOutcome], None]) -> Tab:
    """A tab that shows the result of a run, or says that there is none."""

    def drawn(state: AppState, data: ServerlessOutcome | None) -> None:
        if data is None:
            job = current_job(state, "serverless")
            runs = job is not None and job.unfinished
            with st.container(key="serverless-none" if runs else "settings-none"):
                st.caption(no_result_text(state, "serverless"))
        else:
            draw(state, data)

    return drawn


OWN_COMMAND = (
    "Until what load?",
    "Sharing",
    "Nodes",
    "DAG schedulers",
    "The slides",
)  # tabs with a shell line of their own
TABS: Mapping[str, Tab] = {
    "Policies": _of_run(policies_tab),
    "Latency": _of_run(latency_tab),
    "Functions": functions_tab,
    "Search": search_tab,
    "Sharing": sharing_tab,
    "Until what load?": over_tab,
    "GPU layouts": _of_run(layouts_tab),
    "Nodes": nodes_tab,
    "DAG schedulers": schedulers_tab,
    "The slides": slides_tab,
}
