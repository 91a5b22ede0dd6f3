"""Run, cancel, and the live charts: one fixed place on the page."""

from __future__ import annotations

import streamlit as st

from nona.report.simulations.headline import headline, live_headline
from nona.report.simulations.titles import ecdf_title, hits_title, jct_title, utilisation_title
from nona.results.simulation.live import LiveRun
from nona.ui.jobs.job import Job
from nona.ui.jobs.simulated import SimulatedRun
from nona.ui.pages.cluster.load_views import live_cluster
from nona.ui.session.state import AppState
from nona.ui.shell.job_panel import current_job, ended_note, job_buttons, progress_text, stale_note
from nona.ui.widgets.fields import plain
from nona.ui.widgets.livechart.livechart import LiveCharts, chart_data, live_charts

KIND = "simulate"
POLL_S = 0.12


def run_area(state: AppState) -> SimulatedRun | None:
    """Buttons, finding and charts; returns the result to show below, if there is one.

    While a simulation runs the charts show it; afterwards, in the same place, what came out.
    """
    running = job_buttons(state, KIND, "Run the simulation")
    with st.container():
        if not running:
            stale_note(state, KIND)
    st.fragment(_area, run_every=POLL_S if running else None)(state, running)
    with st.container():
        live_cluster(state)
    with st.container():
        if running and state.results.get(KIND) is not None:
            st.info("All below belongs to the run before, until this one ends.", icon=":material/history:")
    return state.held(KIND, SimulatedRun)


def _area(state: AppState, was_running: bool) -> None:
    job, held = current_job(state, KIND), state.held(KIND, SimulatedRun)
    if job is not None:
        job.touch()
    if job is not None and job.running:
        live = _live(job) or LiveRun(schedulers=tuple(s.name for s in state.scenario.schedulers))
        _draw(live_headline(live), chart_data(live, True, job.fraction, progress_text(job, _counts(live))))
        return
    if was_running:
        st.rerun()
    with st.container():
        ended_note(job, "The simulation", "Fewer jobs or replications end sooner.")
    if held is not None:
        found = held.report.schedulers
        titles = [jct_title(found), ecdf_title(found, "all"), hits_title(found), utilisation_title(found)]
        charts = chart_data(held.live, False, titles=titles)
        _draw(headline(found, held.differences), charts)
    elif job is not None and (so_far := _live(job)) and so_far.series:
        _draw("Not finished: these are the jobs so far.", chart_data(so_far, False))
    else:
        st.caption(
            "Every scheduler gets the same arrivals and the same service times. A run shows live how long "
            "jobs take, how many keep their SLO and what is busy; then which scheduler is fastest, with "
            "intervals."
        )


def _draw(finding: str, charts: LiveCharts) -> None:
    st.subheader(plain(finding).replace(" %", "\N{NO-BREAK SPACE}%"), anchor=False)
    live_charts("live-charts", charts)


def _live(job: Job) -> LiveRun | None:
    """The figures so far, if the job has told any."""
    return LiveRun.from_json(job.live) if job.live else None


def _counts(live: LiveRun) -> str:
    """How many jobs were simulated."""
    if not live.jobs:
        return ""
    of = f" of {live.of:,}" if live.of else ""
    return f"{live.jobs:,}{of} jobs"
