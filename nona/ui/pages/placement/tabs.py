"""The tabs below a solved placement."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from nona.results.placement.outcome import SolvedPlacement
from nona.ui.pages.placement.capacity_views import capacity_section
from nona.ui.pages.placement.glue_views import glue_section
from nona.ui.pages.placement.predicted_views import link_section, servers_section
from nona.ui.pages.placement.views import configurations_of, congestion_section, model_frame
from nona.ui.pages.placement.working_views import show_working
from nona.ui.session.state import AppState
from nona.ui.widgets.tables import table


def _tasks(state: AppState, data: SolvedPlacement) -> None:
    st.subheader("Where the tasks run")
    configurations_of(state, data.nona)


def _resources(state: AppState, data: SolvedPlacement) -> None:
    servers_section(data.nona)
    link_section(data.nona)


def _gain(state: AppState, data: SolvedPlacement) -> None:
    st.subheader("What splitting can gain at most")
    st.caption(
        "Parallelism is the time of all operators one after the other over that of the longest chain: what "
        "splitting one query could save if transfers and waits cost nothing."
    )
    table(model_frame(data.models), "gain", "Parallelism of each model")
    glue_section(state)


TABS: Mapping[str, Callable[[AppState, SolvedPlacement], None]] = {
    "Where the tasks run": _tasks,
    "Servers and links": _resources,
    "Price of congestion": congestion_section,
    "How many servers": lambda state, data: capacity_section(state),
    "What splitting can gain": _gain,
    "The working": show_working,
}
