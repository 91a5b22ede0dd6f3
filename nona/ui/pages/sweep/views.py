"""Which scheduler: one number swept, every scheduler's curve, and a slider over what was found."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from nona.errors import NonaError
from nona.report.sweeps.explained import explanation
from nona.report.sweeps.figure import sweep_figure, views
from nona.report.sweeps.report import curve_rows
from nona.report.sweeps.stability import stability_finding
from nona.report.sweeps.text import headline, value_rows
from nona.report.sweeps.values import value_text
from nona.results.sweep import SweepOutcome
from nona.study.sweeps.settings import SweepSettings
from nona.ui.pages.simulation.engine_views import engine_text
from nona.ui.pages.sweep.controls import sweep_controls
from nona.ui.pages.sweep.live import live_sweep
from nona.ui.pages.sweep.settings import is_stale, settings_of, shell_arguments, sweep_fingerprint
from nona.ui.session.state import AppState
from nona.ui.shell.equivalents import equivalent
from nona.ui.shell.job_panel import current_job, job_panel
from nona.ui.tasks.sweep import request_of
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table

KIND = "sweep"


@dataclass(frozen=True, slots=True)
class Shown:
    """The value of the swept number at which the table reads the sweep; ``None``: in the middle."""

    value: float | None = None


def sweep_panel(state: AppState) -> None:
    """Controls, progress, and the result of a sweep."""
    st.caption(
        "One number varies, everything else stays. Every scheduler is simulated at every value with the "
        "same random numbers; the formula is shown where there is one."
    )
    sweep_controls(state)
    settings = _settings(state)
    if settings is not None:
        fingerprint = sweep_fingerprint(state.scenario, settings)
        held = state.results.get(KIND)
        done = held is not None and held.fingerprint == fingerprint
        job_panel(
            state,
            KIND,
            "Run sweep",
            live_sweep,
            {"sweep": request_of(settings).to_json()},
            fingerprint,
            done="This sweep has been run: its result is below." if done else "",
        )
    _result(state)
    if settings is not None:
        equivalent(state, "sweep", *shell_arguments(settings), key=KIND)


def _settings(state: AppState) -> SweepSettings | None:
    try:
        return settings_of(state)
    except NonaError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None


def _result(state: AppState) -> None:
    job, held = current_job(state, KIND), state.held(KIND, SweepOutcome)
    if job is not None and job.running:
        return
    if job is not None and job.status in ("cancelled", "failed") and job.live:
        st.info(
            "The sweep ended early; below is the result so far: fewer runs, edges only as precise as the "
            "spacing of the values. Run it again to complete it.",
            icon=":material/pending:",
        )
        _show(state, SweepOutcome.from_json(job.live), job.fingerprint)
    elif held is not None:
        _show(state, held, state.results[KIND].fingerprint)
    else:
        st.caption("Nothing has been swept yet. The first curves appear after a few seconds.")


def _show(state: AppState, report: SweepOutcome, fingerprint: str) -> None:
    if is_stale(state, fingerprint, report.settings):
        st.warning(
            "The scenario has changed since this sweep was made; run it again for the present scenario.",
            icon=":material/history:",
        )
    with st.container(key="sweep-reading"):
        st.fragment(_reading)(state, report)
    with st.expander("What comes from the formula, what from the simulation", icon=":material/balance:"):
        for what, text in explanation(report):
            st.markdown(f"**{what}.** {_prose(text)}")
    _files(report)
    count = f"{report.replications} runs of {report.jobs:,} jobs per point"
    st.caption(plain(f"{count}. {engine_text(report.engine)} {report.seconds:.1f} s on the clock."))


def _reading(state: AppState, report: SweepOutcome) -> None:
    """The headline, the slider with its table, and the chart: redrawn alone when the slider moves."""
    values = [v for v in report.values if _known(report, v)]
    if not values:
        st.caption("No value was simulated before the sweep ended.")
        return
    value = _slider(state, report, values)
    st.markdown(f"**{_prose(headline(report, value))}** {_prose(stability_finding(report))}")
    names = list(views(report))
    view = st.segmented_control(
        "Show",
        names,
        default=names[0],
        required=True,
        key="sweep-view",
        help="What the chart shows of each scheduler.",
        persist_state="session",
    )
    shown = view if view in names else names[0]
    picture(
        sweep_figure(report, shown, value),
        key=f"sweep-chart-{names.index(shown)}",
        alt=stability_finding(report),
    )
    rows = pd.DataFrame(value_rows(report, value))
    where = value_text(value, report.unit)
    table(rows, "sweep-at", f"Every scheduler at {where}", name="sweep_at_value")


def _slider(state: AppState, report: SweepOutcome, values: list[float]) -> float:
    here = state.choices.of(Shown).value
    start = min(values, key=lambda v: abs(v - here)) if here is not None else values[len(values) // 2]
    if len(values) == 1:
        return values[0]
    key = f"sweep-at-{report.key}-{len(values)}"

    def moved() -> None:
        state.choices.keep(Shown(st.session_state[key]))

    found: float = st.select_slider(
        report.label,
        values,
        start,
        format_func=lambda v: value_text(v, report.unit),
        key=key,
        on_change=moved,
        help="Reads the sweep at this value; nothing is computed again.",
    )
    return found


def _prose(text: str) -> str:
    """Text for Markdown, a number and its unit on one line."""
    return plain(text.replace(" %", "\u00a0%").replace(" ×", "\u00a0×"))


def _known(report: SweepOutcome, value: float) -> bool:
    return any(p.value == value for c in report.schedulers.values() for p in c.points)


def _files(report: SweepOutcome) -> None:
    """All points as a table with its files, and the whole as JSON."""
    with st.expander("All simulated points", icon=":material/table:"):
        table(
            pd.DataFrame(curve_rows(report)),
            "sweep-points",
            "Every simulated point of the sweep",
            name="sweep",
        )
    st.download_button(
        "Download sweep (JSON)",
        data=lambda: json.dumps(report.to_json(), indent=2),
        file_name="sweep.json",
        mime="application/json",
        icon=":material/download:",
        on_click="ignore",
        key="download-sweep",
    )
