"""Placement: which parts of a query run where, the certificate, the prediction, and what it is against."""

import streamlit as st

from nona.ui.jobs.panel import job_panel, result_of
from nona.ui.placement.capacity_views import capacity_section
from nona.ui.placement.glue_views import glue_section
from nona.ui.placement.link_views import link_section
from nona.ui.placement.objective_views import objective_choice, sampled_section
from nona.ui.placement.response_views import response_section
from nona.ui.placement.server_views import servers_section
from nona.ui.placement.views import (
    certificate_notes,
    certificate_tiles,
    charts,
    configurations_of,
    congestion_section,
    model_frame,
    verdict,
)
from nona.ui.placement.working_views import show_working
from nona.ui.session.workspace import current
from nona.ui.simulation.downloads import placement_downloads
from nona.ui.widgets.equivalents import equivalent
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table

state = current()
st.caption(
    "For every sub-graph a probability for each configuration, such that the mean completion time over the "
    "whole mix is least, waits at the link and at the servers included."
)
objective_choice(state)
job_panel(state, "place", "Solve the placement", "solve")
data = result_of(state, "place", "placement")
if data is None:
    st.info(
        "No placement yet. Solving takes a second or so for most mixes; the result says which parts of a "
        "query run where, with a proof of how far it can be from the best.",
        icon=":material/hub:",
    )
    equivalent(state, "place", "--json", key="place")
    st.stop()

report = data["nona"]
certificate_tiles(report)
st.markdown(plain(verdict(data)))
sampled_section(report)
certificate_notes(report)
response_section(report)
charts(data)

st.subheader("Where the tasks run")
configurations_of(state, report)

servers_section(report)
link_section(report)
congestion_section(state, data)
show_working(state, data)

capacity_section(state)

st.subheader("What splitting can gain at most")
st.caption(
    "Parallelism is the time of all operators one after the other over that of the longest chain: what "
    "splitting one query could save if transfers and waits cost nothing."
)
table(model_frame(data["models"]), "gain", "Parallelism of each model")
glue_section(state)
placement_downloads(state)
equivalent(state, "place", "--json", key="place")
