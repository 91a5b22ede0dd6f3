"""Prediction against simulation on the Validation page: the map, its finding, its numbers."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.prediction_map.figure import map_figure
from nona.report.prediction_map.rows import MEASURES, point_rows, summary_rows
from nona.report.prediction_map.text import WHICH, findings, provenance, title
from nona.study.shipped import shipped_map
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table


def prediction_section() -> None:
    """The stored map as a chart with its finding, the findings, and two tables."""
    data = shipped_map()
    st.markdown(WHICH)
    measure = st.segmented_control(
        "Prediction of",
        list(MEASURES),
        default="mean_s",
        format_func=MEASURES.__getitem__,
        key="map-measure",
        help="The prediction that the map compares with the simulation.",
    )
    chosen = measure or "mean_s"
    finding = title(data, chosen)
    st.markdown(f"**{plain(finding)}**")
    picture(
        map_figure(data, chosen),
        key=f"map-{chosen}",
        alt=f"Error of the prediction, per cent, by scenario, placement and load. {finding}",
    )
    for line in findings(data):
        st.markdown(f"- {plain(line)}")
    table(pd.DataFrame(summary_rows(data)), "prediction-map", "Points within the bounds, by scenario")
    with st.expander("All points with their intervals", icon=":material/table:"):
        table(pd.DataFrame(point_rows(data)), "prediction-points", "Every point of the map")
    st.caption(plain(provenance(data)))
