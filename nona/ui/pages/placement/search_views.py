"""The search for a placement while it runs and after it: the best so far, and the steps that led there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from nona.report.placements.figures.search_steps import steps_figure
from nona.report.placements.steps_text import best_so_far, early_text, step_rows
from nona.results.placement.outcome import SolvedPlacement
from nona.results.placement.search import SearchProgress, SearchStep
from nona.ui.pages.placement.objective_views import search_note
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table
from nona.units import format_time

WORTH = 2  # steps: fewer need no figure


def live_search(live: Mapping[str, Any]) -> None:
    """The best so far with its gap, and the steps until now."""
    steps = SearchProgress.from_json(live).steps
    if not steps:
        return
    st.markdown(f"**{plain(best_so_far(steps))}**")
    st.caption("Cancel keeps it.")
    _steps(steps, "live")


def early_note(data: SolvedPlacement) -> None:
    """A mark on the result of a cancelled search."""
    if data.ended_early_s is not None:
        st.warning(plain(early_text(data.ended_early_s)), icon=":material/stop_circle:")


def solved_text(data: SolvedPlacement) -> str:
    """How long the placement took: a cancelled search has no time of a solution, a known one had an earlier.

    ``Solved in 12.3 s``
    """
    if data.ended_early_s is not None:
        return f"Cancelled after {format_time(data.ended_early_s, 2)}"
    if data.known:
        return f"Known from an earlier solution, which took {format_time(data.nona.seconds)}"
    return f"Solved in {format_time(data.nona.seconds)}"


def search_section(data: SolvedPlacement) -> None:
    """How the search went, behind a line to open."""
    with st.expander("How the search went", icon=":material/timeline:"):
        note = search_note(data.nona)
        st.caption(plain(f"{solved_text(data)}; solver: {data.nona.solver}. {note}".strip()))
        if len(data.steps) >= WORTH:
            _steps(data.steps, "steps")


def _steps(steps: Sequence[SearchStep], key: str) -> None:
    if len(steps) >= WORTH:
        alt = (
            "Mean JCT of the best placement so far over the seconds of the search, with the bound by formula"
        )
        picture(steps_figure(steps), key=f"search-{key}", alt=alt)
    table(pd.DataFrame(step_rows(steps)), f"search-{key}-table", "The steps of the search")
