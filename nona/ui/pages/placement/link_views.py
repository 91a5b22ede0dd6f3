"""Waits at the links on a message's path, on the Placement page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from nona.report.placements.figures.link_waits import link_waits_figure
from nona.report.placements.links import link_finding, link_rows
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table


def link_section(report: Mapping[str, Any]) -> None:
    """Bars and a table of the predicted waits per role; nothing where there is but one link."""
    links = report["predicted"].get("links", [])
    if len(links) < 2:
        return
    st.subheader("Where messages wait")
    finding = link_finding(links)
    st.markdown(f"**{plain(finding)}**")
    picture(
        link_waits_figure(links),
        key="link-waits",
        alt=f"Predicted wait of a mean message at each link on its path. {finding}",
    )
    table(pd.DataFrame(link_rows(links)), "link-waits-table", "Predicted waits at the links of each role")
    st.caption(
        "Modelled: each link by itself, first come first served, background included; the bars add up to "
        "the mean wait of a message."
    )
