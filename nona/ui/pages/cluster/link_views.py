"""The network of the cluster: the core, and the cards and racks on the path to it."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from nona.hardware.catalogue import links
from nona.hardware.cluster import Cluster
from nona.report.simulations.links import link_stages, link_table, links_figure, stages_figure
from nona.results.simulation.series import LinkLoad
from nona.ui.pages.workload.edits import LINK_SETS, set_links, use_link
from nona.ui.session.state import AppState
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import choice, count, plain, quantity
from nona.ui.widgets.tables import table
from nona.units import format_bandwidth, format_time

_NETWORK = ("cluster", "network")


def core_editor(state: AppState) -> None:
    """Capacity, latency and discipline of the link that all servers share."""
    network = state.scenario.cluster.network
    st.caption(
        "The one link that all servers share, the bottleneck."
        if network.nic is None
        else "The core, which messages between racks cross; cards and racks are below."
    )
    with st.grid(2, min_column_width=130):
        quantity(
            state,
            "Capacity",
            (*_NETWORK, "capacity"),
            "For all messages together, e.g. 25 Gbit/s; less capacity, longer queues.",
        )
        quantity(
            state,
            "Latency",
            (*_NETWORK, "latency"),
            "Added to each message after its transfer, e.g. 20 us.",
        )
        if network.nic is None:
            choice(
                state,
                "Discipline",
                (*_NETWORK, "discipline"),
                {"one by one": "fifo", "shared equally": "processor-sharing"},
                "Messages one after the other (FIFO), or all in parallel with equal parts of the capacity.",
            )
    with st.popover("Use a common link", icon=":material/cable:"):
        for name, link in links().items():
            st.button(
                plain(link.label or name),
                key=f"link-{name}",
                help=f"{format_bandwidth(link.capacity)}, {format_time(link.latency_s)} latency. "
                f"{plain(link.fact.source)} ({link.fact.checked}).",
                type="tertiary",
                on_click=use_link,
                args=(state, name),
            )


def path_editor(state: AppState, cluster: Cluster | None) -> None:
    """Which links there are besides the core, their capacities, and a picture of all."""
    st.subheader("Links on the path")
    network = state.scenario.cluster.network
    now = LINK_SETS[0 if network.nic is None else 1 if network.racks is None else 2]
    key = f"links-{state.revision}"

    def choose() -> None:
        if st.session_state[key]:
            set_links(state, st.session_state[key])

    st.segmented_control(
        "Links",
        LINK_SETS,
        default=now,
        key=key,
        on_change=choose,
        required=True,
        help="Which links a message crosses besides the core; each has its own queue.",
    )
    if network.nic is None:
        st.caption(
            "Messages between servers cross only the core. With cards, each server's traffic in and out "
            "queues as well; with racks, traffic that leaves a rack shares an uplink."
        )
        return
    with st.grid(3, min_column_width=130):
        quantity(state, "Card of each server", (*_NETWORK, "nic"), "Capacity in each direction.")
        if network.racks is not None:
            hint = "Messages within a rack do not cross the core."
            count(state, "Servers per rack", (*_NETWORK, "racks", "size"), 1, 100_000, hint)
            quantity(
                state, "Uplink of each rack", (*_NETWORK, "racks", "uplink"), "Capacity up; the same down."
            )
    if cluster is not None:
        _picture(cluster)
    st.caption(
        "Every link is first come, first served and carries the same share of background traffic. "
        "Simulation, placement and prediction model all of them."
    )


def _picture(cluster: Cluster) -> None:
    stages = link_stages(cluster.network, cluster.servers)
    left, right = st.columns([3, 2], vertical_alignment="center")
    left.plotly_chart(
        stages_figure(stages), key="stages", alt="Capacity of all links of each stage on a message's path"
    )
    with right:
        table(pd.DataFrame(link_table(stages)), "link-table", "Links of each stage and their capacity")


def busiest_links_panel(found: Sequence[LinkLoad]) -> None:
    """The busiest links of one scheduler; nothing where there is but one link."""
    if found:
        st.subheader("The busiest links")
        picture(links_figure(found), key="busiest-links", alt="Utilisation of the busiest links")
