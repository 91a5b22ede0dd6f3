"""A sweep of two numbers on the page: the heat map, while it fills and afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from nona.report.sweeps.grid import MEASURES, Measure, grid_finding, grid_targets
from nona.report.sweeps.grid_figure import grid_figure
from nona.results.sweep import GridOutcome, SweepGrid
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import plain

KIND = "grid"
BEST = "the best in each cell"


def live_grid(live: Mapping[str, Any]) -> None:
    """The cells as far as they are known; ``live`` is what the job sent."""
    told = GridOutcome.from_json(live)
    if told.rows:
        picture(grid_figure(told, "Mean JCT"), key="grid-live", alt=f"{grid_finding(told)} So far.")


def grid_reading(grid: SweepGrid) -> None:
    """The findings, what the colours show, and the map: redrawn alone when a choice changes."""
    if not grid.rows:
        st.caption("No pair of values was simulated before the sweep ended.")
        return
    names = list(grid.rows[0].sweep.schedulers)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Scheduler",
            [BEST, *names],
            key="grid-scheduler",
            persist_state="session",
            width=260,
            help="The best in each cell, or the values of one scheduler.",
        )
        shown = st.segmented_control(
            "Colour",
            MEASURES,
            default=MEASURES[0],
            required=True,
            key="grid-measure",
            persist_state="session",
            help="What decides who is best, and what a scheduler's colours show.",
        )
    measure: Measure = shown if shown in MEASURES else MEASURES[0]
    one = str(chosen) if chosen in names else ""
    st.markdown(f"**{plain(grid_finding(grid))}** {plain(grid_targets(grid, one))}")
    alt = f"{grid_finding(grid)} {grid_targets(grid, one)}"
    picture(grid_figure(grid, measure, one), key="grid-chart", alt=alt)
