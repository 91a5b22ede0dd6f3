"""The result of a simulation in tabs, of which only the open one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd
import streamlit as st

from nona.report.figures.compare import dots_figure
from nona.report.simulations.figures.gantt import MOST_JOBS, are_rare, gantt_figure, gantt_title
from nona.report.simulations.figures.hits_over_time import hits_over_time_figure, hits_over_time_title
from nona.report.simulations.figures.parts import parts_figure
from nona.report.simulations.figures.simulation import (
    ecdf_figure,
    executor_figure,
    jct_over_time_figure,
    utilisation_figure,
)
from nona.report.simulations.simulated import SimulatedRun
from nona.report.simulations.titles import (
    ecdf_title,
    executors_title,
    jct_dots,
    jct_title,
    over_time_title,
    parts_title,
    percentile_rows,
    utilisation_title,
)
from nona.ui.pages.cluster.link_views import busiest_links_panel
from nona.ui.pages.cluster.load_views import cluster_result
from nona.ui.pages.simulation.downloads import run_downloads
from nona.ui.pages.simulation.statistics_views import differences_panel, sure_tab, warmup_panel
from nona.ui.pages.simulation.views import checks_panel
from nona.ui.session.runs import Kept
from nona.ui.session.state import AppState
from nona.ui.widgets.charts import chart
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table


def result_tabs(state: AppState, run: Kept) -> None:
    """All that a run gives beyond its headline, each tab with its mark."""
    tabs = st.tabs(list(TABS), on_change="rerun", key="result-tabs")
    for tab, draw in zip(tabs, TABS.values(), strict=True):
        if tab.open:
            with tab:
                draw(state, run.data)
                st.caption(plain(run.mark))


def _compare(state: AppState, data: SimulatedRun) -> None:
    found = data.report.schedulers
    figure = dots_figure(jct_dots(found), "mean JCT, ms")
    chart(
        figure, jct_title(found, data.differences), "jct", "Mean JCT of each scheduler with its 95 % interval"
    )
    differences_panel(data.differences)


def _model(data: SimulatedRun) -> str:
    """The model whose jobs are shown, or all together where there are several."""
    models = [*(["all"] if len(data.slo_s) > 1 else []), *data.slo_s]
    hint = "The model whose jobs are drawn, or all together."
    chosen = st.selectbox("Model", models, key="result-model", persist_state="session", help=hint)
    return str(chosen) if chosen in models else models[0]


def _distribution(state: AppState, data: SimulatedRun) -> None:
    found, model = data.report.schedulers, _model(data)
    states = {name: s.state for name, s in found.items()}
    figure = ecdf_figure(data.ecdf, model, data.slo_s, states)
    chart(figure, ecdf_title(found, model), "ecdf", "Share of jobs done within a time, for each scheduler")
    rows = pd.DataFrame(percentile_rows(found, model))
    table(rows, "percentiles", "Percentiles of the JCT of each scheduler", f"percentiles_{model}")


def _parts(state: AppState, data: SimulatedRun) -> None:
    found, model = data.report.schedulers, _model(data)
    figure = parts_figure(found, model)
    chart(figure, parts_title(found, model), "parts", "Mean JCT of each scheduler by its parts")
    st.caption(
        "A task waits at servers for other jobs and background load; for own tasks, while its executor runs "
        "others of the same job, which only splitting can shorten. The prediction on *Placement* counts the "
        "tasks of one job on one executor, one after the other, as computing."
    )
    figure = utilisation_figure(found)
    chart(figure, utilisation_title(found), "utilisation", "Utilisation of executors and busiest link")
    one = _scheduler(list(data.load))
    load = data.load[one]
    alt = f"Utilisation of every executor under {one}"
    chart(executor_figure(load), executors_title(load.executors), "executors", alt)
    busiest_links_panel(load.links)


def _cluster(state: AppState, data: SimulatedRun) -> None:
    one = _scheduler(list(data.load))
    cluster_result(data.scenario, one, data.load[one])


def _over_time(state: AppState, data: SimulatedRun) -> None:
    found = data.report.schedulers
    figure = jct_over_time_figure(data.over_time, {n: s.state for n, s in found.items()})
    chart(figure, over_time_title(found), "over-time", "Mean JCT over arrival time, for each scheduler")
    if hits := data.report.slo_over_time:
        alt = "Share of SLOs kept in each window of arrivals, for each scheduler"
        chart(hits_over_time_figure(hits), hits_over_time_title(hits), "hits-over-time", alt)
    warmup_panel(data.warmup)


def _first_jobs(state: AppState, data: SimulatedRun) -> None:
    if not data.gantt:
        st.caption("No intervals were recorded: run the simulation again.")
        return
    rows = data.gantt[_scheduler(list(data.gantt))]
    alt = "Tasks on executors and hatched messages on the link, one colour per job"
    chart(gantt_figure(rows), gantt_title(rows), "gantt", alt)
    rare = f" Jobs are rare: the first {MOST_JOBS} are drawn, each from its own start."
    st.caption(f"Hatched: messages. Drag to move; the tool bar zooms.{rare if are_rare(rows) else ''}")


def _scheduler(names: list[str]) -> str:
    one = st.selectbox(
        "Scheduler", names, key="result-scheduler", persist_state="session", help="The scheduler to show."
    )
    return one if one in names else names[0]


def _checks(state: AppState, data: SimulatedRun) -> None:
    run = state.runs.of(data)
    if run is not None:
        run_downloads(state, run)
    checks_panel(data.report)


TABS: Mapping[str, Callable[[AppState, SimulatedRun], None]] = {
    "Compare": _compare,
    "Distribution": _distribution,
    "Where time goes": _parts,
    "Cluster": _cluster,
    "Over time": _over_time,
    "First jobs": _first_jobs,
    "How sure": sure_tab,
    "Checks and downloads": _checks,
}
