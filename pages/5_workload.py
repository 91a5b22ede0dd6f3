"""Workload: the mix of queries, their rates, arrivals and SLOs."""

import streamlit as st

from nona.ui.models.loading import model_names
from nona.ui.pages.models_times import pick_precision
from nona.ui.pages.scenario_edits import add_model, ask_before_adding
from nona.ui.pages.workload import load_gauges, row_editor, trace_upload
from nona.ui.pages.workload_facts import offered, rates_of
from nona.ui.session.workspace import current
from nona.ui.shell.equivalents import equivalent
from nona.ui.widgets.fields import plain
from nona.ui.widgets.folding import shown_at_once
from nona.ui.widgets.terms import guide_link
from nona.units import format_number, format_time

state = current()
rows = state.scenario.workload
load = offered(state)
with st.grid(4, min_column_width=130):
    st.metric("Kinds of query", len(rows), help="Rows of the mix below.")
    rates = rates_of(state)
    shown = "–" if rates is None else format_number(sum(rates), 4)
    st.metric("Queries per second", shown, help="All rows together, on average.")
    tightest = min((r.slo for r in rows if r.slo is not None), default=None)
    st.metric(
        "Tightest SLO",
        "none" if tightest is None else format_time(tightest),
        help="The shortest SLO of all rows.",
    )
    st.metric(
        "Executors full",
        "–" if load is None else load.text,
        help="Load from background and queries on the busiest kind of executor: at best, and where executors "
        "are drawn alike. From 100 % on, queues grow without bound.",
    )
load_gauges(state, load)
if rows:
    pick_precision(state)
if state.notice:
    st.warning(plain(state.notice), icon=":material/warning:")

with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
    st.subheader("The mix", width="content")
    guide_link("words", "What the words mean")
if not rows:
    with_jobs = "This scenario has training jobs only. " if state.scenario.training is not None else ""
    st.caption(f"{with_jobs}No queries arrive. Choose a model below and add it.")
    if state.scenario.training is not None:
        st.page_link("pages/10_training.py", label="Open Training", icon=":material/model_training:")
for index in shown_at_once(len(rows), "rows-at-once", "Rows"):
    row_editor(state, index, load, rates[index] / sum(rates) if rates else 0.0)

with st.container(horizontal=True, vertical_alignment="bottom"):
    names = model_names(state)
    chosen = st.selectbox(
        "Another model", names, key="another-model", width=260, help="A sample, or a model that you uploaded."
    )
    st.button(
        "Add it to the mix",
        icon=":material/add:",
        help="As another row, at 10 queries per second.",
        on_click=add_model,
        args=(state, chosen),
    )
ask_before_adding(state)

with st.expander("Arrival traces (CSV)", icon=":material/timeline:"):
    trace_upload(state)
equivalent(state, "place", "--json", key="workload")
