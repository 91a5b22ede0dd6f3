"""Placement: which parts of a query run where, the certificate, the prediction, and comparisons."""

import streamlit as st

from nona.app.pages.queries.placement import PLACEMENT, engines_section
from nona.app.pages.run_page import run_page
from nona.app.session.workspace import current
from nona.app.shell.first_steps import no_queries
from nona.app.widgets.terms import term

state = current()
st.caption(
    f"Compares ways to divide every {term('sub-graph')} over servers ({term('configuration')}), and takes "
    f"the best one by simulation: by the mean {term('JCT')} of all queries, by the SLOs kept, or by the "
    "formula, as you choose below."
)
if not no_queries(state, "A placement"):
    run_page(state, PLACEMENT)
    st.page_link("pages/plan.py", label="How many servers keep the SLOs?", icon=":material/dns:")
if state.scenario.language:
    engines_section(state)
