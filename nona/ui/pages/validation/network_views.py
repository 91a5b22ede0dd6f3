"""Who sees the network, on the Validation page and in the Guide: the remarks checked, and the figures."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.network_views.figure import network_views_figure
from nona.report.network_views.rows import SOURCE, remark_rows, scheduler_rows
from nona.report.network_views.text import findings, planned_text, provenance, scenario_text, title
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
    levels = "; ".join(f"**{view.name}** {plain(meaning)}" for view, meaning in VIEW_MEANINGS.items())
    st.markdown(
        f"The {term('network view')} of a scheduler says what it may see of the network: {levels}. The "
        "engines hide whatever lies above it: no decision of N0 to N3 depends on the queue of the link."
    )
    remarks_explained()
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


def remarks_explained() -> None:
    """What schedulers know that draw from a solved placement, and whose remarks the table holds."""
    st.caption(plain(planned_text(shipped_network_views())))
    st.markdown(
        "The slides of the talk on Nona (CloudNet 2024) say of other systems what they know of the network. "
        "The table has each remark beside the view that the system's scheduler has in this app. Two figures "
        "show what the queue out of sight costs: the mean JCT on an idle and on a loaded link, with the same "
        "jobs."
    )


def remarks_table() -> None:
    """The slides' remarks with the two figures, and what the systems' sources say."""
    rows = pd.DataFrame(remark_rows(shipped_network_views()))
    if rows.empty:
        return
    table(
        rows.drop(columns=SOURCE),
        "network-remarks",
        "The slides' remarks on the network, and the two figures",
    )
    with st.expander("What the systems' sources say", icon=":material/menu_book:"):
        said = ["system", "the slides say", "the remark is", SOURCE]
        table(rows[said], "network-sources", "The slides' remarks beside what the systems' sources say")
        st.caption("Recollected: from memory of the paper.")
