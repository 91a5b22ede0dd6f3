"""Run, cancel, the cluster while it runs, and the finding afterwards."""

from __future__ import annotations

import streamlit as st

from nona.report.training.elastic.finding import finding
from nona.report.training.elastic.finding import hero as hero_figure
from nona.results.training.elastic_history import ElasticHistory, ElasticLive
from nona.study.elastic.expected import expected_s, expected_text
from nona.ui.jobs.job import Job
from nona.ui.pages.training.clusterview.clusterview import cluster_view
from nona.ui.pages.training.elastic.drawing import live_drawing
from nona.ui.pages.training.elastic.form import KIND
from nona.ui.session.state import AppState
from nona.ui.shell.job_panel import current_job, job_buttons, live_area, stale_note
from nona.ui.shell.progress import beat, progress_text
from nona.ui.widgets.fields import plain
from nona.ui.widgets.hero import hero

POLL_S = 0.4
ADVICE = "Fewer jobs, replications or policies end sooner."


def elastic_area(state: AppState) -> ElasticHistory | None:
    """Buttons, the cluster live, then the finding; the result to show below, if there is one."""
    running = job_buttons(state, KIND, "Run the policies")
    held = held_history(state)
    with st.container():
        if not running and held is not None:
            stale_note(state, KIND)
    with st.container(key="elastic-area"):
        every_s = beat(current_job(state, KIND), POLL_S)
        st.fragment(_area, run_every=every_s)(state, every_s)
    return held


def held_history(state: AppState) -> ElasticHistory | None:
    """The last result, unless another scenario has been opened since, to which it says nothing."""
    held = state.held(KIND, ElasticHistory)
    if held is None or (state.is_stale(KIND) and held.about.name != state.scenario.name):
        return None
    return held


def _live(job: Job) -> None:
    live = ElasticLive.from_json(job.live)
    cluster_view("elastic-live", live_drawing(live, job.fraction, progress_text(job)))


def _area(state: AppState, every_s: float | None) -> None:
    if not live_area(state, KIND, every_s, _live, ADVICE):
        return
    held = held_history(state)
    if held is not None:
        label, value, hint = hero_figure(held.report.policies)
        with hero("elastic-finding", label, value, hint):
            large, small = finding(held.report.policies)
            st.subheader(_said(large), anchor=False)
            st.caption(_said(small))
            st.caption(plain(held.about.stamp))
    elif current_job(state, KIND) is None:
        st.caption(
            f"Every policy gets the same jobs. {_expected(state)}A run shows live who has which GPU. "
            "Results: JCT, waiting and fairness of every policy, and why a job grew or shrank."
        )


def _expected(state: AppState) -> str:
    """About how long the run will take."""
    spec = state.scenario.training.elastic if state.scenario.training else None
    if spec is None:
        return ""
    text = expected_text(expected_s(spec, state.scenario.simulation.replications))
    return f"The run takes {text} on one idle core, longer where others compute too. "


def _said(sentence: str) -> str:
    return plain(sentence).replace(" %", "\N{NO-BREAK SPACE}%")
