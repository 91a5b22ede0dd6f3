"""The result: policies, latencies, GPU layouts over time, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from nona.app.session.state import AppState
from nona.app.session.workspace import jobs
from nona.app.store.contents import scenario_of
from nona.app.widgets import fields as choose
from nona.app.widgets.downloads import Files, file_stem, kept_files, reports
from nona.app.widgets.fields import plain
from nona.app.widgets.results import chart, table, tiles
from nona.cluster.sharing.registry import SHARING_MODES
from nona.core.text import count_text
from nona.core.units import duration
from nona.planning.servers import cost_note
from nona.queries.workflows.exports import TRACE
from nona.serverless.chart_data import LayoutNode, ServerlessOutcome
from nona.serverless.report import findings
from nona.serverless.report.figures import latency_figure, layouts_figure, pareto_figure, search_figure
from nona.serverless.report.html import serverless_html
from nona.serverless.report.layouts import DrawnBatch, clipped, layouts_title, placed, stranded_spans
from nona.serverless.report.text import PARTS, POLICIES, applications
from nona.serverless.results import ServerlessReport
from nona.serverless.workflows.run import CALLS_CSV, CALLS_PARQUET


def layouts_tab(state: AppState, data: ServerlessOutcome) -> None:
    """Draw the tab with the batches on the GPUs of a node."""
    layouts = data.layouts
    left, right = st.columns(2)
    with left:
        policy = choose_one("Policy", list(layouts.rows), "policy", "The policy to show.")
    rows = layouts.rows[policy]
    with right:
        used = sorted({r.invoker for r in rows}) or [0]
        number = choose_one("Node", [f"node {k}" for k in used], "invoker", "The worker node to show.")
    invoker = int(number.removeprefix("node "))
    node, mode = layouts.nodes[invoker], layouts.mode
    seconds = st.slider(
        "Seconds shown",
        1,
        60,
        8,
        key="serverless-shown-seconds",
        help="From the start of the measured window; longer batches are cut off.",
    )
    for gpu in range(node.gpus):
        own = [r for r in rows if r.invoker == invoker and r.gpu == gpu]
        shown = _Shown(policy, gpu, mode, node, layouts.applications, seconds)
        _gpu(clipped(placed(own), seconds), shown)
    st.caption(
        "Hatched at the left of a batch: slice creation, container start and input transfer. "
        + (
            "Crossed: free memory slices that no further MIG profile can use."
            if SHARING_MODES.find(mode).sets_up
            else "Slices need valid positions, and can be stranded, only with sharing by "
            f"{' or '.join(f'“{w.title}”' for w in SHARING_MODES.values() if w.sets_up)}."
        )
    )


@dataclass(frozen=True, slots=True)
class _Shown:
    """The drawn GPU: under ``policy`` and ``mode`` of sharing, for its first ``seconds``."""

    policy: str
    gpu: int
    mode: str
    node: LayoutNode
    applications: Sequence[str]
    seconds: int


def _gpu(rows: Sequence[DrawnBatch], of: _Shown) -> None:
    way, node = SHARING_MODES.find(of.mode), of.node
    cells = max([node.memory if way.sliced else node.vgpus, *(r.high for r in rows)])
    until_s = max((r.to_s for r in rows), default=0.0)
    lost = stranded_spans(rows, node.board, until_s) if way.sets_up else []
    title = layouts_title(rows, lost, cells)
    unit = "memory slice" if way.sliced else "vGPU"
    alt = (
        f"Batches on GPU {of.gpu} of the node over its first {of.seconds} seconds under {of.policy}, by "
        f"application; {unit}s from 0 to {cells - 1}"
    )
    name = f"GPU {of.gpu}: {title}" if node.gpus > 1 else title
    chart(layouts_figure(rows, lost, cells, of.applications, unit), name, f"layout-{of.gpu}", alt)


def choose_one(label: str, options: list[str], name: str, hint: str) -> str:
    """Draw a choice that the session keeps, and return the chosen option."""
    return choose.choose_one(label, options, f"serverless-shown-{name}", hint)


CALLS_TEXT = "A row per measured call: policy, replication, application, arrival, latency, SLO, cost."
KEPT_FILES = {
    TRACE: ("Trace (Perfetto)", "The batches of the first calls on every node; open it in ui.perfetto.dev."),
    CALLS_CSV: ("Calls (CSV)", CALLS_TEXT),
    CALLS_PARQUET: ("Calls (Parquet)", CALLS_TEXT),
}


def files(state: AppState, data: ServerlessOutcome) -> Files:
    """Return the files of a run; those with every call are kept as long as its job is known."""
    result = state.results.get("serverless")
    job = None if result is None else jobs().get(result.job_id)
    name = f"{file_stem(data.about.name)}_serverless"
    calls = kept_files(job.folder, name, KEPT_FILES) if job is not None else []
    page = reports(data.about, data.report, lambda: serverless_html(data), "serverless", "serverless")
    title = "Every measured call" if calls else "Call tables and trace are no longer kept: run again for them"
    return {"To read and to share": page, title: calls}


def policies_tab(state: AppState, data: ServerlessOutcome) -> None:
    """Draw the tab that compares hit rate, cost and cold starts of the policies."""
    report = data.report
    _overloads(report)
    chart(
        pareto_figure(report.policies, report.oracle),
        findings.oracle_title(report.policies, report.oracle),
        "serverless-pareto",
        "Share of SLOs kept against cost per 1,000 calls for each policy, with 95 % intervals, and the "
        "oracle's cost as a dashed line. Up and to the left is better.",
    )
    tiles(_headline_figures(report))
    st.caption(plain(cost_note(scenario_of(data))))
    alt = "Every policy: hits, costs, latencies, misses, cold starts, searches"
    table(POLICIES.fill(report.policies), "serverless-policies", alt)
    _use(report)
    if report.oracle is not None:
        least = findings.dollars(report.oracle.cost_per_call_usd)
        st.caption(plain(f"Oracle: {least} per {findings.PER:,} calls, with {report.oracle.how}."))
    if report.checks:
        _checks(report)


def _use(report: ServerlessReport) -> None:
    for part in PARTS:
        if rows := part.filled(report.policies):
            st.markdown(f"**{part.title}**")
            table(
                rows,
                f"serverless-{part.table.columns[0].heading}",
                f"{part.title}: every policy",
            )


def _overloads(report: ServerlessReport) -> None:
    names = findings.overloaded(report.policies)
    if names:
        st.warning(
            f"{plain(', '.join(names))}: queues keep growing, so the figures depend on the run's length. "
            "Fewer calls per second, more nodes or smaller batches help.",
            icon=":material/trending_up:",
        )


def _headline_figures(report: ServerlessReport) -> list[tuple[str, str, str]]:
    """Return title, value and hint of the figures above the results."""
    policies, figures = findings.not_overloaded(report.policies), []
    for name, usd in _first(findings.ranked(policies, findings.call_cost)):
        figures.append((f"Least per {findings.PER:,} calls", findings.dollars(usd), f"By {name}."))
    for name, usd in _first(findings.ranked(policies, findings.hit_cost)):
        figures.append(
            (f"Least per {findings.PER:,} hits", findings.dollars(usd), f"By {name}: cost over SLOs kept.")
        )
    oracle = None if report.oracle is None else report.oracle.cost_per_call_usd
    if oracle is not None:
        figures.append(
            (
                "Oracle",
                findings.dollars(oracle),
                f"No policy that keeps its SLOs pays less per {findings.PER:,} calls.",
            )
        )
    if report.checks:
        failed = [n for n, ok in report.checks.items() if not ok]
        hint = ", ".join(failed) or f"All {len(report.checks)} checks of every run held."
        figures.append(("Self-checks", "failed" if failed else "passed", hint))
    return figures


def _first(values: Mapping[str, float]) -> list[tuple[str, float]]:
    return list(values.items())[:1]


def _checks(report: ServerlessReport) -> None:
    checks = report.checks
    failed = [name for name, ok in checks.items() if not ok]
    if failed:
        st.error(f"Self-checks failed: {plain(', '.join(failed))}.", icon=":material/error:")
        return
    setting = report.setting
    st.caption(
        f"{count_text(setting.replications, 'run')} of {setting.calls:,} calls under each policy, "
        "simulated in "
        f"{duration(report.seconds)}; {len(checks)} self-checks of the records passed."
    )


ALL = "all, each over its SLO"


def latency_tab(state: AppState, data: ServerlessOutcome) -> None:
    """Draw the tab with the latencies of the applications and of searches."""
    policies = data.report.policies
    names = list(next(iter(policies.values())).applications)
    hint = "The application to show, in milliseconds, or all as shares of their SLOs."
    chosen = choose_one("Application", [ALL, *names], "application", hint)
    one = None if chosen == ALL else chosen
    chart(
        latency_figure(policies, one),
        "Latency",
        "serverless-latency",
        "Latencies for each policy: box from the 25th to the 75th percentile, whiskers from the 5th to the "
        "95th, the SLO as a dashed line",
    )
    table(applications(policies), "serverless-latencies", "Latencies of every application")
    searches = {name: p.search_s for name, p in policies.items()}
    chart(
        search_figure(searches),
        "Time of a search",
        "serverless-searches",
        "Charged time of a search for each policy: mean, median, 95th and 99th percentile; the slides' 10 ms "
        "as a dashed line",
    )
    st.caption(
        "The time of a search is modelled from the paths it examines; jobs in its queue wait meanwhile."
    )
