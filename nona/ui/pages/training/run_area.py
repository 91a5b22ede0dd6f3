"""Run, cancel, the cluster while it runs, and the finding afterwards: one place that stays where it is."""

from __future__ import annotations

import streamlit as st

from nona.report.training.finding import finding, hero_figure
from nona.results.training.live import TrainingLive
from nona.results.training.outcome import TrainingOutcome
from nona.ui.jobs.job import Job
from nona.ui.pages.training.clusterview.clusterview import cluster_data, cluster_view
from nona.ui.session.state import AppState
from nona.ui.shell.job_panel import current_job, job_buttons, live_area, stale_note
from nona.ui.shell.progress import beat, progress_text
from nona.ui.widgets.fields import plain
from nona.ui.widgets.hero import hero

KIND = "training"
POLL_S = 0.3
ADVICE = "Fewer jobs, replications or policies end sooner."


def run_area(state: AppState) -> TrainingOutcome | None:
    """Buttons, the cluster live, then the finding; the result to show below, if there is one."""
    running = job_buttons(state, KIND, "Run the policies")
    held = held_outcome(state)
    with st.container():
        if not running and held is not None:
            stale_note(state, KIND)
    with st.container(key="training-area"):
        every_s = beat(current_job(state, KIND), POLL_S)
        st.fragment(_area, run_every=every_s)(state, every_s)
    return held


def held_outcome(state: AppState) -> TrainingOutcome | None:
    """The last result, unless another scenario has been opened since, to which it says nothing."""
    held = state.held(KIND, TrainingOutcome)
    if held is None or (state.is_stale(KIND) and held.about.name != state.scenario.name):
        return None
    return held


def _finding(held: TrainingOutcome) -> None:
    """What heterogeneity-awareness gained, and which policy is best."""
    policies = held.report.policies
    label, value, hint = hero_figure(policies)
    with hero("training-finding", label, value, hint):
        large, small = finding(policies)
        st.subheader(_said(large), anchor=False)
        st.caption(_said(small))
        st.caption(plain(held.about.stamp))


def _said(sentence: str) -> str:
    return plain(sentence).replace(" %", "\N{NO-BREAK SPACE}%")


def _live(job: Job) -> None:
    live = TrainingLive.from_json(job.live)
    cluster_view("training-live", cluster_data(live, job.fraction, progress_text(job)))


def _area(state: AppState, every_s: float | None) -> None:
    if not live_area(state, KIND, every_s, _live, ADVICE):
        return
    held = held_outcome(state)
    if held is not None:
        _finding(held)
    elif current_job(state, KIND) is None:
        st.caption(
            "Every policy gets the same jobs. A run shows live who has which GPU and the mean JCT so far. "
            "Results: JCT, fairness and cost of every policy, and why a job got its GPU in any round."
        )
