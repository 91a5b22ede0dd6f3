"""The paper's evaluation on the Validation page: what was found, and where the ratio of 350 occurs."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from nona.report.paper.figures import growth_figure
from nona.report.paper.rows import growth_rows, point_rows, summary_rows
from nona.report.paper.text import OURS, findings, growth_title, provenance, ratio_title, title
from nona.report.sweeps.figure import sweep_figure
from nona.results.studies.paper import PaperStudy
from nona.results.sweep import SweepReport
from nona.study.shipped import shipped_paper
from nona.ui.session.state import AppState
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.schedulerpicker.kept import kept_schedulers
from nona.ui.widgets.tables import table

SCHEDULERS_KEY = "paper-schedulers"
# Those that are drawn until others are chosen: all in one chart would hide each other.
DRAWN = ("nona", "nona-live", "least-loaded", "local", "random", "spread", "opportunistic", "spark-fair")


def paper_section(state: AppState) -> None:
    """The shipped results: findings, ratio against background with the edges, growth in overload, tables."""
    data = shipped_paper()
    st.markdown(f"**{plain(title(data))}.** {plain(OURS)}")
    drawn = _drawn(state, data)
    for (name, report), column in zip(data.sweeps.items(), st.columns(len(data.sweeps)), strict=True):
        with column:
            _ratios(name, report, drawn)
    finding = growth_title(data)
    st.markdown(f"**{plain(finding)}**")
    picture(
        growth_figure(data),
        key="paper-growth",
        alt=f"Mean JCT over that of nona against the length of runs in overload. {finding}",
    )
    with st.expander("What was found", icon=":material/lightbulb:"):
        for line in findings(data):
            st.markdown(f"- {plain(line)}")
    table(pd.DataFrame(summary_rows(data)), "paper", "Every scheduler's edges and its ratios to nona")
    with st.expander("All points with their intervals", icon=":material/table:"):
        table(pd.DataFrame(point_rows(data)), "paper-points", "Every simulated point of the study")
        table(pd.DataFrame(growth_rows(data)), "paper-overload", "Every run in overload")
    st.caption(plain(provenance(data)))


def _drawn(state: AppState, data: PaperStudy) -> tuple[str, ...]:
    """The schedulers of the two charts, which the reader chooses."""
    known = next(iter(data.sweeps.values())).schedulers
    hint = "Of the two charts below; the findings and the tables have all of them."
    return kept_schedulers(state, SCHEDULERS_KEY, "Schedulers in the charts", DRAWN, known, hint)


def _ratios(name: str, report: SweepReport, drawn: Sequence[str]) -> None:
    finding = ratio_title(name, report)
    st.markdown(f"**{plain(finding)}**")
    curves = {n: curve for n, curve in report.schedulers.items() if n in drawn}
    if not curves:
        st.caption("No scheduler is chosen.")
        return
    picture(
        sweep_figure(report.model_copy(update={"schedulers": curves}), f"Ratio to {report.reference}"),
        key=f"paper-{name}",
        alt=f"Mean JCT over that of nona against background {name}; crosses: edges of stability. {finding}",
    )
