"""The Training page for elastic jobs: their settings, the run as it goes on, and what it found."""

from __future__ import annotations

import bisect
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from nona.app.form import field
from nona.app.jobs.registry import AppJob
from nona.app.pages.run_page import RunPage, Tab, run_page
from nona.app.pages.training.drawings import elastic_drawing, given_at, moment_drawing
from nona.app.pages.training.results import ADVICE, POLL_S, answer, checks, files, jct_chart, rho_chart
from nona.app.session.state import AppState
from nona.app.widgets.components import draw
from nona.app.widgets.downloads import Files, file_stem, frame_files
from nona.app.widgets.fields import choose_one, listed, plain, show_error
from nona.app.widgets.policy_choice import option_popover, pick_entries, policy_entries
from nona.app.widgets.results import chart, table
from nona.app.widgets.terms import term
from nona.core.errors import NonaError, reasons
from nona.core.tables import share_text
from nona.core.text import count_text
from nona.core.units import format_bandwidth, format_number
from nona.scenario.schema import Scenario
from nona.scenario.training import ElasticSpec, ProfilesSpec
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.results import ElasticHistory, ElasticJobOutcome, ElasticLive, ElasticTrace
from nona.training.elastic.workload import SHIPPED
from nona.training.report.figures import MEASURES, elastic_style, job_figure, measure_title, time_figure
from nona.training.report.findings import hours_text, job_label, jobs_text
from nona.training.report.tables import ELASTIC_JOBS, changes, policies
from nona.training.report.text import setting_text
from nona.training.workflows.elastic import MOST_GPUS, MOST_NODES, expected_s, expected_text

_PART = ("training", "elastic")
_COMPLAINT = "elastic-upload"
_TABLES = tuple(f"{name}.csv" for name in ProfilesSpec.model_fields)


def _elastic_controls(state: AppState, spec: ElasticSpec) -> None:
    _workload(state, spec)
    _cluster(state)
    _link(state, spec)
    path = (*_PART, "policies")
    pick_entries(state, "elastic-policies", path, policy_entries(ELASTIC, "Elastic policies"))
    with st.container(horizontal=True, vertical_alignment="center"):
        option_popover(state, "training-elastic-options", path, ELASTIC)
    with st.grid(3, min_column_width=140):
        field(state, (*_PART, "tick"))
        drawn = "Only policies that draw random numbers need several runs; the others have one."
        field(state, "simulation.replications", more=drawn)
        field(state, "seed")


def _summary(scenario: Scenario) -> list[str]:
    group, part = scenario.cluster.servers[0], scenario.training
    spec = None if part is None else part.elastic
    if part is None or spec is None:
        return []
    return [
        jobs_text(part),
        f"{count_text(group.count, 'node')} with {count_text(group.gpus, 'GPU')}",
        listed([p.name for p in spec.policies]),
        f"ticks of {hours_text(spec.tick)}",
        f"interference {share_text(spec.interference)}" if spec.interference else "",
        _link_text(scenario) if spec.link else "",
        count_text(scenario.simulation.replications, "run"),
        f"seed {scenario.seed}",
    ]


def _workload(state: AppState, spec: ElasticSpec) -> None:
    shipped = {number: f"{number}: 160 jobs in 8 hours, as measured for Pollux" for number in SHIPPED}
    files = [n for n in state.uploads.names() if n.lower().endswith(".csv") and n not in _TABLES]
    choices = shipped | {name: name for name in files}
    left, right = st.columns(2)
    with left:
        use = partial(_use, state, spec.profiles)
        field(state, (*_PART, "workload"), choices=choices, edit=use)
    with right:
        if spec.shipped:
            field(state, (*_PART, "load"))
        else:
            st.caption(f"Profiles: {plain(_profiles_text(spec))}")
    _upload(state)


def _profiles_text(spec: ElasticSpec) -> str:
    if spec.profiles is None:
        return "the six applications that ship."
    return f"{', '.join(name for _, name in spec.profiles)}."


def _use(state: AppState, profiles: ProfilesSpec | None, workload: str | int) -> None:
    """Take a workload; a load is for those that ship, profiles of one's own are for files."""
    now: dict[str, Any] = dict(state.value(_PART) or {})
    now["workload"] = workload
    if workload in SHIPPED:
        now.pop("profiles", None)
    else:
        now.pop("load", None)
        if profiles is not None:
            now["profiles"] = profiles.model_dump()
    state.change(_PART, now)


def _upload(state: AppState) -> None:
    key = f"elastic-upload-{state.revision}"

    def choose() -> None:
        state.choices.complaints.pop(_COMPLAINT, None)
        try:
            names = [state.uploads.add(file.name, file.getvalue()) for file in st.session_state[key]]
        except NonaError as error:
            state.choices.complaints[_COMPLAINT] = "\n".join(reasons(error))
            return
        files = set(state.uploads.names())
        profiles = ProfilesSpec() if set(_TABLES) <= files else None
        jobs = [name for name in names if name not in _TABLES]
        if jobs:
            _use(state, profiles, jobs[-1])
        elif profiles is None:
            missing = ", ".join(name for name in _TABLES if name not in files)
            state.choices.complaints[_COMPLAINT] = (
                f"Profiles are four files: {missing} is not here yet; upload it too, then a workload."
            )

    st.file_uploader(
        "Or upload a workload, and profiles of your own applications",
        key=key,
        type=["csv"],
        accept_multiple_files=True,
        on_change=choose,
        max_upload_size=64,
        help="Workload: CSV with the columns name, arrival_s, application, gpus, batch_size. Profiles: "
        f"{', '.join(_TABLES)}, with the columns of those that ship.",
    )
    if state.choices.complaints.get(_COMPLAINT):
        show_error(state.choices.complaints[_COMPLAINT])


def _cluster(state: AppState) -> None:
    groups = state.scenario.cluster.servers
    if len(groups) > 1:
        st.warning(
            f"The cluster has {len(groups)} groups of servers; elastic jobs need one, all alike. Remove the "
            "others on page Scenario.",
            icon=":material/dns:",
        )
    with st.grid(4, min_column_width=140):
        field(state, "cluster.servers.0.count", "Nodes", f"At most {MOST_NODES}.")
        field(state, "cluster.servers.0.gpus", "GPUs of a node", f"At most {MOST_GPUS}.")
        field(state, (*_PART, "interference"))
        field(state, (*_PART, "restart"))
    if groups[0].gpu != "t4":
        gpu = plain(groups[0].gpu)
        st.caption(
            f"The shipped profiles were measured on NVIDIA T4; they are used unchanged for {gpu} as they are."
        )


def _link(state: AppState, spec: ElasticSpec) -> None:
    field(state, (*_PART, "link"))
    if not spec.link:
        return
    with st.grid(4, min_column_width=140):
        field(state, "cluster.network.capacity")
        field(state, "background.network.utilization", "Background traffic")


def _link_text(scenario: Scenario) -> str:
    network, others = scenario.cluster.network, scenario.background.network
    return f"link of {format_bandwidth(network.capacity)}, {share_text(others.utilization)} used by others"


def _live(job: AppJob) -> None:
    draw("elastic-live", elastic_drawing(ElasticLive.from_json(job.live)))


def _policies_tab(state: AppState, data: ElasticHistory) -> None:
    report = data.report
    alt = "Every policy: JCT with its interval, waiting, GPUs of a job, efficiency, fairness"
    wide = {"policy": st.column_config.TextColumn(width=130)}
    table(policies(report), "elastic-policies", alt, column_config=wide)
    st.caption(
        "±: 95 % interval over runs with other random numbers; policies that draw none have one run. "
        f"GPUs of a job: the mean while it has any. Efficiency: {term('statistical efficiency')}, mean over "
        "GPU time. What differs between workloads is on "
        "*Evidence*, tab *Published claims*."
    )
    jct_chart(report.policies, elastic_style, "elastic-cdf")
    hint = "What to show of the cluster."
    measure = choose_one("Over time", list(MEASURES), "training-shown-elastic-measure", hint)
    unit, values = MEASURES[measure]
    means = {name: sum(values(trace)) / len(trace.time_s) for name, trace in data.traces.items()}
    chart(
        time_figure(data.traces, measure),
        measure_title(measure, unit, means),
        "elastic-time",
        f"{measure} ({unit}) over the hours of the run, one line for each policy",
    )
    if measure == "Goodput":
        st.caption(f"{term('goodput')}: progress, not samples. Each job's whole progress counts 1.")
    if part := report.setting.interference:
        st.caption(f"{term('interference')}: {plain(share_text(part))} of the speed.")
    checks(report, setting_text(report.setting))


def _fairness_tab(state: AppState, data: ElasticHistory) -> None:
    rho_chart(data.report.policies, elastic_style, "elastic-rho")
    st.caption(
        f"ρ ({term('finish-time fairness')}): a job's JCT over its JCT alone on an equal share, at the "
        "user's batch size. The share is the number of GPUs over the mean number of jobs present with it, in "
        "whole GPUs. A policy that chooses better batch sizes can bring most jobs below 1."
    )


def _jobs_tab(state: AppState, data: ElasticHistory) -> None:
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
            _job_title(data, number),
            "elastic-job",
            "GPUs, batch size, goodput and statistical efficiency of the job since its arrival, by policy; "
            "gaps: it has no GPUs",
        )
        st.caption(
            f"{term('goodput')}: progress in samples at the smallest batch size per second, over a tick. "
            f"{term('statistical efficiency')}: progress of a sample, 1 at the smallest batch, less at "
            f"larger ones; the larger the {term('gradient noise')}, the nearer to 1."
        )
    else:
        st.caption("The history of this job was not kept: the run has too many jobs and ticks.")
    _changes(data, policy, number, outcome)
    st.markdown(f"**All jobs under {plain(policy)}**")
    alt = f"Every job of the first run under {policy}"
    table(ELASTIC_JOBS.fill(data.report.policies[policy].jobs), "elastic-jobs", alt)


def _first(data: ElasticHistory, names: list[str]) -> list[str]:
    """All jobs; the one whose GPUs change most under the first policy comes first."""
    counts = [0] * len(names)
    for move in next(iter(data.traces.values())).moves:
        counts[move.job] += 1
    most = max(range(len(names)), key=lambda n: (counts[n], -n))
    return [names[most], *(name for n, name in enumerate(names) if n != most)]


def _job_title(data: ElasticHistory, number: int) -> str:
    jcts = {name: p.jobs[number].jct_s for name, p in data.report.policies.items()}
    order = sorted(jcts, key=lambda name: (jcts[name], name))
    job = next(iter(data.report.policies.values())).jobs[number]
    listed = ", ".join(f"{hours_text(jcts[name])} under {name}" for name in order)
    return f"{job_label(job.name)} ({job.application}) takes {listed}"


def _changes(data: ElasticHistory, policy: str, number: int, job: ElasticJobOutcome) -> None:
    trace = data.traces[policy]
    st.markdown(f"**Why its GPUs changed under {plain(policy)}**")
    alt = f"Every change of the GPUs of {job.name} under {policy}"
    table(changes(trace, number), "elastic-changes", alt)
    registered = ELASTIC.get(policy)
    rule = plain(registered.summary) if registered else ""
    st.caption(
        f"{rule} The user asked for {job.gpus} GPUs and {job.batch:,} samples a step. Nodes: node:GPUs. "
        "Jobs that share or wait: those with GPUs + those without, after the change."
    )


TIME = "training-shown-elastic-minute"
JOBS_SHOWN = 12


def _nodes_tab(state: AppState, data: ElasticHistory) -> None:
    st.fragment(_nodes)(data)


def _nodes(data: ElasticHistory) -> None:
    left, right = st.columns([1, 2])
    with left:
        hint = "The policy to show."
        policy = choose_one("Policy", list(data.traces), "training-shown-elastic-nodes", hint)
    trace = data.traces[policy]
    with right:
        minute = _minute(trace)
    draw("elastic-nodes", moment_drawing(data, policy, 60.0 * minute))
    st.caption(plain(_jobs_text(data, policy, 60.0 * minute)))
    chart(
        time_figure({policy: trace}, "GPUs in use", 60.0 * minute),
        _nodes_title(trace, policy),
        "elastic-used",
        f"GPUs in use over the hours of the run under {policy}; dashed: the time of the grid above",
    )


def _minute(trace: ElasticTrace) -> int:
    end = max(1, int(trace.time_s[-1] // 60))
    now = st.session_state.get(TIME)
    if not isinstance(now, int) or not 0 <= now <= end:
        busiest = max(range(len(trace.used)), key=lambda k: (trace.running[k] + trace.waiting[k], -k))
        st.session_state[TIME] = min(end, int(trace.time_s[busiest] // 60))
    hint = (
        "Minutes since the start of the run; at first the moment with the most jobs. Arrow keys move by one."
    )
    return int(st.slider("Minute", 0, end, key=TIME, persist_state="session", help=hint))


def _jobs_text(data: ElasticHistory, policy: str, time_s: float) -> str:
    given, trace = given_at(data, policy, time_s), data.traces[policy]
    sizes = {job: sum(count for _, count in shares) for job, shares in given.items()}
    largest = sorted(sizes, key=lambda job: (-sizes[job], job))[:JOBS_SHOWN]
    applications = {n: job.application for n, job in enumerate(data.report.policies[policy].jobs)}
    listed = ", ".join(f"{job} {applications.get(job, '')} ({sizes[job]})" for job in largest)
    k = max(0, bisect.bisect_right(trace.time_s, time_s + 1e-9) - 1)
    more = f", and {len(sizes) - len(largest)} more" if len(sizes) > len(largest) else ""
    most_text = f"Jobs with most GPUs: {listed}{more}." if listed else "No job has GPUs."
    return f"{len(sizes)} jobs run and {trace.waiting[k]} wait after {hours_text(time_s)}. {most_text}"


def _nodes_title(trace: ElasticTrace, policy: str) -> str:
    moved = len({move.job for move in trace.moves}) or 1
    return (
        f"{policy}: the GPUs of a job change {format_number(len(trace.moves) / moved)} times, start "
        "and end included"
    )


def _files(state: AppState, data: ElasticHistory) -> Files:
    name = file_stem(data.about.name)
    jobs = (
        "A row for each job and policy of the first run: JCT, waiting, GPU-seconds, restarts, ρ, in seconds."
    )
    ticks = "A row for each job with GPUs at each tick: GPUs, batch size, goodput, statistical efficiency."
    decisions = "First run of each policy: the GPUs of every job, and the data behind each decision."
    tables = [
        *frame_files("Jobs", jobs, f"{name}_jobs", lambda: _jobs_frame(data)),
        *frame_files("Ticks", ticks, f"{name}_ticks", lambda: _ticks_frame(data))[1:],  # a CSV would be huge
    ]
    return files(data, "training elastic", ("Decisions", decisions), tables)


def _jobs_frame(data: ElasticHistory) -> pd.DataFrame:
    rows = [{"policy": n, **job.to_json()} for n, p in data.report.policies.items() for job in p.jobs]
    return pd.DataFrame(rows)


def _ticks_frame(data: ElasticHistory) -> pd.DataFrame:
    return pd.concat(
        pd.DataFrame({"policy": policy, "job": job, **{k: list(v) for k, v in dict(course).items()}})
        for policy, trace in data.traces.items()
        for job, course in zip(data.jobs, trace.courses, strict=False)
    )


TABS = {
    "Policies": Tab(_policies_tab),
    "Nodes": Tab(_nodes_tab),
    "Jobs": Tab(_jobs_tab),
    "Fairness": Tab(_fairness_tab),
}


def elastic_page(state: AppState, spec: ElasticSpec) -> None:
    """Draw settings, the run, its results."""
    text = expected_text(expected_s(spec, state.scenario.simulation.replications))
    page = RunPage(
        kind="training-elastic",
        label="Run the policies",
        result_type=ElasticHistory,
        summary=_summary,
        fields=lambda state: _elastic_controls(state, spec),
        live=_live,
        answer=answer,
        before=f"Every policy gets the same jobs. The run takes {text} on one idle core, longer while others "
        "compute too. It shows live which job has which GPU. Results are JCT, waiting and fairness of every "
        "policy, and why a job grew or shrank.",
        tabs=TABS,
        files=_files,
        command="training elastic",
        guide=("training-elastic", "What is simulated here, and what is assumed"),
        advice=ADVICE,
        poll_s=POLL_S,
    )
    run_page(state, page)
