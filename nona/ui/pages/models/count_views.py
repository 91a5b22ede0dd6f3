"""The number of configurations of each sub-graph: at hand for most models, else counted on demand."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from nona.placement.enumeration.idle_spans import IdleSpan
from nona.results.model import ConfigurationCounts
from nona.ui.loaded.loading import Loaded
from nona.ui.pages.models.views import subgraph_table
from nona.ui.session.state import AppState
from nona.ui.shell.job_panel import job_panel
from nona.ui.widgets.tables import table

HINTS = {
    "on one server µs": "All its tasks one after the other.",
    "saved at most µs": "What splitting saves of that if transfers were free: down to the longest chain.",
    "saved over the link µs": "What the best split saves over this cluster's link without other traffic; "
    "0: none is faster than one server.",
    "longest chain µs": "The least time of any split if transfers were free.",
    "best split µs": "The best split over this cluster's link without other traffic; one server counts too.",
    "border kB": "Distinct tensors from its root into it, and from it into its sink.",
}
ON_DEMAND = ("longest chain µs", "best split µs", "border kB")


def counted(state: AppState, loaded: Loaded) -> tuple[int, ...] | None:
    """The configurations of each sub-graph, if they were counted for this very model."""
    if loaded.configurations is not None:
        return loaded.configurations
    result = state.held("count", ConfigurationCounts)
    if result is None or state.results["count"].fingerprint != loaded.key:
        return None
    return result.configurations


def subgraphs_with_counts(
    state: AppState, loaded: Loaded, device: str, spans: Sequence[IdleSpan] | None = None
) -> None:
    """The table of sub-graphs, and the count where it takes more than a moment."""
    counts = counted(state, loaded)
    if counts is None:
        st.caption("This model's sub-graphs are large: their configurations are counted on request.")
        options = {"model": state.model, "symbols": state.symbols.get(state.model, {}), "device": device}
        job_panel(
            state,
            "count",
            "Count the configurations",
            options=options,
            fingerprint=loaded.key,
        )
    st.caption("Times run from the end of a sub-graph's root to the start of its sink.")
    frame = subgraph_table(loaded, counts, spans)
    table(
        frame,
        "subgraphs",
        "What is left to distribute: every sub-graph with its tasks, times and bytes",
        deciding=[name for name in frame.columns if name not in ON_DEMAND],
        column_config={
            name: st.column_config.NumberColumn(name, format="%.1f", help=hint)
            for name, hint in HINTS.items()
        },
    )
