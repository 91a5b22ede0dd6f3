"""Nodes as a grid of GPUs by job, at any time of the run."""

from __future__ import annotations

import bisect

import streamlit as st

from nona.report.training.elastic.figures import time_figure
from nona.report.training.words import hours_text
from nona.results.training.elastic_history import ElasticHistory, ElasticTrace
from nona.ui.pages.training.clusterview.clusterview import cluster_view
from nona.ui.pages.training.elastic.drawing import given_at, moment_drawing
from nona.ui.session.state import AppState
from nona.ui.widgets.charts import chart
from nona.ui.widgets.choose import choose_one
from nona.ui.widgets.fields import plain

TIME = "training-shown-elastic-minute"
JOBS_SHOWN = 12


def nodes_tab(state: AppState, data: ElasticHistory) -> None:
    """A policy, a time, and who has which GPU then."""
    st.fragment(_nodes)(data)


def _nodes(data: ElasticHistory) -> None:
    left, right = st.columns([1, 2])
    with left:
        hint = "The policy to show."
        policy = choose_one("Policy", list(data.traces), "training-shown-elastic-nodes", hint)
    trace = data.traces[policy]
    with right:
        minute = _minute(trace)
    cluster_view("elastic-nodes", moment_drawing(data, policy, 60.0 * minute))
    st.caption(plain(_jobs_text(data, policy, 60.0 * minute)))
    chart(
        time_figure({policy: trace}, "GPUs in use", 60.0 * minute),
        _title(trace, policy),
        "elastic-used",
        f"GPUs in use over the hours of the run under {policy}; dashed: the time of the grid above",
    )


def _minute(trace: ElasticTrace) -> int:
    """The minute to show, from the first to the last of the run."""
    end = max(1, int(trace.time_s[-1] // 60))
    now = st.session_state.get(TIME)
    if not isinstance(now, int) or not 0 <= now <= end:
        busiest = max(range(len(trace.used)), key=lambda k: (trace.running[k] + trace.waiting[k], -k))
        st.session_state[TIME] = min(end, int(trace.time_s[busiest] // 60))
    hint = "Minutes since the start of the run; at first when most jobs are there. Arrow keys move by one."
    return int(st.slider("Minute", 0, end, key=TIME, persist_state="session", help=hint))


def _jobs_text(data: ElasticHistory, policy: str, time_s: float) -> str:
    """The largest jobs at that time, and how many run and wait."""
    given, trace = given_at(data, policy, time_s), data.traces[policy]
    sizes = {job: sum(count for _, count in shares) for job, shares in given.items()}
    largest = sorted(sizes, key=lambda job: (-sizes[job], job))[:JOBS_SHOWN]
    applications = {n: job.application for n, job in enumerate(data.report.policies[policy].jobs)}
    listed = ", ".join(f"{job} {applications.get(job, '')} ({sizes[job]})" for job in largest)
    k = max(0, bisect.bisect_right(trace.time_s, time_s + 1e-9) - 1)
    more = f", and {len(sizes) - len(largest)} more" if len(sizes) > len(largest) else ""
    said = f"Jobs with most GPUs: {listed}{more}." if listed else "No job has GPUs."
    return f"{len(sizes)} jobs run and {trace.waiting[k]} wait after {hours_text(time_s)}. {said}"


def _title(trace: ElasticTrace, policy: str) -> str:
    moved = len({move.job for move in trace.moves}) or 1
    return f"{policy}: the GPUs of a job change {len(trace.moves) / moved:.3g} times, start and end included"
