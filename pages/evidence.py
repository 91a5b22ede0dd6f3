"""Evidence: what backs the numbers: of times, predictions, the simulator; what others published."""

from collections.abc import Callable

import streamlit as st

from evidence import tabs as studied
from nona.app.session.state import AppState
from nona.app.session.workspace import current

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
