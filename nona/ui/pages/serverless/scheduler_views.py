"""The DAG schedulers of the Simulation page on the same workflows, beside the policies."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.serverless.figures.policies import pareto_figure
from nona.report.serverless.nearest import over_oracle
from nona.report.serverless.titles import pareto_title
from nona.report.serverless.words import PER, cost_text, rate_text
from nona.report.text import time_text
from nona.results.serverless.dispatch import ServerlessOutcome
from nona.results.serverless.outcome import Outcome
from nona.results.serverless.report import SchedulersReport
from nona.study.serverless.dag_schedulers import LEFT_OUT
from nona.ui.session.state import AppState
from nona.ui.shell.equivalents import equivalent
from nona.ui.shell.job_panel import job_panel, stale_note
from nona.ui.widgets.charts import chart
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table

KIND = "serverless-schedulers"


def schedulers_tab(state: AppState, data: ServerlessOutcome | None) -> None:
    """The result without batching and sizing: every function a task on the smallest slice."""
    st.markdown(
        "What if no policy batched or sized? Every function becomes a task at the smallest configuration, "
        "every vGPU an executor, and the schedulers of the Simulation page place the tasks."
    )
    st.caption(plain(f"Not the same platform: {LEFT_OUT}."))
    names = ", ".join(s.name for s in state.scenario.schedulers)
    job_panel(state, KIND, "Run the DAG schedulers")
    stale_note(state, KIND)
    found = state.held(KIND, SchedulersReport)
    equivalent(state, "serverless", "--dag-schedulers", key="serverless-schedulers")
    if found is None:
        st.caption(plain(f"The scenario's schedulers: {names}; change them on the Simulation page."))
        return
    policies = data.report.policies if data is not None else {}
    oracle = data.report.oracle if data is not None else None
    rows: dict[str, Outcome] = {**policies, **found.schedulers}
    chart(
        pareto_figure(found.schedulers, oracle),
        pareto_title(rows),
        "serverless-schedulers",
        "Share of SLOs kept against cost per 1,000 calls for every DAG scheduler, with 95 % intervals; the "
        "policies are in the table",
    )
    frame = pd.DataFrame([_row(n, p, n in policies) for n, p in rows.items()])
    table(frame, "serverless-scheduler-rows", "Every scheduler and policy with SLOs kept, cost and latency")
    if data is None:
        st.caption("Run the policies above to see them beside the schedulers.")
    elif over_oracle(rows, oracle):
        st.caption("The oracle bounds the policies; schedulers on this simpler platform may fall below it.")


def _row(name: str, p: Outcome, policy: bool) -> dict[str, str]:
    return {
        "name": name,
        "kind": "policy" if policy else "DAG scheduler",
        "state": p.state,
        "SLOs kept": rate_text(p.slo_hit_rate),
        f"$ per {PER:,} calls": cost_text(p.cost_per_call_usd),
        "mean latency": time_text(p.latency_s.mean),
        "p95": time_text(p.latency_s.p95),
    }
