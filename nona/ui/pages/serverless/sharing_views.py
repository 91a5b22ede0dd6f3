"""The same workload under every way of sharing the GPUs, side by side."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.gpu_sharing.registry import WAYS
from nona.report.figures.compare import dots_figure
from nona.report.serverless.ways import cost_dots, hit_dots, under_ways, way_rows, ways_title
from nona.results.serverless.dispatch import ServerlessOutcome
from nona.results.serverless.report import WaysReport
from nona.study.serverless.sharing import ways_for
from nona.ui.pages.serverless.layout_views import choose_one
from nona.ui.session.state import AppState
from nona.ui.shell.equivalents import equivalent
from nona.ui.shell.job_panel import job_panel
from nona.ui.tasks.serverless_asked import WaysAsked
from nona.ui.widgets.charts import chart
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table

KIND = "serverless-sharing"
MOST_CALLS, MOST_RUNS = 4000, 3


def sharing_tab(state: AppState, data: ServerlessOutcome | None) -> None:
    """One policy, and a button that runs it under each way of sharing."""
    st.markdown(
        "One policy, the same calls and the same noise; only the way in which functions share a GPU changes."
    )
    policies = [p.name for p in state.scenario.serverless.policies] if state.scenario.serverless else []
    size = state.scenario.simulation
    with st.grid(3, min_column_width=170):
        with st.container():
            policy = choose_one(
                "Policy to compare with",
                policies,
                "way-policy",
                "The policy to run under each way of sharing.",
            )
        with st.container():
            hint = f"In each run; at most {MOST_CALLS:,} here. More calls narrow the intervals."
            calls = st.number_input(
                "Calls in each run",
                10,
                MOST_CALLS,
                min(size.jobs, 1500),
                100,
                key="serverless-shown-way-calls",
                help=hint,
            )
        with st.container():
            runs = st.number_input(
                "Runs of each way",
                1,
                20,
                MOST_RUNS,
                1,
                key="serverless-shown-way-runs",
                help="2 or more: intervals.",
            )
    asked = WaysAsked(policy=policy, calls=int(calls), replications=int(runs))
    mark = f"{state.fingerprint(KIND)} {policy} {calls} {runs}"
    job_panel(state, KIND, "Compare the ways of sharing", options=asked.to_json(), fingerprint=mark)
    found = state.held(KIND, WaysReport)
    if found is None:
        st.caption(
            "MIG isolates but restricts placement. MPS fits any size; where the caps may add up to more than "
            "the GPU (oversubscription above 1), clients slow each other down."
        )
    else:
        if state.results[KIND].fingerprint != mark:
            st.caption("This comparison is for settings other than those above; run it again.")
        _answer(found)
    equivalent(state, "serverless", *(w for m in ways_for() for w in ("--sharing", m)), key=KIND)


def _answer(data: WaysReport) -> None:
    ways = under_ways(data)
    st.subheader(plain(ways_title(ways, data.policy)), anchor=False)
    with st.grid(2, min_column_width=330):
        with st.container():
            figure = dots_figure(hit_dots(ways), "SLOs kept, %", most=100.0)
            alt = "Share of SLOs kept under each way of sharing, with 95 % intervals"
            chart(figure, "SLOs kept", "way-hits", alt)
        with st.container():
            figure = dots_figure(cost_dots(ways), "US dollars per 1,000 calls")
            alt = "Cost of 1,000 calls under each way of sharing, with 95 % intervals"
            chart(figure, "Cost", "way-costs", alt)
    table(pd.DataFrame(way_rows(ways)), "serverless-ways", "Every way of sharing with its figures")
    st.caption(" ".join(f"{w.title}: {w.about}." for w in WAYS.values() if w.name in ways))
