"""Models: pick or upload one; its graph, its operators, its times, and what splitting can gain."""

from functools import partial

import streamlit as st

from nona.report.figures import time_by_kind_figure
from nona.ui.models.graph_views import model_bar, model_graph
from nona.ui.pages.models import (
    graph_download,
    loaded_model,
    model_facts,
    operator_table,
    pick_model,
    time_by_kind,
    times_origin,
)
from nona.ui.pages.models_times import given_section, measured_times, pick_times
from nona.ui.pages.scenario_edits import add_model, ask_before_adding
from nona.ui.session.workspace import current
from nona.ui.shell.equivalents import equivalent
from nona.ui.widgets.results import picture, table

state = current()
with model_bar():
    pick_model(state)
    device, times = pick_times(state)
    st.button(
        "Add to the workload",
        icon=":material/add:",
        on_click=add_model,
        args=(state, state.model),
        help="Queries of this model arrive in the scenario, ten a second at first.",
    )
    st.page_link("pages/3_contraction.py", label="See what contracts", icon=":material/compress:")
ask_before_adding(state)
loaded = loaded_model(state, device)  # first, so that a page that waits says so in the open
with times:
    measured_times(state, device)
    given_section(state, device)
if loaded is None:
    st.stop()
costed = loaded.prepared.costed[0]

graph_tab, operator_tab, kind_tab = st.tabs(
    ["Graph", "Operators", "Time by kind"], key="model-tabs", on_change="rerun"
)
if graph_tab.open:
    with graph_tab:
        model_graph(state, loaded, partial(model_facts, state, loaded))
if operator_tab.open:
    with operator_tab:
        table(operator_table(costed), "operators", "Work and time of every operator", height=520)
        times_origin(costed)
if kind_tab.open:
    with kind_tab:
        picture(time_by_kind_figure(time_by_kind(costed)), key="kinds", alt="Time by kind of operator")
with st.container(horizontal=True, vertical_alignment="center"):
    st.page_link("pages/5_workload.py", label="Edit the workload", icon=":material/stacked_line_chart:")
    graph_download(loaded)
    equivalent(state, "inspect", state.model, "--device", device, key="inspect", scenario=False)
