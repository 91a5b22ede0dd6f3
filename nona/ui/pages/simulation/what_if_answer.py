"""What the what-if view shows of an answer: charts and table, beside the scenario as it stands."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from nona.report.figures.compare import beside, dots_figure
from nona.report.simulations.compared.text import effect_text
from nona.report.simulations.report import python_decisions
from nona.report.simulations.tables.columns import headings
from nona.report.simulations.titles import hit_dots, hits_title, jct_dots, jct_title
from nona.report.text import time_text
from nona.results.simulation.report import Schedulers
from nona.ui.pages.simulation.engine_views import engine_text
from nona.ui.pages.simulation.views import DECIDING, overload_warnings, results_table
from nona.ui.session.live import Shown
from nona.ui.session.state import AppState
from nona.ui.widgets.charts import chart
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table

BEFORE = "before"
JCT_BEFORE = "mean JCT before"


@dataclass(frozen=True, eq=False)
class Drawn:
    """Figures and rows of an answer and the one before, so that a look that finds no news costs little."""

    shown: Shown
    before: Shown | None
    jct: go.Figure
    hits: go.Figure
    rows: pd.DataFrame


def draw_answer(state: AppState, shown: Shown, before: Shown | None) -> None:
    """Charts, table, warnings and engine; ``before`` is the answer for the scenario as it stands."""
    data = shown.data
    found, drawn = data.report.schedulers, _drawn(state, shown, before)
    ghost = "; hollow and grey: the scenario as it stands" if before is not None else ""
    with st.grid(2, min_column_width=330):
        with st.container():
            alt = f"Mean JCT of each scheduler with its 95 % interval{ghost}"
            chart(drawn.jct, jct_title(found), "what-if-jct", alt)
        with st.container():
            alt = f"SLO hits of each scheduler with their 95 % interval{ghost}"
            chart(drawn.hits, hits_title(found), "what-if-hits", alt)
    effect = effect_text(found, before.data.report.schedulers) if before is not None else ""
    st.markdown(plain(effect) or "\N{NO-BREAK SPACE}")  # always a line: the table stays where it is
    alt = "Every scheduler's times, SLO hits and loads for the numbers above"
    deciding = [name for name in drawn.rows if name in (*headings(DECIDING), "predicted", JCT_BEFORE)]
    table(drawn.rows, "what-if-table", alt, "what_if", deciding)
    with st.container():
        for name, why in data.failed.items():
            st.warning(plain(f"{name} cannot run: {why}"), icon=":material/block:")
        overload_warnings(found, state)
    st.caption(plain(engine_text(data.report.engine, python_decisions(data.report))))


def _drawn(state: AppState, shown: Shown, before: Shown | None) -> Drawn:
    held = state.choices.find(Drawn)
    if held is None or held.shown is not shown or held.before is not before:
        found = shown.data.report.schedulers
        earlier = before.data.report.schedulers if before is not None else {}
        jct = beside(jct_dots(found), jct_dots(earlier), BEFORE)
        hits = beside(hit_dots(found), hit_dots(earlier), BEFORE)
        held = Drawn(
            shown,
            before,
            dots_figure(jct, "mean JCT, ms"),
            dots_figure(hits, "SLO hits, %", most=100.0),
            _table(shown, earlier),
        )
        state.choices.keep(held)
    return held


def _table(shown: Shown, earlier: Schedulers) -> pd.DataFrame:
    """The table of results, with the mean JCT of the scenario as it stands."""
    found = shown.data.report.schedulers
    rows = results_table(found, shown.data.predicted)
    if earlier:
        means = [earlier[name].jct_s.mean if name in earlier else None for name in found]
        rows.insert(3, JCT_BEFORE, [time_text(mean) for mean in means])
    return rows
