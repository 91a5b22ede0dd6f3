"""Which tasks of the mix could leave their server over this cluster's link: the coarsening of every row."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.errors import NonaError
from nona.report.inputs.coarsening import Glued
from nona.ui.loaded.loading import load_row
from nona.ui.pages.models.coarsening_views import glued_of
from nona.ui.session.state import AppState
from nona.ui.widgets.tables import table
from nona.units import format_bandwidth, format_time


def glue_section(state: AppState) -> None:
    """One row for every model: interior tasks, groups that might leave their server, what that loses."""
    found: dict[str, Glued] = {}
    for index, label in enumerate(state.scenario.labels):
        try:
            found[label] = glued_of(state, load_row(state, index))
        except NonaError:  # the page says of every row what keeps it from being placed
            continue
    if not found:
        return
    link = next(iter(found.values())).link
    st.caption(
        f"Over {format_bandwidth(link.speed)} with {format_time(link.latency_s)} latency: separating two "
        "tasks gains nothing at fixed waits if that alone takes longer than everything on one server. The "
        "page Contraction has the reasons, and what else may stay together at a stated loss."
    )
    alt = "For each model: interior tasks, groups of them that might leave, and the most that this loses"
    table(glue_frame(found), "together", alt)


def glue_frame(found: dict[str, Glued]) -> pd.DataFrame:
    """The table: what every model's coarsening leaves."""
    return pd.DataFrame(
        {
            "model": list(found),
            "sub-graphs": [sum(bool(s.interior) for s in g.decomposition.subgraphs) for g in found.values()],
            "interior tasks": [g.interior_tasks for g in found.values()],
            "groups that might leave": [g.interior_units for g in found.values()],
            "lost at most µs": [1e6 * g.bound_s for g in found.values()],
        }
    )
