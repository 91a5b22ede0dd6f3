"""The number of configurations of each sub-graph: at hand for most models, else counted on demand."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from nona.placement.idle import IdleSpan
from nona.ui.job_panel import job_panel
from nona.ui.model_views import subgraph_table
from nona.ui.models import Loaded
from nona.ui.state import AppState
from nona.ui.tables import table


def counted(state: AppState, loaded: Loaded) -> tuple[int, ...] | None:
    """The configurations of each sub-graph, if they were counted for this very model."""
    if loaded.configurations is not None:
        return loaded.configurations
    result = state.results.get("count")
    if result is None or result.fingerprint != loaded.key:
        return None
    return tuple(result.data["configurations"])


def subgraphs_with_counts(
    state: AppState, loaded: Loaded, device: str, spans: Sequence[IdleSpan] | None = None
) -> None:
    """The table of sub-graphs, and the count where it takes more than a moment."""
    counts = counted(state, loaded)
    if counts is None:
        st.caption("This model's sub-graphs are large: their configurations are counted when you ask for it.")
        options = {"model": state.model, "symbols": state.symbols.get(state.model, {}), "device": device}
        job_panel(
            state,
            "count",
            "Count the configurations",
            "count",
            options=options,
            fingerprint=loaded.key,
        )
    st.caption(
        "Times from the end of the root to the start of the sink: one after the other, the longest chain, "
        "and the best way to split over this cluster's link with nobody else on it."
    )
    table(
        subgraph_table(loaded, counts, spans),
        "subgraphs",
        "What is left to distribute: every sub-graph with its tasks, times and bytes",
    )
