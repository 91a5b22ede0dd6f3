"""Run, cancel, the platform while it runs, and the finding afterwards: one place that stays where it is."""

from __future__ import annotations

import streamlit as st

from nona.report.serverless.titles import pareto_title
from nona.report.serverless.words import hit_rate, ranked
from nona.report.text import share_text
from nona.results.serverless.dispatch import ServerlessOutcome
from nona.results.serverless.live import PlatformLive
from nona.simulation.sizes import auto_warmup
from nona.ui.jobs.job import Job
from nona.ui.pages.serverless.platform.platform import platform_data, platform_view
from nona.ui.session.state import AppState
from nona.ui.shell.job_panel import current_job, job_buttons, live_area, stale_note
from nona.ui.shell.progress import beat, progress_text
from nona.ui.widgets.fields import plain
from nona.ui.widgets.hero import hero

KIND = "serverless"
POLL_S = 0.2
MANY_CALLS = 100_000  # in all runs of all policies
QUICK_CALLS, QUICK_RUNS = 1000, 3


def run_area(state: AppState) -> ServerlessOutcome | None:
    """Buttons, the platform live, then the finding; the result to show below, if there is one."""
    running = job_buttons(state, KIND, "Run the policies")
    if not running:
        _size(state)
    with st.container():
        if not running:
            stale_note(state, KIND)
    with st.container(key="serverless-area"):
        every_s = beat(current_job(state, KIND), POLL_S)
        st.fragment(_area, run_every=every_s)(state, every_s)
    held = state.held(KIND, ServerlessOutcome)
    with st.container():
        if running and held is not None:
            st.info(
                f"All below belongs to the former run (fingerprint {held.about.hash}), until this one ends.",
                icon=":material/history:",
            )
    return held


def _size(state: AppState) -> None:
    """The size of the run, and a shortcut to a first look if it is large."""
    spec, size = state.scenario.serverless, state.scenario.simulation
    calls = (size.jobs + auto_warmup(size.jobs)) * size.replications * (len(spec.policies) if spec else 0)
    if calls <= MANY_CALLS:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{calls:,} calls in all runs take minutes.")
        st.button(
            f"Take {QUICK_CALLS:,} calls and {QUICK_RUNS} runs for a first look",
            icon=":material/bolt:",
            type="tertiary",
            key="quick-look",
            on_click=quick,
            args=(state,),
            help="Sets the two fields above; Undo brings them back. Intervals become wider.",
        )


def quick(state: AppState) -> None:
    """Make the runs small."""
    state.edit(("simulation", "jobs"), QUICK_CALLS)
    state.edit(("simulation", "replications"), QUICK_RUNS)
    state.revision += 1  # so that the fields above show it


def _finding(held: ServerlessOutcome) -> None:
    """The share of SLOs that the best policy keeps, and what it costs."""
    policies = held.report.policies
    best = next(iter(ranked(policies, hit_rate, highest=True).items()), None)
    with hero(
        "serverless-finding",
        "Most SLOs kept",
        "" if best is None else share_text(best[1], 1),
        "" if best is None else f"By {best[0]}.",
    ):
        st.subheader(plain(pareto_title(policies)).replace(" %", "\N{NO-BREAK SPACE}%"), anchor=False)
        st.caption(plain(held.about.stamp))


def _live(job: Job) -> None:
    live = PlatformLive.from_json(job.live)
    platform_view("platform", platform_data(live, job.fraction, progress_text(job)))


def _area(state: AppState, every_s: float | None) -> None:
    if not live_area(state, KIND, every_s, _live, "Fewer calls, replications or policies end sooner."):
        return
    held = state.held(KIND, ServerlessOutcome)
    if held is not None:
        _finding(held)
    elif current_job(state, KIND) is None:
        st.caption(
            "Every policy gets the same calls, the same noise, the same platform. A run shows live which "
            "policy keeps the SLOs and at what cost, how queues grow, and what every node has allocated. "
            "The tabs below for the search, the ways of sharing and the nodes need no run."
        )
