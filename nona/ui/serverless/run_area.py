"""Run, cancel, the platform while it runs, and the finding afterwards: one place that stays where it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from nona.report.serverless.titles import pareto_title
from nona.ui.jobs.panel import current_job, duration, job_buttons, result_of
from nona.ui.jobs.registry import Job
from nona.ui.serverless.platform.platform import platform_data, platform_view
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain

KIND = "serverless"
POLL_S = 0.2


def run_area(state: AppState) -> Mapping[str, Any] | None:
    """Buttons, the platform live, then the finding; the result to show below, if there is one."""
    running = job_buttons(state, KIND, "Run the policies", "run")
    with st.container():
        data = None if running else result_of(state, KIND, "run")
    with st.container(key="serverless-area"):
        st.fragment(_area, run_every=POLL_S if running else None)(state, running)
    held = state.results.get(KIND)
    return data if held is None else held.data


def _area(state: AppState, was_running: bool) -> None:
    job, held = current_job(state, KIND), state.results.get(KIND)
    if job is not None:
        job.touch()
    if job is not None and job.running:
        if job.live:
            platform_view("platform", platform_data(job.live, job.fraction, progress_text(job)))
        else:
            st.progress(job.fraction, text=f"{100 * job.fraction:.0f} % · {plain(job.text)}")
        return
    if was_running:
        st.rerun()
    _ended(job)
    if held is not None:
        finding = pareto_title(held.data["report"])
        st.subheader(plain(finding).replace(" %", "\N{NO-BREAK SPACE}%"), anchor=False)
    elif job is None:
        st.caption(
            "Every policy sees the same calls, the same noise, the same platform. Run it to see, while it "
            "goes on, who keeps the SLOs and at what cost, how queues grow, and what every node has handed "
            "out. The tabs below with the search, the ways of sharing and the nodes need no run."
        )


def _ended(job: Job | None) -> None:
    """How the last run ended, if not well, and what to do."""
    if job is None or job.status == "done":
        return
    if job.status == "failed":
        st.error(plain(job.error), icon=":material/error:")
        st.caption("Nothing was lost: change what the line above names, and run again.")
    elif job.status == "cancelled":
        st.info(
            f"The run was cancelled after {duration(job.elapsed_s)}. Fewer calls, replications or policies "
            "end sooner.",
            icon=":material/cancel:",
        )


def progress_text(job: Job) -> str:
    """How far it is: what runs, how many calls, how long it may still take."""
    parts = [f"{100 * job.fraction:.0f} %", job.text]
    if job.remaining_s is not None:
        parts.append(f"about {duration(job.remaining_s)} left")
    return " · ".join(p for p in parts if p)
