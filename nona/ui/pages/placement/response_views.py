"""How long jobs take, beyond the mean: percentiles and SLO misses, and where that was not tested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from nona.report.placements.certificate_text import is_sampled
from nona.report.placements.response_text import response_finding, response_rows
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table


def response_section(report: Mapping[str, Any]) -> None:
    """The finding, a warning outside the tested region, and a row for each model."""
    response = report.get("response")
    if not response:
        return
    st.subheader("How long a job takes")
    st.markdown(f"**{plain(response_finding(response, not is_sampled(report)))}.**")
    if response["warning"]:
        st.warning(plain(response["warning"]), icon=":material/travel_explore:")
    rows = response_rows(response, report["models"])
    table(pd.DataFrame(rows), "response", "Predicted completion times of each model")
    st.caption(
        "Sampled jobs meet random waits and wait for the slowest of several branches; the formula, which "
        "has the certificate, uses mean waits. The Validation page compares both with the simulation."
    )
