"""How many nodes keep a target, and what they cost an hour: the question, the answer, all that was tried."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.serverless.figures.nodes import nodes_figure
from nona.report.serverless.nodes import nodes_finding, nodes_rows
from nona.results.serverless.dispatch import ServerlessOutcome
from nona.results.serverless.nodes import NodesReport
from nona.ui.pages.serverless.layout_views import choose_one
from nona.ui.session.state import AppState
from nona.ui.shell.equivalents import equivalent
from nona.ui.shell.job_panel import job_panel
from nona.ui.tasks.serverless_asked import NodesAsked
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table

KIND = "serverless-nodes"
TARGETS = {"90 %": 0.9, "95 %": 0.95, "98 %": 0.98, "99 %": 0.99, "99.9 %": 0.999}
EVERY = "every policy of the scenario"


def nodes_tab(state: AppState, data: ServerlessOutcome | None) -> None:
    """Target, policy and size; then the fewest nodes whose whole interval keeps the target."""
    names = [p.name for p in state.scenario.serverless.policies] if state.scenario.serverless else []
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        target = st.segmented_control(
            "SLOs to keep",
            list(TARGETS),
            default="99 %",
            required=True,
            key="serverless-shown-target",
            help="Required share of calls within their SLO; its whole 95 % interval must reach it.",
        )
    with right:
        who = choose_one("Under", [EVERY, *names], "node-policy", "Each policy needs its own search.")
    with st.grid(2, min_column_width=170):
        with st.container():
            hint = "Of each run; 4 to 16 runs per count, as many as a verdict needs."
            calls = st.number_input(
                "Calls of a run", 50, 20_000, 600, 50, key="serverless-shown-node-calls", help=hint
            )
        with st.container():
            hint = "Larger counts are not tried."
            most = st.number_input(
                "Nodes at most", 1, 256, 64, 1, key="serverless-shown-most-nodes", help=hint
            )
    share = TARGETS[str(target or "99 %")]
    chosen = names if who == EVERY else [who]
    asked = NodesAsked(target=share, policies=tuple(chosen), calls=int(calls), most=int(most))
    mark = f"{state.fingerprint(KIND)} {asked}"
    job_panel(state, KIND, "Find the fewest nodes", options=asked.to_json(), fingerprint=mark)
    report = state.held(KIND, NodesReport)
    if report is None:
        st.caption(
            "Doubles the first group of nodes until the target holds, bisects to the fewest, and checks "
            "the neighbouring counts, each by simulation with the same random numbers."
        )
    else:
        if state.results[KIND].fingerprint != mark:
            st.caption("This answer is for settings other than those above; search again.")
        _answer(report)
    equivalent(state, "serverless", "--nodes-for", f"{100 * share:g}%", "--most", str(most), key=KIND)


def _answer(report: NodesReport) -> None:
    finding = nodes_finding(report)
    st.subheader(plain(finding), anchor=False)
    alt = f"Share of SLOs kept over the number of nodes, with intervals, and the target dashed. {finding}"
    picture(nodes_figure(report), "serverless-nodes-figure", alt)
    table(pd.DataFrame(nodes_rows(report)), "serverless-nodes-table", "Every number of nodes that was tried")
    st.caption(
        "“not told apart”: the interval still contains the target after all runs, which counts as not "
        "kept. The cluster is paid for even when idle; “$ an hour held” is the cost of "
        "the resources that batches held."
    )
