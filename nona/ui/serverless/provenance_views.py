"""Where the defaults are from, and how sure each is."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.serverless.catalogue import function_names, shipped_function
from nona.serverless.configuration import grid
from nona.ui.session.state import AppState
from nona.ui.widgets.tables import table


def provenance_panel(state: AppState) -> None:
    """Every default of the platform and of the shipped functions with its source."""
    panel = st.expander(
        "Where the defaults are from", icon=":material/source:", on_change="rerun", key="provenance-open"
    )
    if not panel.open:
        return
    with panel:
        st.markdown("**Functions**")
        alt = "The shipped functions: time at the smallest configuration, cold start, input, source"
        table(pd.DataFrame(function_rows()), "serverless-functions", alt)


def function_rows() -> list[dict[str, object]]:
    """A row for each shipped function; what is not confirmed by a readable text says so.

    >>> function_rows()[0]["time, ms"]
    86.0
    """
    smallest = grid([1], [1], [1])
    rows: list[dict[str, object]] = []
    for name in function_names():
        f = shipped_function(name)
        if f is None:
            continue
        cpu, gpu = f.seconds(smallest)
        rows.append(
            {
                "function": name,
                "time, ms": round(1e3 * float(cpu[0] + gpu[0]), 3),
                "cold start, s": f.cold_start_s,
                "input, MB": f.input_bytes / 1e6,
                "confirmed": ", ".join(f.confirmed) or "nothing",
                "source": f"{f.source}; what is not confirmed is recollected",
            }
        )
    return rows
