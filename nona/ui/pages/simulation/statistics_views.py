"""How accurate the results are: formula, simulation and theory side by side, differences, warm-up."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.figures.compare import dots_figure
from nona.report.simulations.figures.sureness import forest_figure
from nona.report.simulations.figures.warmup import warmup_figure
from nona.report.simulations.finding.headline import REFERENCE
from nona.report.simulations.simulated import SimulatedRun
from nona.report.simulations.sureness import sureness_headline, sureness_rows
from nona.report.simulations.sureness_text import MEANING, provenance_lines, sureness_table
from nona.report.simulations.text import difference_row
from nona.report.simulations.titles import difference_dots, differences_title
from nona.report.times_off import off_lines
from nona.results.simulation.differences import Differences
from nona.results.simulation.series import WarmupSeries
from nona.ui.session.state import AppState
from nona.ui.widgets.charts import chart
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table

TOLD_APART = ("scheduler", "verdict", "JCT difference", "change")
DECIDING = (
    "scheduler",
    "predicted",
    "simulated",
    "predicted / simulated",
    "by Little's law",
    "load",
)


def differences_panel(differences: Differences) -> None:
    """Paired differences from a baseline that can be chosen, as a chart and as a table."""
    if len(differences) < 2:
        return
    baseline = st.selectbox(
        "Baseline scheduler",
        list(differences),
        list(differences).index(REFERENCE) if REFERENCE in differences else 0,  # as in the headline
        key="difference-baseline",
        persist_state="session",
        help="Each scheduler's mean JCT minus that of this one, on the same jobs.",
    )
    if baseline not in differences:
        return
    rows = differences[baseline]
    axis = f"mean JCT minus that of {baseline}, ms"
    chart(
        dots_figure(difference_dots(rows), axis, zero=True),
        differences_title(baseline, rows),
        "differences-chart",
        "Paired difference of each scheduler's mean JCT with its 95 % interval",
    )
    frame = pd.DataFrame([difference_row(name, d) for name, d in rows.items()])
    alt = f"Paired differences from {baseline}"
    table(frame, "differences", alt, f"differences_from_{baseline}", TOLD_APART)
    st.caption(
        "Each at 95 %, paired by replication (by job if there is only one). Pairing saves: how many times "
        "as many replications independent random numbers would need for the same interval."
    )


def sure_tab(state: AppState, data: SimulatedRun) -> None:
    """Prediction, simulation, theory and intervals side by side, and what each of them means."""
    rows = sureness_rows(data.report, data.predicted, data.idle_s)
    chart(
        forest_figure(rows),
        sureness_headline(rows),
        "forest",
        "For each scheduler the formula's prediction, the simulated mean with its interval, Little's law",
    )
    table(pd.DataFrame(sureness_table(rows)), "sureness", "How sure each mean is", "how_sure", DECIDING)
    if data.off:
        told = off_lines(data.off)[0]
        st.markdown(f"**{plain(told[0].upper() + told[1:])}.**")
    st.markdown("**What the columns mean**")
    st.markdown("\n".join(f"- **{plain(word)}**: {plain(text)}" for word, text in MEANING.items()))
    st.markdown("**Where the task times come from**")
    st.markdown("\n".join(f"- {plain(line)}" for line in provenance_lines(data.models)))


def warmup_panel(series: WarmupSeries | None) -> None:
    """The plot of the warm-up, where pilot runs were made for it."""
    if series:
        chart(
            warmup_figure(series),
            f"Warm-up: {series.jobs:,} jobs by MSER-5",
            "warmup",
            "Start-up of pilot runs",
        )
