"""Placement: which parts of a query run where, the certificate, the prediction, and what it is against."""

import streamlit as st

from nona.placement.solve import SOLVERS
from nona.report.figures_placement import comparison_figure, jct_split_figure
from nona.ui.job_panel import job_panel, result_of
from nona.ui.placement_views import (
    certificate_tiles,
    comparison_table,
    configurations_of,
    download_report,
    model_table,
    price_statement,
    verdict,
)
from nona.ui.widgets import plain
from nona.ui.workspace import current

state = current()
st.caption(
    "For every sub-graph a probability for each configuration, such that the mean completion time over the "
    "whole mix is least, waits at the link and at the servers included."
)
job_panel(state, "place", "Solve the placement", "solve")
data = result_of(state, "place", "placement")
if data is None:
    st.info(f"No placement yet. Solvers known: {', '.join(SOLVERS)}; the certified one is used here.")
    st.stop()

report = data["nona"]
certificate_tiles(report)
st.markdown(plain(verdict(data)))
for note in report["notes"]:
    st.caption(plain(note))

left, right = st.columns([3, 2])
with left:
    st.subheader("What the time is made of")
    st.plotly_chart(
        jct_split_figure(report["models"]), key="split", alt="Predicted JCT of each model by its parts"
    )
with right:
    st.subheader("Against local and spread")
    st.plotly_chart(
        comparison_figure({"nona": report, "local": data["local"], "spread": data["spread"]}),
        key="comparison",
        alt="Predicted mean JCT of the solved placement, of local and of spread",
    )
st.dataframe(comparison_table(data), hide_index=True, key="comparison-table")
st.markdown(plain(price_statement(report["predicted"])))

st.subheader("What splitting can gain at most")
st.caption(
    "Parallelism is the time of all operators one after the other over that of the longest chain: what "
    "splitting one query could save if transfers and waits cost nothing."
)
st.dataframe(model_table(data["models"]), hide_index=True, key="gain")

st.subheader("Configurations and their probabilities")
configurations_of(state, report)
download_report(data)
