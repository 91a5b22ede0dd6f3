"""Validation: modelled times, prediction, decisions, queueing theory, self-checks, the paper's evaluation."""

import streamlit as st

from nona.ui.pages.validation.tabs import TABS
from nona.ui.session.workspace import current
from nona.ui.widgets.guide_link import guide_link

state = current()
st.caption(
    "What stands behind the numbers of this app: modelled times beside published ones, predictions and "
    "decisions beside simulations, the simulator beside queueing theory, and what must hold tried on "
    "this very machine."
)
tabs = st.tabs(list(TABS), on_change="rerun", key="validation-tabs")
for tab, draw in zip(tabs, TABS.values(), strict=True):
    if tab.open:
        with tab:
            draw(state)
guide_link("provenance", "Where times come from")
