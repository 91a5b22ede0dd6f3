"""The Placement page on executor classes: load and wait of each, who runs where, memory of replicas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from nona.report.placements.servers import (
    class_rows,
    memory_finding,
    replica_rows,
    servers_finding,
    share_rows,
)
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table


def servers_section(report: Mapping[str, Any]) -> None:
    """Executor classes, the shares of the models on them, and the replicas of their weights."""
    st.subheader("Executors and memory")
    st.markdown(f"**{plain(servers_finding(report))}. {plain(memory_finding(report))}.**")
    table(pd.DataFrame(class_rows(report)), "classes", "Executor classes with their load, wait and memory")
    shares = share_rows(report)
    if shares:
        st.markdown(
            "Every server of a query, its first and one for each part, is drawn with these probabilities, "
            "then uniformly within its class:"
        )
        table(pd.DataFrame(shares), "shares", "Probability of each executor class, model by model")
    with st.expander("Replicas of weights", icon=":material/memory:"):
        st.caption(
            "An executor holds all weights of every model that may run on it, as it may get any part; "
            "rows with the same model share them. Only weights are counted, at the precision of the cost "
            "model: leave room for activations and the runtime. The schedulers random, jsq-d, "
            "opportunistic, priority, spark-fair and spark-fifo use every executor as if it held all "
            "models."
        )
        table(
            pd.DataFrame(replica_rows(report)),
            "replicas",
            "Weights of each model, and how many executors hold them",
        )
