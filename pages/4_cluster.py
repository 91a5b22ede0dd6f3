"""Cluster: server groups, GPUs and how they are shared, the network, background load, own devices."""

import streamlit as st

from nona.errors import NonaError
from nona.hardware.cluster import Cluster
from nona.ui.pages.cluster import (
    background_editor,
    capacity_tiles,
    core_editor,
    device_form,
    device_list,
    device_table,
    group_editor,
    hardware_section,
    memory_section,
    path_editor,
)
from nona.ui.pages.cluster_drawing import cluster_drawing
from nona.ui.pages.scenario_edits import add_group
from nona.ui.session.workspace import current
from nona.ui.shell.equivalents import equivalent
from nona.ui.widgets.fields import plain
from nona.ui.widgets.folding import shown_at_once
from nona.ui.widgets.terms import guide_link

state = current()
spec = state.scenario.cluster
cluster: Cluster | None = None
try:
    cluster = Cluster.from_spec(spec)
except NonaError as error:
    st.error(plain(str(error)), icon=":material/error:")
else:
    capacity_tiles(cluster, state.scenario.cost)
    cluster_drawing(state.scenario, None)
    memory_section(state, cluster)
    hardware_section(state, cluster)
if not state.scenario.workload and state.scenario.training is None:
    st.page_link("pages/5_workload.py", label="Next: add models to the workload", icon=":material/add:")
if state.notice:
    st.warning(plain(state.notice), icon=":material/warning:")

with st.container(key="settings-cluster"):
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.subheader("Servers", width="content")
        guide_link("mig", "How MIG slices a GPU")
    for index in shown_at_once(len(spec.servers), "groups-at-once", "Groups"):
        group_editor(state, index)
    st.button(
        "Add a server group",
        icon=":material/add:",
        help="Another kind of server in addition to those above.",
        on_click=add_group,
        args=(state,),
    )

    left, right = st.columns(2)
    with left.container(border=True, height="stretch"):
        st.subheader("Network")
        core_editor(state)
    with right.container(border=True, height="stretch"):
        background_editor(state)

    with st.container(border=True):
        path_editor(state, cluster)

    st.subheader("Devices")
    device_list(state)
    with st.expander("Add a device of your own"):
        device_form(state)
    with st.expander("All devices, and where their figures come from"):
        device_table(state)
equivalent(state, "devices", key="cluster", scenario=False)
