"""Cluster: server groups, GPUs and how they are shared, the network, background load, own devices."""

import streamlit as st

from nona.errors import NonaError
from nona.hardware.cluster import Cluster
from nona.ui.cluster_views import device_form, device_table, group_editor
from nona.ui.link_views import core_editor, path_editor
from nona.ui.widgets import number, percent, plain, quantity
from nona.ui.workload_edits import add_entry
from nona.ui.workspace import current

state = current()
spec = state.scenario.cluster
cluster: Cluster | None = None
try:
    cluster = Cluster.from_spec(spec)
except NonaError as error:
    st.error(plain(str(error)), icon=":material/error:")
else:
    tiles = st.columns(4)
    tiles[0].metric("Servers", f"{cluster.servers:,}")
    tiles[1].metric("Executors", f"{len(cluster.executors):,}", help="One runs one task at a time.")
    tiles[2].metric("Kinds of executor", len(cluster.classes))
    tiles[3].metric("vCPUs", f"{sum(cluster.server_vcpus):,}")
if state.notice:
    st.warning(plain(state.notice), icon=":material/warning:")

st.subheader("Servers")
for index in range(len(spec.servers)):
    group_editor(state, index)
st.button(
    "Add a server group",
    icon=":material/add:",
    on_click=add_entry,
    args=(state, ("cluster", "servers"), {"count": 1}),
)

left, right = st.columns(2)
with left.container(border=True, height="stretch"):
    st.subheader("Network")
    core_editor(state)
with right.container(border=True, height="stretch"):
    st.subheader("Background load")
    st.caption("Other work on every executor, and other traffic on every link; Poisson arrivals.")
    one, two = st.columns(2)
    with one:
        percent(state, "Executors busy", ("background", "compute", "utilization"))
        quantity(state, "Mean service", ("background", "compute", "mean_service"))
        number(state, "SCV of service", ("background", "compute", "scv"), 0.0, 1000.0, 0.5)
    with two:
        percent(state, "Link busy", ("background", "network", "utilization"))
        quantity(state, "Mean message", ("background", "network", "mean_size"))
        number(state, "SCV of message size", ("background", "network", "scv"), 0.0, 1000.0, 0.5)

with st.container(border=True):
    path_editor(state, cluster)

with st.expander("Devices and where their figures come from"):
    st.dataframe(device_table(state), hide_index=True, key="devices")
with st.expander("Add your own device"):
    device_form(state)
