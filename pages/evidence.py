"""Evidence: what backs the numbers: measurements, simulations, theory, papers, sources."""

from collections.abc import Callable

import streamlit as st

from nona.ui.pages.evidence import sources_tab
from nona.ui.session.state import AppState
from nona.ui.session.workspace import current
from studies import tabs as studied

TABS: dict[str, Callable[[AppState], None]] = {
    "Modelled times": studied.times_tab,
    "Prediction": studied.prediction_tab,
    "Decisions": studied.decisions_tab,
    "Theory": studied.theory_tab,
    "The paper": studied.paper_tab,
    "The slides": studied.slides_tab,
    "Network views": studied.network_views_tab,
    "Split or batch": studied.split_tab,
    "Language models": studied.language_tab,
    "Training": studied.training_tab,
    "Sources": sources_tab,
}

state = current()
tabs = st.tabs(list(TABS), on_change="rerun", key="evidence-tabs")
for tab, draw in zip(tabs, TABS.values(), strict=True):
    if tab.open:
        with tab:
            draw(state)
