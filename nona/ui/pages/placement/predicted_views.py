"""What is predicted of a placement: how long jobs take, where messages wait, who runs and holds what."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.placements.figures.link_waits import link_waits_figure
from nona.report.placements.links import link_finding, link_rows
from nona.report.placements.response_text import response_finding, response_rows
from nona.report.placements.servers import (
    class_rows,
    memory_finding,
    replica_rows,
    servers_finding,
    share_rows,
)
from nona.results.placement.report import FullPlacementReport, PlacementReport
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table


def response_section(report: FullPlacementReport) -> None:
    """The finding, a warning outside the tested region, and a row for each model."""
    response = report.response
    st.subheader("How long a job takes")
    st.markdown(f"**{plain(response_finding(response))}.**")
    if response.warning:
        st.warning(plain(response.warning), icon=":material/travel_explore:")
    rows = response_rows(response, report.models)
    table(pd.DataFrame(rows), "response", "Predicted completion times of each model")
    st.caption(
        "Sampled jobs meet random waits and wait for the slowest of several branches; the formula, which "
        "has the certificate, uses mean waits. The Validation page compares both with the simulation."
    )


def link_section(report: PlacementReport) -> None:
    """Bars and a table of the predicted waits per role; nothing where there is but one link."""
    links = report.predicted.links
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


def servers_section(report: PlacementReport) -> None:
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
            "opportunistic, priority, sparrow, tetris, spark-fair and spark-fifo use every executor as if "
            "it held all models."
        )
        table(
            pd.DataFrame(replica_rows(report)),
            "replicas",
            "Weights of each model, and how many executors hold them",
        )
