"""The result's first tab: tiles, hit rate against cost, every policy in a table, checks."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from nona.report.serverless.figures.policies import pareto_figure
from nona.report.serverless.nearest import oracle_title
from nona.report.serverless.platform_use import container_rows, memory_rows, transfer_rows
from nona.report.serverless.words import (
    PER,
    call_cost,
    cost_text,
    dollars,
    hit_cost,
    overloaded,
    ranked,
    rate_text,
)
from nona.report.text import share_text
from nona.results.serverless.dispatch import ServerlessOutcome
from nona.results.serverless.outcome import PolicyOutcome
from nona.results.serverless.report import ServerlessReport
from nona.ui.pages.serverless.run_downloads import serverless_downloads
from nona.ui.session.state import AppState
from nona.ui.shell.progress import duration
from nona.ui.widgets.charts import chart
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table
from nona.ui.widgets.tiles import tiles
from nona.units import format_time

Cell = str | float | None
DECIDING = ("policy", "state", "SLOs kept", f"$ per {PER:,} calls", "mean latency", "p95", "cold starts")


def policies_tab(state: AppState, data: ServerlessOutcome) -> None:
    """Which policy keeps the SLOs, and at what cost."""
    report = data.report
    _overloads(report)
    chart(
        pareto_figure(report.policies, report.oracle),
        oracle_title(report.policies, report.oracle),
        "serverless-pareto",
        "Share of SLOs kept against cost per 1,000 calls for each policy, with 95 % intervals, and the "
        "oracle's cost as a dashed line. Up and to the left is better.",
    )
    tiles(_tiles(report))
    rows = pd.DataFrame(policy_rows(report))
    alt = "Every policy: hits, costs, latencies, misses, cold starts, searches"
    table(rows, "serverless-policies", alt, deciding=DECIDING)
    _use(report)
    if report.oracle is not None:
        least = dollars(report.oracle.cost_per_call_usd)
        st.caption(plain(f"Oracle: {least} per {PER:,} calls, with {report.oracle.how}."))
    if report.checks:
        _checks(report)
    serverless_downloads(state, data)


def _use(report: ServerlessReport) -> None:
    """Tables of what only some scenarios model."""
    if rows := transfer_rows(report.policies):
        st.markdown("**Transfers over the network**")
        alt = "Every policy: mean transfer, its wait, utilisation of the core and of the busiest link"
        table(pd.DataFrame(rows), "serverless-transfers", alt)
    if rows := container_rows(report.policies):
        st.markdown("**Containers: executing and idle**")
        alt = "Every policy: cost of executing and of idle containers, shares of the containers' time"
        table(pd.DataFrame(rows), "serverless-containers", alt)
    if rows := memory_rows(report.policies):
        st.markdown("**Memory of nodes**")
        alt = "Every policy: share of the nodes' memory that containers hold, evictions per batch"
        table(pd.DataFrame(rows), "serverless-memory", alt)


def _overloads(report: ServerlessReport) -> None:
    names = overloaded(report.policies)
    if names:
        st.warning(
            f"{plain(', '.join(names))}: queues keep growing, so the figures depend on the length of the "
            "run. Fewer calls per second, more nodes or smaller batches would help.",
            icon=":material/trending_up:",
        )


def _tiles(report: ServerlessReport) -> list[tuple[str, str, str]]:
    policies, made = report.policies, []
    for name, usd in _first(ranked(policies, call_cost)):
        made.append((f"Least per {PER:,} calls", dollars(usd), f"By {name}."))
    for name, usd in _first(ranked(policies, hit_cost)):
        made.append((f"Least per {PER:,} hits", dollars(usd), f"By {name}: cost over SLOs kept."))
    oracle = None if report.oracle is None else report.oracle.cost_per_call_usd
    if oracle is not None:
        made.append(
            ("Oracle", dollars(oracle), f"No policy that keeps its SLOs pays less per {PER:,} calls.")
        )
    if report.checks:
        failed = [n for n, ok in report.checks.items() if not ok]
        hint = ", ".join(failed) or f"All {len(report.checks)} checks of every run held."
        made.append(("Self-checks", "failed" if failed else "passed", hint))
    return made


def _first(values: Mapping[str, float]) -> list[tuple[str, float]]:
    """The best of ranked policies with its value, if there is one."""
    return list(values.items())[:1]


def policy_rows(report: ServerlessReport) -> list[dict[str, Cell]]:
    """A row for each policy, in the order of the scenario."""
    stand = any(p.standing is not None for p in report.policies.values())
    return [_row(name, p) | (_standing(p) if stand else {}) for name, p in report.policies.items()]


def _standing(p: PolicyOutcome) -> dict[str, Cell]:
    s = p.standing
    if s is None:
        return {"instances": "–", "idle": "–"}
    return {
        "instances": "–" if s.instances is None else f"{s.instances:.3g}",
        "idle": _share(s.idle_share),
    }


def _row(name: str, p: PolicyOutcome) -> dict[str, Cell]:
    search, miss = p.search_s, p.configuration_miss_rate
    return {
        "policy": name,
        "state": p.state,
        "SLOs kept": rate_text(p.slo_hit_rate),
        f"$ per {PER:,} calls": cost_text(p.cost_per_call_usd),
        f"$ per {PER:,} hits": cost_text(p.cost_per_hit_usd),
        "mean latency": _time(p.latency_s.mean),
        "p95": _time(p.latency_s.p95),
        "p99": _time(p.latency_s.p99),
        "configuration misses": "–" if miss is None else _share(miss.mean),
        "cold starts": _share(p.cold_start_rate),
        "local inputs": _share(p.locality),
        "mean search": _time(search.mean),
        "search p99": _time(search.p99),
        "mean batch": "–" if p.mean_batch is None else f"{p.mean_batch:.3g}",
        "vCPUs held": _share(p.utilization.vcpu),
        "vGPUs held": _share(p.utilization.vgpu),
        "forced": p.forced,
        "rechecks": p.rechecks,
        "in flight": p.calls.in_flight,
        "dropped": p.calls.dropped,
    }


def _time(seconds: float | None) -> str:
    return "–" if seconds is None else format_time(seconds)


def _share(share: float | None) -> str:
    return "–" if share is None else share_text(share, 1)


def _checks(report: ServerlessReport) -> None:
    checks = report.checks
    failed = [name for name, ok in checks.items() if not ok]
    if failed:
        st.error(f"Self-checks failed: {plain(', '.join(failed))}.", icon=":material/error:")
        return
    setting = report.setting
    for note in setting.notes:
        st.caption(plain(note))
    st.caption(
        f"{setting.replications} runs of {setting.calls:,} calls under each policy, simulated in "
        f"{duration(report.seconds)}; {len(checks)} self-checks of the records passed."
    )
