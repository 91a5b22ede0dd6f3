"""A training run's tabs: policies, fairness, jobs, allocation, rounds, one more GPU."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from nona.app.pages.run_page import PageRun, Tab, run_area
from nona.app.session.state import AppState
from nona.app.tasks.context import OneMoreRequest
from nona.app.widgets.downloads import Download, Files, file_stem, reports
from nona.app.widgets.fields import choose_one, plain, whole
from nona.app.widgets.results import chart, show_finding, table
from nona.app.widgets.terms import term
from nona.core.figures import dots_figure, scheduler_style
from nona.core.registry import ChartStyle
from nona.core.text import count_text
from nona.core.units import duration
from nona.training import results as training
from nona.training.elastic.results import ElasticHistory, ElasticReport
from nona.training.report import figures, findings
from nona.training.report.html import training_html
from nona.training.report.tables import disturbances, jobs, one_more, policies, priorities, teams
from nona.training.report.text import setting_text


def _policies_tab(state: AppState, data: training.TrainingOutcome) -> None:
    report = data.report
    for name, p in report.policies.items():
        if p.warnings:
            more = f" {count_text(len(p.warnings) - 1, 'more warning')} in the report (JSON)."
            warning = f"{name}: {p.warnings[0]}{more if len(p.warnings) > 1 else ''}"
            st.warning(plain(warning), icon=":material/warning:")
    chart(
        figures.pareto_figure(report.policies),
        findings.best_sentence(report.policies, report.level).removesuffix("."),
        "training-pareto",
        "Mean JCT against the cost of the run for each policy, with 95 % intervals. Down and to the left is "
        "better.",
    )
    jct_chart(report.policies, scheduler_style, "training-cdf")
    alt = "Every policy: JCT, makespan, fairness, utilisation, cost, preemptions, decisions"
    wide = {"policy": st.column_config.TextColumn(width=190)}
    table(policies(report), "training-policies", alt, column_config=wide)
    if lost := disturbances(report.policies):
        st.markdown("**Time lost to failures, checkpoints and moves**")
        table(lost, "training-disturbances", "Failures, and the time lost to them and to moves")
        st.caption("Of the first run; times are summed over all jobs.")
    for note in report.setting.notes:
        st.caption(plain(note))
    kinds = {j.kind for p in report.policies.values() for j in p.jobs}
    only = " JCT and ρ are those of the training jobs alone." if len(kinds) > 1 else ""
    checks(report, setting_text(report.setting), only)


def _fairness_tab(state: AppState, data: training.TrainingOutcome) -> None:
    rho_chart(data.report.policies, scheduler_style, "training-rho")
    st.caption(
        f"ρ ({term('finish-time fairness')}): a job's JCT over its JCT on an equal share of the cluster. A "
        f"policy is fair if no job is far above 1.{_shown(data.report.setting)}"
    )
    if rows := teams(data.report.policies):
        st.markdown("**Each team under each policy**")
        table(rows, "training-teams", "Mean JCT, ρ and cost of each team under each policy")
        st.caption("Of the first run.")


def _shown(setting: training.TrainingSetting) -> str:
    """Name the jobs and the run whose ρ the curves show; empty for all jobs of a single run."""
    first, last = setting.measured
    jobs = "" if last - first + 1 == setting.jobs else f"jobs {first} to {last}, which are measured"
    run = "" if setting.replications == 1 else "the first run"
    return f" The curves are of {', in '.join(filter(None, (jobs, run)))}." if jobs or run else ""


def _jobs_tab(state: AppState, data: training.TrainingOutcome) -> None:
    outcomes = data.report.policies
    policy = choose_one("Policy", list(outcomes), "training-shown-jobs", "The policy to show.")
    table(jobs(outcomes[policy].jobs), "training-jobs", f"Every job of the first run under {policy}")
    st.caption(
        "Jobs of the first run. A job without JCT was unfinished when the run ended; only training jobs have "
        "a ρ."
    )


PAGE = 30  # jobs on one chart


def _allocation_tab(state: AppState, data: training.TrainingOutcome) -> None:
    left, right = st.columns(2)
    with left:
        policy = choose_one("Policy", list(data.traces), "training-shown-allocation", "The policy to show.")
    rows = data.traces[policy].received
    pages = max(1, math.ceil(len(rows) / PAGE))
    names = [f"{k * PAGE} to {min(len(rows), (k + 1) * PAGE) - 1}" for k in range(pages)]
    with right:
        chosen = choose_one("Jobs", names, "training-shown-allocation-jobs", "Which jobs to show, by number.")
    first = names.index(chosen) * PAGE
    chart(
        figures.allocation_figure(rows[first : first + PAGE], sorted(data.types), data.job_names),
        "Shares of time, allocated and received",
        "training-allocation",
        f"Two heat maps of jobs {chosen} and types of GPU under {policy}: mean share of time allocated, and "
        "received",
    )
    st.caption(
        "Means over each job's time since its first allocation. The rest of a row, up to 1, is waiting."
    )


ROUND = "training-shown-round"
ALL = "all types"


def _rounds_tab(state: AppState, data: training.TrainingOutcome) -> None:
    with st.grid(4, min_column_width=150):
        policy = choose_one("Policy", list(data.traces), "training-shown-gantt", "The policy to show.")
        trace = data.traces[policy]
        if not trace.rounds:
            st.caption("No round was kept for this policy.")
            return
        gpu = choose_one("GPUs", _ranges(data), "training-shown-gpus", "Which GPUs to show, by type.")
        kind, first, end_s = _kind(gpu), _first_gpu(gpu), trace.rounds[-1].end_s
        start_s, span_s = _window([s for s in trace.stays if kind in ("", s.gpu)], end_s)
    shown = figures.window(trace.stays, start_s, min(start_s + span_s, end_s), kind, first)
    chosen = _chosen(trace)
    event = chart(
        figures.gantt_figure(shown, data.job_names, None if chosen is None else chosen.start_s),
        "Jobs on GPUs over time",
        "training-gantt",
        f"GPUs ({kind or ALL}) as rows, jobs as bars over time, under {policy}; the line marks the round "
        "below",
        on_select="rerun",
        selection_mode="points",
    )
    st.caption(
        "Each colour is a job; colours repeat when there are more jobs. Hatched: two jobs share the GPU. No "
        "bar: the GPU is idle. The line marks the round below."
    )
    if shown.left_out:
        st.caption(f"{shown.left_out:,} later bars of this window are not drawn; choose a shorter window.")
    _take_click(event, trace)
    _round_explanation(trace, data)
    chart(
        figures.rounds_figure(figures.thinned(trace.rounds)),
        "Running and waiting jobs",
        "training-rounds",
        f"Jobs that run and jobs that wait in each round under {policy}",
    )


def _ranges(data: training.TrainingOutcome) -> list[str]:
    """Return all types where they fit on one chart, then each; many GPUs in parts, ``v100 0 to 47``."""
    ranges = [ALL] if len(data.types) > 1 and sum(data.types.values()) <= figures.MOST_LANES else []
    for gpu, count in sorted(data.types.items()):
        if count <= figures.MOST_LANES:
            ranges.append(gpu)
        else:
            firsts = range(0, count, figures.MOST_LANES)
            ranges += [f"{gpu} {k} to {min(count, k + figures.MOST_LANES) - 1}" for k in firsts]
    return ranges


def _kind(gpu: str) -> str:
    return "" if gpu == ALL else gpu.rsplit(" ", 3)[0] if " to " in gpu else gpu


def _first_gpu(gpu: str) -> int:
    return int(gpu.rsplit(" ", 3)[1]) if " to " in gpu else 0


def _window(stays: Sequence[training.GpuInterval], end_s: float) -> tuple[float, float]:
    fits = figures.fitting_span(stays, end_s)
    if fits >= end_s:
        return 0.0, end_s
    span = choose_one(
        "Window",
        [findings.hours_text(s) for s in figures.SPANS_S if s <= fits][::-1],
        "training-shown-span",
        "Length of the window in the chart; longer windows have too many bars.",
    )
    span_s = next(s for s in figures.SPANS_S if findings.hours_text(s) == span)
    starts = [findings.hours_text(k * span_s) for k in range(int(end_s // span_s) + 1)]
    start = choose_one("From", starts, "training-shown-start", "Start of the window.")
    return starts.index(start) * span_s, span_s


def _chosen(trace: training.PolicyTrace) -> training.RoundFacts | None:
    """Return the round that is asked for; the first one with priorities where it does not exist."""
    number = st.session_state.get(ROUND)
    asked_for = next((r for r in trace.rounds if r.number == number), None)
    return asked_for or next((r for r in trace.rounds if r.priorities), None)


def _take_click(event: Any, trace: training.PolicyTrace) -> None:
    """Choose the round in the middle of a bar that was clicked, once for each click."""
    points = event.selection.points if event is not None else []
    clicked = points[0].get("customdata") if points else None
    mark = str(clicked)
    if clicked and st.session_state.get("training-clicked") != mark:
        st.session_state["training-clicked"] = mark
        chosen = figures.round_at(trace.rounds, float(clicked[0]))
        if chosen is not None:
            st.session_state[ROUND] = chosen.number
            st.rerun()


def _round_explanation(trace: training.PolicyTrace, data: training.TrainingOutcome) -> None:
    """Draw the choice of a round, and the priorities of its jobs."""
    chosen, last = _chosen(trace), trace.rounds[-1].number
    if chosen is None:
        st.caption("The priorities of this run were not kept. A run of fewer jobs keeps them.")
        return
    st.session_state[ROUND] = chosen.number
    hint = "The round to explain. A click on a bar chooses the round in the bar's middle."
    first = trace.rounds[0].number
    number = whole("Round", first, last, first, ROUND, hint, persist_state="session")
    explained = figures.round_at(
        trace.rounds, next((r.start_s for r in trace.rounds if r.number == number), 0.0)
    )
    if explained is None:
        return
    span = f"{findings.hours_text(explained.start_s)} to {findings.hours_text(explained.end_s)}"
    st.markdown(
        f"**Round {explained.number}**, {plain(span)}: {count_text(explained.running, 'job')} on GPUs, "
        f"{explained.waiting} waiting. On each type of GPU the highest priority π = X · W / τ goes first."
    )
    if not explained.priorities:
        kept = [r.number for r in trace.rounds if r.priorities]
        where_kept = (
            f"those of rounds {kept[0]} to {kept[-1]} are" if kept else "a run of fewer jobs keeps them"
        )
        st.caption(f"The priorities of this round were not kept; {where_kept}.")
        return
    table(
        priorities(explained.priorities, data.job_names),
        "training-priorities",
        f"Every job and type of GPU in round {explained.number}: priority and why",
    )
    st.caption(
        "X: allocated share of time. τ: time received on this type since the last allocation, plus half a "
        "round. W: the sum of τ over all rows. GPU types are filled one after the other, the fastest first; "
        "in random order if the policy ignores types. Remaining GPUs go to jobs without a share."
    )


def _one_more_tab(state: AppState, data: training.TrainingOutcome | None) -> None:
    spec = state.scenario.training
    names = [p.name for p in spec.policies] if spec else []
    policy = choose_one("Under", names, "training-shown-one-more", "The policy that shares the GPUs.")
    run_area(
        state,
        PageRun(
            kind="training-one-more",
            label="Add one GPU of each type",
            result_type=training.OneMoreReport,
            answer=_one_more,
            request=OneMoreRequest(policy=policy),
            before="Simulates the same jobs with one more GPU of each type in turn. The result is how much "
            "the mean JCT shrinks, and at what price.",
        ),
    )


def _one_more(state: AppState, report: training.OneMoreReport) -> None:
    chart(
        dots_figure(figures.one_more_dots(report), "mean JCT, h"),
        figures.one_more_finding(report).removesuffix("."),
        "training-one-more-figure",
        "Mean JCT with one more GPU of each type, and of the cluster as it is",
    )
    table(one_more(report), "training-one-more-table", "The cluster with one more GPU")


TABS: Mapping[str, Tab[training.TrainingOutcome]] = {
    "Policies": Tab(_policies_tab),
    "Fairness": Tab(_fairness_tab),
    "Rounds": Tab(_rounds_tab),
    "Allocation": Tab(_allocation_tab),
    "Jobs": Tab(_jobs_tab),
    "One more GPU": Tab(always=_one_more_tab),
}


POLL_S = 0.3
ADVICE = "Fewer jobs, replications or policies take less time."
Outcome = training.TrainingOutcome | ElasticHistory


def answer(state: AppState, data: Outcome) -> None:
    """Show the finding, with its large number."""
    show_finding("training-finding", findings.training_finding(data.report), data.about.stamp)


def files(data: Outcome, command: str, first_run: tuple[str, str], tables: Sequence[Download]) -> Files:
    """Return the files of a run; ``first_run``: name and content of the file of each policy's first run."""
    name, text = first_run
    whole = Download(
        f"{name} (JSON)",
        text,
        f"{file_stem(data.about.name)}_{name.lower()}.json",
        lambda: json.dumps(data.to_json()).encode(),
    )
    about, report = data.about, data.report
    page = reports(about, report, lambda: training_html(about, report), command)
    return {"To read and to share": [*page, whole], "Every job": tables}


def jct_chart(policies: findings.Policies, look: Callable[[str], ChartStyle], key: str) -> None:
    """Draw the distribution of the jobs' JCT under each policy."""
    alt = "Share of the jobs that are complete within a time, one line for each policy"
    chart(figures.jct_figure(policies, look), "Jobs complete within a time", key, alt)


def rho_chart(policies: findings.Policies, look: Callable[[str], ChartStyle], key: str) -> None:
    """Draw the distribution of the jobs' finish-time fairness under each policy."""
    alt = "Share of the jobs with at most a ρ, one line for each policy; dashed at 1: an equal share"
    chart(figures.rho_figure(policies, look), "Finish-time fairness", key, alt)


def checks(report: training.TrainingReport | ElasticReport, setting: str, after: str = "") -> None:
    """Say what was run, and which self-checks failed."""
    if report.failed_checks:
        st.error(f"Self-checks failed: {plain('; '.join(report.failed_checks))}.", icon=":material/error:")
    passed = f"{count_text(sum(report.checks.values()), 'self-check')} of the records passed"
    st.caption(plain(f"{setting} Simulated in {duration(report.seconds)}; {passed}.{after}"))
