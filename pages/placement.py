"""Placement: which parts of a query run where, the certificate, the prediction, and comparisons."""

import streamlit as st

from nona.results.placement import SolvedPlacement
from nona.ui.pages.downloads import placement_downloads
from nona.ui.pages.placement import (
    TABS,
    early_note,
    live_search,
    objective_choice,
    response_section,
    search_section,
)
from nona.ui.pages.placement_capacity import capacity_section
from nona.ui.pages.placement_result import certificate_notes, charts, result_tiles
from nona.ui.session.workspace import current
from nona.ui.shell.equivalents import equivalent
from nona.ui.shell.first_steps import no_queries
from nona.ui.shell.job_panel import current_job, job_panel, result_to_show
from nona.ui.widgets.terms import term

SHELL = "Same placement from the shell"

state = current()
st.caption(
    f"Finds for every {term('sub-graph')} the probability of each {term('configuration')} that minimises "
    f"the mean completion time ({term('JCT')}) over the whole mix, waits at the link and at the servers "
    "included."
)
if no_queries(state, "A placement"):
    st.stop()
objective_choice(state)
job_panel(state, "place", "Solve the placement", live=live_search)
data = result_to_show(state, "place", SolvedPlacement)
if data is None:
    job = current_job(state, "place")
    if job is None or not job.unfinished:
        st.info(
            "No placement yet. Solving takes seconds and shows the best so far; the result says which "
            "parts of a query run where, and how much better any other could be. How many servers the SLOs "
            "need can be asked below without it.",
            icon=":material/hub:",
        )
    capacity_section(state)
    equivalent(state, "place", "--json", key="place", label=SHELL)
    st.stop()

report = data.nona
early_note(data)
result_tiles(data)
charts(data)
response_section(report)
certificate_notes(report)
search_section(data)

tabs = st.tabs(list(TABS), on_change="rerun", key="placement-tabs")
for tab, draw in zip(tabs, TABS.values(), strict=True):
    if tab.open:
        with tab:
            draw(state, data)
placement_downloads(state)
equivalent(state, "place", "--json", key="place", label=SHELL)
