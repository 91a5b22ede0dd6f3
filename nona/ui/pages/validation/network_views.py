"""Who sees the network, on the Validation page and in the Guide: the remarks checked, and the figures."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.network_views.figure import network_views_figure
from nona.report.network_views.rows import SOURCE, remark_rows, scheduler_rows
from nona.report.network_views.text import findings, provenance, scenario_text, title
from nona.schedulers.network_remarks import VIEW_MEANINGS
from nona.study.shipped import shipped_network_views
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table
from nona.ui.widgets.terms import term


def network_views_section() -> None:
    """The shipped results: the remarks with their figures, the chart, the findings, every scheduler."""
    data = shipped_network_views()
    finding = title(data)
    st.markdown(f"**{plain(finding)}.** {plain(scenario_text(data))}")
    remarks_table()
    picture(
        network_views_figure(data),
        key="network-views",
        alt=f"Mean JCT of each scheduler on an idle and on a loaded link. {finding}",
    )
    for line in findings(data):
        st.markdown(f"- {plain(line)}")
    with st.expander("Every scheduler with its intervals", icon=":material/table:"):
        rows = pd.DataFrame(scheduler_rows(data))
        table(rows, "network-views", "Every scheduler on an idle and on a loaded link")
    st.caption(plain(provenance(data)))


def remarks_table() -> None:
    """What the views mean, the slides' remarks with the two figures, and what the systems' sources say."""
    rows = pd.DataFrame(remark_rows(shipped_network_views()))
    if rows.empty:
        return
    levels = "; ".join(f"{view.name} {meaning}" for view, meaning in VIEW_MEANINGS.items())
    st.caption(f"The {term('network view')}: {plain(levels)}.")
    table(
        rows.drop(columns=SOURCE),
        "network-remarks",
        "The slides' remarks on the network, and the two figures",
    )
    with st.expander("What the systems' sources say", icon=":material/menu_book:"):
        said = ["system", "the slides say", "the remark is", SOURCE]
        table(rows[said], "network-sources", "The slides' remarks beside what the systems' sources say")
        st.caption("Recollected: from memory of the paper.")
