"""Choice of a scheduler: one number or two swept, every scheduler's curve or map."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from nona.app.jobs.registry import AppJob
from nona.app.pages.queries.simulation_result import engine_text
from nona.app.pages.queries.simulation_sweep_settings import (
    is_stale,
    settings_of,
    shell_arguments,
    sweep_controls,
    sweep_version,
    work_text,
)
from nona.app.pages.queries.simulation_what_if import changed_text
from nona.app.pages.run_page import PageRun, run_area
from nona.app.session.state import AppState
from nona.app.widgets.downloads import download_button
from nona.app.widgets.fields import choose_one, one_of, plain, show_error, unbroken
from nona.app.widgets.results import picture, table
from nona.core.errors import NonaError
from nona.core.text import count_text
from nona.queries.sweeps.figures import grid_figure, sweep_figure, views
from nona.queries.sweeps.findings import (
    at_value,
    at_values,
    stability_finding,
    sweep_findings,
    target_finding,
)
from nona.queries.sweeps.grids import MEASURES, grid_points
from nona.queries.sweeps.report import sweep_points, value_text
from nona.queries.sweeps.results import GridOutcome, GridRequest, SweepGrid, SweepOutcome
from nona.scenario.file import scenario_hash

BEST = "the best in each cell"
GRID_ALT = "the best scheduler at every pair of values"


def _live_grid(job: AppJob) -> None:
    outcome = GridOutcome.from_json(job.live)
    if outcome.rows:
        picture(grid_figure(outcome, "Mean JCT"), key="grid-live", alt=f"{GRID_ALT}, so far")


def _grid_reading(grid: SweepGrid) -> None:
    """Draw the choice of what the colours show, and the map: redrawn alone when a choice changes."""
    if not grid.rows:
        st.caption("No pair of values was simulated before the sweep ended.")
        return
    names = list(grid.rows[0].sweep.schedulers)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        hint = "Shows the best scheduler in each cell, or the values of one scheduler."
        chosen = choose_one("Scheduler", [BEST, *names], "grid-scheduler", hint, width=260)
        hint = "The measure by which schedulers are compared and coloured."
        measure = one_of("Colour", MEASURES, "grid-measure", hint)
    one = "" if chosen == BEST else chosen
    picture(grid_figure(grid, measure, one), key="grid-chart", alt=f"{measure}: {one or GRID_ALT}")


def sweep_panel(state: AppState) -> None:
    """Draw controls, progress, and the result of a sweep of one number or two."""
    st.caption(
        "A sweep varies one or two numbers of the scenario. Every scheduler is simulated at every value with "
        "the same random numbers; the formula is shown where it applies."
    )
    _of_which(state)
    sweep_controls(state)
    try:
        run = _run(state)
    except NonaError as error:
        show_error(error)
        return
    run_area(state, run)


def _of_which(state: AppState) -> None:
    """Name the scenario that is swept, which is not the copy of *What if*."""
    mark = scenario_hash(state.scenario)
    text = f"Sweeps the scenario **{plain(state.scenario.name)}**, version `{mark}`."
    try:
        changed = changed_text(state)
    except NonaError:
        changed = ""
    if changed:
        text += f" It leaves out what *What if* tries ({plain(changed)}); *Apply* there includes it."
    st.markdown(text)


def _run(state: AppState) -> PageRun[Any]:
    settings = settings_of(state)
    version = sweep_version(state.scenario, settings)
    two = isinstance(settings, GridRequest)
    kind = "grid" if two else "sweep"
    of: type[SweepOutcome | GridOutcome] = GridOutcome if two else SweepOutcome
    outcome, mark = (
        state.result_of(kind, of),
        state.results[kind].fingerprint if kind in state.results else "",
    )
    same = outcome is not None and mark == version and outcome.ended_early_s is None
    return PageRun(
        kind=kind,
        label="Run sweep",
        result_type=of,
        live=_live_grid if two else _live_sweep,
        answer=_answer,
        request=settings,
        version=version,
        before=f"Nothing has been swept yet. {work_text(settings)}",
        # A result has settings of its own: it is stale where these now give another version.
        stale=outcome is not None and is_stale(state, mark, outcome.settings),
        refused="This sweep was run already: its result is below." if same else "",
        command="sweep",
        words=shell_arguments(settings),
    )


def _live_sweep(job: AppJob) -> None:
    report = SweepOutcome.from_json(job.live)
    alt = f"Mean JCT of every scheduler over {report.label.lower()}, so far"
    picture(sweep_figure(report), key="sweep-live", alt=alt)


def _answer(state: AppState, report: SweepOutcome | GridOutcome) -> None:
    if report.ended_early_s is not None:
        st.info(
            "The sweep ended early. The result so far has fewer runs, and edges only as precise as the "
            "spacing of the values. Run it again to complete it.",
            icon=":material/pending:",
        )
    with st.container(key="sweep-reading"):
        if isinstance(report, GridOutcome):
            st.fragment(_grid_reading)(report)
        else:
            st.fragment(_reading)(report)
    _files(report)
    runs = report if isinstance(report, SweepOutcome) else report.rows[0].sweep if report.rows else None
    if runs is not None:
        count = f"{count_text(runs.replications, 'run')} of {runs.jobs:,} jobs per point"
        st.caption(plain(f"{count}. {engine_text(runs.engine)} {report.seconds:.1f} s on the clock."))


def _reading(report: SweepOutcome) -> None:
    """Draw the finding, the slider with its table, and the chart: redrawn alone when the slider moves."""
    values = [v for v in report.values if at_value(report, v)]
    if not values:
        st.caption("No value was simulated before the sweep ended.")
        return
    value = _slider(report, values)
    st.markdown(f"**{unbroken(' '.join(sweep_findings(report)))}**")
    names = list(views(report))
    shown = one_of("Show", names, "sweep-view", "What the chart shows of each scheduler.")
    picture(
        sweep_figure(report, shown, value),
        key=f"sweep-chart-{names.index(shown)}",
        alt=target_finding(report) if shown == "SLO hits" else stability_finding(report),
    )
    alt = f"Every scheduler at {value_text(value, report.unit)}"
    table(at_values(report, value), "sweep-at", alt, name="sweep_at_value")


def _slider(report: SweepOutcome, values: list[float]) -> float:
    if len(values) == 1:
        return values[0]
    key = f"sweep-value-{report.key}"
    if st.session_state.get(key) not in values:
        st.session_state.pop(key, None)
    chosen: float = st.select_slider(
        report.label,
        values,
        values[len(values) // 2],
        format_func=lambda v: value_text(v, report.unit),
        key=key,
        persist_state="session",
        help="Shows the sweep's results at this value, without a new run.",
    )
    return chosen


def _files(report: SweepOutcome | GridOutcome) -> None:
    with st.expander("All simulated points", icon=":material/table:"):
        rows = grid_points(report) if isinstance(report, GridOutcome) else sweep_points(report)
        table(rows, "sweep-points", "Every simulated point of the sweep", name="sweep")
    download_button(
        "Download sweep (JSON)",
        "download-sweep",
        lambda: json.dumps(report.to_json(), indent=2),
        "sweep.json",
    )
