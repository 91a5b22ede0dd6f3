"""Run, cancel, and the live charts: one fixed place on the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from nona.report.simulations.headline import headline, live_headline
from nona.report.simulations.titles import ecdf_title, hits_title, jct_title, utilisation_title
from nona.ui.jobs.job import Job
from nona.ui.session.state import AppState
from nona.ui.shell.job_panel import current_job, ended_note, job_buttons, progress_text, stale_note
from nona.ui.widgets.fields import plain
from nona.ui.widgets.livechart.livechart import chart_data, live_charts

KIND = "simulate"
POLL_S = 0.12


def run_area(state: AppState) -> Mapping[str, Any] | None:
    """Buttons, finding and charts; returns the result to show below, if there is one.

    While a simulation runs the charts show it; afterwards, in the same place, what came out.
    """
    running = job_buttons(state, KIND, "Run the simulation")
    with st.container():
        if not running:
            stale_note(state, KIND)
    st.fragment(_area, run_every=POLL_S if running else None)(state, running)
    held = state.results.get(KIND)
    return None if held is None else held.data


def _area(state: AppState, was_running: bool) -> None:
    job, held = current_job(state, KIND), state.results.get(KIND)
    if job is not None:
        job.touch()
    if job is not None and job.running:
        live = job.live or {"schedulers": [s.name for s in state.scenario.schedulers]}
        _draw(live_headline(live), chart_data(live, True, job.fraction, progress_text(job, _counts(job))))
        return
    if was_running:
        st.rerun()
    with st.container():
        ended_note(job, "The simulation", "Fewer jobs or replications end sooner.")
    if held is not None:
        found = held.data["report"]["schedulers"]
        titles = [jct_title(found), ecdf_title(found, "all"), hits_title(found), utilisation_title(found)]
        charts = chart_data(held.data["live"], False, titles=titles)
        _draw(headline(found, held.data["differences"]), charts)
    elif job is not None and job.live.get("series"):
        _draw("Not finished: these are the jobs so far.", chart_data(job.live, False))
    else:
        st.caption(
            "Every scheduler gets the same arrivals and the same service times. A run shows live how long "
            "jobs take, how many keep their SLO and what is busy; then which scheduler is fastest, with "
            "intervals."
        )


def _draw(finding: str, data: Mapping[str, Any]) -> None:
    st.subheader(plain(finding).replace(" %", "\N{NO-BREAK SPACE}%"), anchor=False)
    live_charts("live-charts", data)


def _counts(job: Job) -> str:
    """How many jobs were simulated."""
    live = job.live
    if not live.get("jobs"):
        return ""
    of = f" of {live['of']:,}" if live.get("of") else ""
    return f"{live['jobs']:,}{of} jobs"
