"""Latencies of every application against its SLO, and the times of the searches."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from nona.report.serverless.figures.policies import latency_figure, search_figure
from nona.report.serverless.titles import latency_title, search_title
from nona.report.serverless.words import dollars
from nona.report.text import or_dash, share_text
from nona.results.serverless.dispatch import ServerlessOutcome
from nona.results.serverless.outcome import PolicyOutcome
from nona.ui.pages.serverless.layout_views import choose_one
from nona.ui.session.state import AppState
from nona.ui.widgets.charts import chart
from nona.ui.widgets.tables import table

ALL = "all, each over its SLO"


def latency_tab(state: AppState, data: ServerlessOutcome) -> None:
    """Boxes of the latencies with the SLO as a line, a table, and the times of the searches."""
    policies = data.report.policies
    names = list(next(iter(policies.values())).applications)
    hint = "The application to show, in milliseconds, or all as shares of their SLOs."
    chosen = choose_one("Application", [ALL, *names], "application", hint)
    one = None if chosen == ALL else chosen
    chart(
        latency_figure(policies, one),
        latency_title(policies, one),
        "serverless-latency",
        "Latencies for each policy: box from the 25th to the 75th percentile, whiskers from the 5th to the "
        "95th, the SLO as a dashed line",
    )
    table(pd.DataFrame(latency_rows(policies)), "serverless-latencies", "Latencies of every application")
    searches = {name: p.search_s for name, p in policies.items()}
    chart(
        search_figure(searches),
        search_title(searches),
        "serverless-searches",
        "Charged time of a search for each policy: mean, median, 95th and 99th percentile; the slides' 10 ms "
        "as a dashed line",
    )
    st.caption("A search's time is modelled from the paths it examined; the jobs of its queue wait for it.")


def latency_rows(policies: Mapping[str, PolicyOutcome]) -> list[dict[str, str | float | None]]:
    """A row for each policy and application, times in milliseconds."""
    rows: list[dict[str, str | float | None]] = []
    for name, policy in policies.items():
        for app, r in policy.applications.items():
            t = r.latency_s
            shown = {"mean": t.mean, "p5": t.p5, "p50": t.p50, "p95": t.p95, "p99": t.p99}
            latency = {
                f"{key}, ms": None if value is None else round(1e3 * value, 3) for key, value in shown.items()
            }
            rows.append(
                {
                    "policy": name,
                    "application": app,
                    "SLO, ms": round(1e3 * r.slo_s, 3),
                    "SLOs kept": or_dash(r.slo_hit_rate, lambda share: share_text(share, 1)),
                    **latency,
                    "$ per 1,000 calls": dollars(r.cost_per_call_usd),
                }
            )
    return rows
