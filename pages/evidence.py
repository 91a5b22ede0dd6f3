"""Evidence: what backs the numbers: measurements, simulations, theory, self-checks, papers, sources."""

import streamlit as st

from nona.ui.pages.evidence import TABS
from nona.ui.session.workspace import current

state = current()
tabs = st.tabs(list(TABS), on_change="rerun", key="evidence-tabs")
for tab, draw in zip(tabs, TABS.values(), strict=True):
    if tab.open:
        with tab:
            draw(state)
