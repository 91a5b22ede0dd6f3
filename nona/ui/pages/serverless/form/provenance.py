"""Where the defaults are from, and how sure each is."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.serverless.provenance import TAGS, provenance
from nona.ui.pages.serverless.form.function_rows import function_rows
from nona.ui.session.state import AppState
from nona.ui.widgets.tables import table


def provenance_panel(state: AppState) -> None:
    """Every default of the platform and of the shipped functions with its source."""
    panel = st.expander(
        "Where the defaults are from", icon=":material/source:", on_change="rerun", key="provenance-open"
    )
    if not panel.open:
        return
    rows = [
        {
            "default": d.key.removeprefix("serverless."),
            "value": d.value,
            "how sure": d.tag,
            "source": d.source,
            "where to change it": d.where,
        }
        for d in provenance()
    ]
    with panel:
        st.markdown("\n".join(f"* **{tag}**: {meaning}" for tag, meaning in TAGS.items()))
        alt = "Every default of the serverless model: value, how sure it is, source, where to change it"
        table(pd.DataFrame(rows), "serverless-defaults", alt)
        st.markdown("**Functions**")
        alt = "The shipped functions: time at the smallest configuration, cold start, input, source"
        table(pd.DataFrame(function_rows()), "serverless-functions", alt)
