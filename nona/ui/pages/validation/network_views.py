"""Who sees the network, on the Validation page and in the Guide: the remarks checked, and the figures."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.network_views.figure import network_views_figure
from nona.report.network_views.rows import remark_rows, scheduler_rows
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
    """The slides' remarks on other systems beside their sources, the view here, and the two figures."""
    rows = remark_rows(shipped_network_views())
    if rows:
        label = "The slides' remarks on the network, what the sources say, and the two figures"
        table(pd.DataFrame(rows), "network-remarks", label)
        levels = "; ".join(f"{view.name} {meaning}" for view, meaning in VIEW_MEANINGS.items())
        note = plain(f"{levels}. Recollected: from memory of the paper.")
        st.caption(f"The {term('network view')}: {note}")
