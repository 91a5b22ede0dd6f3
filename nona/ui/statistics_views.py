"""How sure the answers are: size of a simulation, differences from a baseline, warm-up, what is withheld."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from nona.report.figures_warmup import warmup_figure
from nona.report.simulation_text import difference_row, precision_lines, warmup_lines, withheld_lines
from nona.ui.state import AppState
from nona.ui.widgets import choice, count, plain, quantity

Report = Mapping[str, Any]


def precision_fields(state: AppState) -> None:
    """Warm-up and stopping rule of the simulation."""
    with st.expander("Warm-up and precision"):
        columns = st.columns(3)
        with columns[0]:
            choice(
                state,
                "Warm-up",
                ("simulation", "warmup"),
                {"automatic": "auto", "MSER-5, on pilot runs": "mser"},
                "Jobs left out at the start, the same for all schedulers. Automatic: a fifth of the jobs, at "
                "least 1,000; MSER-5 looks where the start-up ends, on five pilot runs of each scheduler.",
            )
        with columns[1]:
            quantity(
                state,
                "Precision of the means",
                ("simulation", "precision"),
                "Go on until every mean JCT is known to this share of itself, as 2 %. Empty: as many "
                "replications as stated.",
                optional=True,
            )
        with columns[2]:
            count(
                state,
                "Replications at most",
                ("simulation", "max_replications"),
                2,
                1000,
                "With a precision: where it ends in any case.",
            )


def statistics_notes(report: Report) -> None:
    """Why percentiles are withheld, how long the warm-up was, whether the precision was reached."""
    lines = [*warmup_lines(report["warmup"]), *precision_lines(report["precision"])]
    lines += withheld_lines(report["schedulers"])
    if lines:
        st.caption("  \n".join(plain(line[0].upper() + line[1:] + ".") for line in lines))


def differences_panel(differences: Mapping[str, Report]) -> None:
    """The table of paired differences from a baseline that can be chosen."""
    if len(differences) < 2:
        return
    st.subheader("Differences on the same jobs")
    baseline = st.selectbox(
        "Less what of", list(differences), key="difference-baseline", persist_state="session"
    )
    if baseline not in differences:
        return
    rows = [difference_row(name, d) for name, d in differences[baseline].items()]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="differences")
    st.caption(
        "Each at 95 %, paired by replication (by job if there is only one). Pairing saves: how many times as "
        "many replications schedulers with random numbers of their own would need for the same interval."
    )


def warmup_panel(series: Report | None) -> None:
    """The plot of the warm-up, where pilot runs were made for it."""
    if series:
        with st.expander(f"Warm-up: {series['jobs']:,} jobs by MSER-5", icon=":material/timeline:"):
            st.plotly_chart(warmup_figure(series), key="warmup", alt="Start-up of pilot runs")
