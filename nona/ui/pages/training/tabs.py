"""The tabs of the Training page; only the open one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from nona.results.training.outcome import TrainingOutcome
from nona.ui.pages.training.allocation_views import allocation_tab
from nona.ui.pages.training.downloads import training_downloads
from nona.ui.pages.training.fairness_views import fairness_tab
from nona.ui.pages.training.job_views import jobs_tab
from nona.ui.pages.training.one_more_views import one_more_tab
from nona.ui.pages.training.policy_views import policies_tab
from nona.ui.pages.training.round_views import rounds_tab
from nona.ui.pages.training.run_area import KIND
from nona.ui.session.state import AppState
from nona.ui.shell.equivalents import equivalent
from nona.ui.shell.job_panel import no_result_text

Tab = Callable[[AppState, TrainingOutcome | None], None]


def training_tabs(state: AppState, data: TrainingOutcome | None) -> None:
    """Everything on the page beyond its finding."""
    tabs = st.tabs(list(TABS), on_change="rerun", key="training-tabs")
    for tab, draw in zip(tabs, TABS.values(), strict=True):
        if tab.open:
            with tab:
                draw(state, data)
    if data is not None:
        training_downloads(state, data)
    equivalent(state, "training simulate", key="training")


def _of_run(draw: Callable[[AppState, TrainingOutcome], None]) -> Tab:
    """A tab that shows the result of a run, or says that there is none."""

    def drawn(state: AppState, data: TrainingOutcome | None) -> None:
        if data is None:
            st.caption(no_result_text(state, KIND))
        else:
            draw(state, data)

    return drawn


TABS: Mapping[str, Tab] = {
    "Policies": _of_run(policies_tab),
    "Fairness": _of_run(fairness_tab),
    "Rounds": _of_run(rounds_tab),
    "Allocation": _of_run(allocation_tab),
    "Jobs": _of_run(jobs_tab),
    "One more GPU": one_more_tab,
}
