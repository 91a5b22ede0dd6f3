"""Validation: modelled times, prediction, decisions, queueing theory, self-checks, the paper's evaluation."""

import streamlit as st

from nona.ui.pages.evidence import TABS
from nona.ui.session.workspace import current
from nona.ui.widgets.terms import guide_link

state = current()
st.caption(
    "Evidence for the numbers of this app: modelled times against published ones, predictions and "
    "decisions against simulations, the simulator against queueing theory, and self-checks on this "
    "machine."
)
tabs = st.tabs(list(TABS), on_change="rerun", key="validation-tabs")
for tab, draw in zip(tabs, TABS.values(), strict=True):
    if tab.open:
        with tab:
            draw(state)
guide_link("provenance", "Where times come from")
