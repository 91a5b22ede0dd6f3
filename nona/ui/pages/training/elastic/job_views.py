"""One job: its GPUs, batch size and goodput over time under every policy, and why its GPUs changed."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.report.training.elastic.figures import job_figure
from nona.report.training.elastic.rows import JOB_DECIDING, change_rows, deciding_changes, job_rows
from nona.report.training.words import hours_text, job_label
from nona.results.training.elastic import ElasticJobOutcome
from nona.results.training.elastic_history import ElasticHistory
from nona.training.elastic.policies.registry import ELASTIC
from nona.ui.session.state import AppState
from nona.ui.widgets.charts import chart
from nona.ui.widgets.choose import choose_one
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table
from nona.ui.widgets.terms import term


def jobs_tab(state: AppState, data: ElasticHistory) -> None:
    """A job over time, the changes of its GPUs, and all jobs in a table."""
    left, right = st.columns(2)
    names = [f"{n}: {name}" for n, name in enumerate(data.jobs)]
    with left:
        hint = "The job to show; at first the one whose GPUs change most."
        chosen = choose_one("Job", _first(data, names), "training-shown-elastic-job", hint)
    with right:
        hint = "The policy whose decisions are listed."
        policy = choose_one("Policy", list(data.traces), "training-shown-elastic-why", hint)
    number = names.index(chosen)
    outcome = data.report.policies[policy].jobs[number]
    courses = {n: t.courses[number] for n, t in data.traces.items() if number < len(t.courses)}
    if courses:
        chart(
            job_figure(courses, outcome.arrival_s, data.report.setting.tick_s),
            _title(data, number),
            "elastic-job",
            "GPUs, batch size, goodput and statistical efficiency of the job since its arrival, by policy; "
            "gaps: it has no GPUs",
        )
        st.caption(
            f"{term('goodput')}: progress in samples at the smallest batch size per second, over a tick; "
            f"{term('statistical efficiency')}: what a sample brings, at most 1, "
            f"as at the smallest batch; the larger the {term('gradient noise')}, the nearer to 1."
        )
    else:
        st.caption("The course of this job was not kept: the run has too many jobs and ticks.")
    _changes(data, policy, number, outcome)
    st.markdown(f"**All jobs under {plain(policy)}**")
    frame = pd.DataFrame(job_rows(data.report.policies[policy].jobs))
    alt = f"Every job of the first run under {policy}"
    table(frame, "elastic-jobs", alt, deciding=JOB_DECIDING, placeholder="–")


def _first(data: ElasticHistory, names: list[str]) -> list[str]:
    """All jobs; the one whose GPUs change most under the first policy comes first."""
    counts = [0] * len(names)
    for move in next(iter(data.traces.values())).moves:
        counts[move.job] += 1
    most = max(range(len(names)), key=lambda n: (counts[n], -n))
    return [names[most], *(name for n, name in enumerate(names) if n != most)]


def _title(data: ElasticHistory, number: int) -> str:
    """The JCT of one job under each policy, the shortest first."""
    jcts = {name: p.jobs[number].jct_s for name, p in data.report.policies.items()}
    order = sorted(jcts, key=lambda name: (jcts[name], name))
    job = next(iter(data.report.policies.values())).jobs[number]
    listed = ", ".join(f"{hours_text(jcts[name])} under {name}" for name in order)
    return f"{job_label(job.name)} ({job.application}) takes {listed}"


def _changes(data: ElasticHistory, policy: str, number: int, job: ElasticJobOutcome) -> None:
    trace = data.traces[policy]
    st.markdown(f"**Why its GPUs changed under {plain(policy)}**")
    frame = pd.DataFrame(change_rows(trace, number))
    alt = f"Every change of the GPUs of {job.name} under {policy}"
    shown = deciding_changes(trace, frame.columns)
    table(frame, "elastic-changes", alt, deciding=shown, placeholder="–")
    known = ELASTIC.get(policy)
    rule = plain(known.summary) if known else ""
    st.caption(
        f"{rule} The user asked for {job.gpus} GPUs and {job.batch:,} samples a step. Nodes: node:GPUs. "
        "Jobs that share or wait: those with GPUs + those without, after the change."
    )
