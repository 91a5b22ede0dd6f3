"""Placement: which parts of a query run where, the certificate, the prediction, and comparisons."""

import streamlit as st

from nona.app.layout.first_steps import no_queries
from nona.app.pages.queries.placement import PLACEMENT, engines_section
from nona.app.pages.run_page import run_page
from nona.app.session.workspace import current
from nona.app.widgets.terms import term

state = current()
st.caption(
    f"Compares the ways to divide each {term('sub-graph')} over servers ({term('configuration')}). "
    f"Simulation picks the best, by mean response time ({term('JCT')}) or by SLOs kept; or the formula picks "
    "alone."
)
if not no_queries(state, "A placement"):
    run_page(state, PLACEMENT)
    st.page_link("pages/plan.py", label="How many servers keep the SLOs?", icon=":material/dns:")
if state.scenario.language:
    engines_section(state)
