"""Evidence: what backs the numbers: of times, predictions, the simulator; what others published."""

from collections.abc import Callable

import streamlit as st

from nona.ui.session.state import AppState
from nona.ui.session.workspace import current
from studies import tabs as studied

TABS: dict[str, Callable[[AppState], None]] = {
    "Times": studied.times_tab,
    "Predictions": studied.predictions_tab,
    "Simulator": studied.simulator_tab,
    "Published claims": studied.claims_tab,
}

state = current()
tabs = st.tabs(list(TABS), on_change="rerun", key="evidence-tabs")
for tab, draw in zip(tabs, TABS.values(), strict=True):
    if tab.open:
        with tab:
            draw(state)
