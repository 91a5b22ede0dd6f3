"""Run, cancel, the finding and the live charts: one fixed place on the page."""

from __future__ import annotations

import streamlit as st

from nona.report.simulations.finding.headline import Headline, headline, live_headline
from nona.report.simulations.live.text import counts_text, live_titles, measured
from nona.report.simulations.titles import ecdf_title, hits_title, jct_title
from nona.results.simulation.live import LiveRun
from nona.ui.jobs.job import Job
from nona.ui.pages.cluster.load_views import live_cluster
from nona.ui.pages.simulation.runs_views import RUN, run_note
from nona.ui.session.runs import Kept
from nona.ui.session.state import AppState
from nona.ui.shell.job_panel import current_job, cut_off, ended_note, job_buttons
from nona.ui.shell.progress import beat, moved_on, progress_text
from nona.ui.widgets.fields import plain
from nona.ui.widgets.hero import hero
from nona.ui.widgets.livechart.livechart import LiveCharts, chart_data, live_charts

KIND = "simulate"
POLL_S = 0.12


def run_buttons(state: AppState) -> bool:
    """The buttons; whether a simulation waits or runs."""
    with st.container(width="content"):
        return job_buttons(state, KIND, RUN)


def run_area(state: AppState, run: Kept | None, running: bool) -> None:
    """Finding and charts: live while a simulation runs, afterwards in the same place those of ``run``.

    ``run`` is what the whole page was drawn of: the fragment that polls is given it, and does not look for
    another one by itself, so that no part of the page can show a different run.
    """
    with st.container():
        if not running and run is not None:
            run_note(state, run)
    every_s = beat(current_job(state, KIND), POLL_S)
    st.fragment(_area, run_every=every_s)(state, run, every_s)
    with st.container():
        live_cluster(state)
    with st.container():
        if running and run is not None:
            st.info(
                f"All below belongs to {plain(run.mark[0].lower() + run.mark[1:])}, until this one ends.",
                icon=":material/history:",
            )


def _area(state: AppState, run: Kept | None, every_s: float | None) -> None:
    job = current_job(state, KIND)
    if job is not None:
        job.touch()
    if moved_on(job, every_s):
        st.rerun()
    if job is not None and job.unfinished:
        live = _live(job) or LiveRun(schedulers=tuple(s.name for s in state.scenario.schedulers))
        _draw(live_headline(live), chart_data(live, True, job.fraction, progress_text(job, _counts(live))))
        return
    with st.container():
        ended_note(job, "The simulation", "Fewer jobs or replications end sooner.")
    if run is not None:
        _draw_run(run)
    elif (cancelled := cut_off(state, KIND)) and (so_far := _live(cancelled)) and so_far.series:
        _draw_cancelled(so_far)
    else:
        st.caption(
            "Every scheduler gets the same arrivals and the same service times. A run shows live how long "
            "jobs take, how many keep their SLO and what is busy; then which scheduler is fastest, with "
            "intervals."
        )


def _draw_cancelled(live: LiveRun) -> None:
    """What was known when a run was cancelled: that of some schedulers, and of others nothing."""
    lead = "Not finished: these are the jobs so far."
    titles = live_titles(live.series, True)
    _draw(Headline("", "", lead, "", ""), chart_data(live, False, titles=titles, note=counts_text(live)))


def _draw_run(run: Kept) -> None:
    data = run.data
    found = data.report.schedulers
    live = data.live.model_copy(update={"series": measured(data.live.series, found)})
    busy = live_titles(live.series, False)[-1]
    titles = [jct_title(found, data.differences), ecdf_title(found, "all"), hits_title(found), busy]
    _draw(
        headline(found, data.differences, data.off),
        chart_data(live, False, titles=titles, note=f"{run.mark}."),
        run,
    )


def _draw(told: Headline, charts: LiveCharts, run: Kept | None = None) -> None:
    _hero(told, run)
    live_charts("live-charts", charts)


def _hero(told: Headline, run: Kept | None) -> None:
    """The one large number, and beside it what it is, how sure it is, and whose run."""
    hint = "Usually off: the 90 % range of true task times, for those that a cost model made."
    with hero("finding", "Mean JCT", told.value, hint):
        st.markdown(f"##### {_unbroken(told.lead)}")
        if told.beside:
            st.markdown(_unbroken(f"{told.beside}."))
        if run is not None:
            st.caption(plain(f"Run {run.title} · fingerprint {run.data.about.hash}"))


def _unbroken(text: str) -> str:
    """Markdown of a plain text in which no number is parted from its per-cent sign."""
    return plain(text).replace(" %", "\N{NO-BREAK SPACE}%")


def _live(job: Job) -> LiveRun | None:
    """The figures so far, if the job has told any."""
    return LiveRun.from_json(job.live) if job.live else None


def _counts(live: LiveRun) -> str:
    """How many jobs were simulated."""
    if not live.jobs:
        return ""
    of = f" of {live.of:,}" if live.of else ""
    return f"{live.jobs:,}{of} jobs"
