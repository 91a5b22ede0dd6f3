"""Workload: the mix of queries, their rates, arrivals and SLOs."""

import streamlit as st

from nona.ui.models import model_names
from nona.ui.widgets import plain
from nona.ui.workload_edits import add_model
from nona.ui.workload_views import row_editor, trace_upload
from nona.ui.workspace import current
from nona.units import format_time

state = current()
rows = state.scenario.workload
total = sum(r.rate for r in rows)
tiles = st.columns(3)
tiles[0].metric("Kinds of query", len(rows))
tiles[1].metric("Queries per second", f"{total:.4g}")
tightest = min((r.slo for r in rows if r.slo is not None), default=None)
tiles[2].metric("Tightest SLO", "none" if tightest is None else format_time(tightest))
if state.notice:
    st.warning(plain(state.notice), icon=":material/warning:")

for index in range(len(rows)):
    row_editor(state, index)

with st.container(horizontal=True, vertical_alignment="bottom"):
    names = model_names(state)
    chosen = st.selectbox("Another model", names, key="another-model", width=320)
    st.button("Add it to the mix", icon=":material/add:", on_click=add_model, args=(state, chosen))

with st.expander("Upload an arrival trace (CSV)"):
    trace_upload(state)
