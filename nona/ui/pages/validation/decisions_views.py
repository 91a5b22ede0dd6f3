"""The study of decisions on the Validation page: ratios of every cell, where they are large, the worst."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.decisions.figures import heat_figure, ratios_figure
from nona.report.decisions.rows import cell_rows, missed_gains, network_rows, worst_rows
from nona.report.decisions.text import HOW, findings, heat_title, provenance, title
from nona.report.decisions.verdicts import QUESTIONS, compared
from nona.study.shipped import shipped_decisions
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table


def decisions_section() -> None:
    """The stored study: two charts with their findings, the findings in words, and tables."""
    data = shipped_decisions()
    st.markdown(HOW)
    known = [key for key in QUESTIONS if compared(data, key)]
    chosen = st.segmented_control(
        "Decisions of",
        known,
        default=known[0],
        format_func=lambda key: QUESTIONS[key].name,
        key="decisions-question",
        help="nona samples from the placement and observes no queue; nona-live also reads the queues.",
    )
    key = chosen or known[0]
    left, right = st.columns([3, 2])
    with left:
        finding = title(data, key)
        st.markdown(f"**{plain(finding)}**")
        picture(
            ratios_figure(data, key),
            key=f"decisions-ratios-{key}",
            alt=f"Ratio to the best other scheduler in every cell, with 95 % intervals. {finding}",
        )
    with right:
        finding = heat_title(data, key)
        st.markdown(f"**{plain(finding)}**")
        picture(
            heat_figure(data, key),
            key=f"decisions-heat-{key}",
            alt=f"Largest ratio by link and background. {finding}",
        )
    for line in findings(data):
        st.markdown(f"- {plain(line)}")
    st.markdown(f"**{QUESTIONS[key].name}: the largest ratios**")
    table(
        pd.DataFrame(worst_rows(data, key)),
        f"decisions-worst-{key}",
        f"The cells with the largest ratios of {QUESTIONS[key].name}",
    )
    if missed := missed_gains(data):
        st.markdown("**nona: most left by the bound and not gained**")
        table(
            pd.DataFrame(missed),
            "decisions-missed",
            "Cells in which the bound leaves much to be gained and nona does not gain it",
        )
    st.markdown("**By network**")
    table(pd.DataFrame(network_rows(data)), "decisions-networks", "Every network: goals kept, gaps, seconds")
    with st.expander("All cells with every scheduler", icon=":material/table:"):
        table(pd.DataFrame(cell_rows(data)).fillna("–"), "decisions-cells", "Every cell of the study")
    st.caption(plain(provenance(data)))
