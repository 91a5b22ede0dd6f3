"""Number of servers that keeps the SLOs: the question, the answer, and how sure it is."""

from __future__ import annotations

import streamlit as st

from nona.report import capacity as report_capacity
from nona.report.planning_figures import capacity_figure
from nona.results.planning import CapacityReport
from nona.scenario.values import NamedSpec
from nona.schedulers.registry import scheduler_names
from nona.study.capacity import PREDICTED
from nona.study.planning.question import with_first
from nona.study.sweep_numbers import with_value
from nona.ui.jobs.registry import Job
from nona.ui.pages.run_page import Run, ended_early, run_area
from nona.ui.session.state import AppState
from nona.ui.tasks.desk import CapacityAsked
from nona.ui.widgets.fields import label_text, listed, plain, share_to_keep
from nona.ui.widgets.policy_choice import kept_schedulers
from nona.ui.widgets.results import picture, table
from nona.units import format_bandwidth, format_number, format_time

SCHEDULERS_KEY = "capacity-schedulers"


def capacity_section(state: AppState) -> None:
    st.subheader("How many servers keep the SLOs?", anchor="capacity")
    if all(row.slo is None for row in state.scenario.workload):
        st.caption("No query has an SLO; give one on page Scenario.")
        return
    _inputs(state)
    asked = _controls(state)
    names = [word for name in asked.schedulers for word in ("--scheduler", name)]
    more = ["--simulate"] if asked.simulated else []
    run_area(
        state,
        Run(
            kind="capacity",
            label="Find the fewest servers",
            of=CapacityReport,
            live=_so_far,
            answer=_answer,
            asked=asked,
            before="Tries numbers of servers for each scheduler, with all else unchanged: by prediction for "
            f"{', '.join(PREDICTED[:-1])} and {PREDICTED[-1]}, by simulation for the others.",
            refused="" if asked.schedulers else "Choose a scheduler first.",
            command="capacity",
            words=["--hit", str(asked.hit), "--group", str(asked.group), *names, *more],
        ),
    )


def _inputs(state: AppState) -> None:
    cluster = state.scenario.cluster
    groups = listed([f"{g.count} × {g.gpu}" + (f" ({g.mig})" if g.mig else "") for g in cluster.servers], 6)
    rows = [
        f"{label} {format_number(row.rate, 4)}/s within {format_time(row.slo)}"
        if row.slo is not None
        else f"{label} {format_number(row.rate, 4)}/s, no SLO"
        for label, row in zip(state.scenario.labels, state.scenario.workload, strict=True)
    ]
    link = format_bandwidth(cluster.network.capacity)
    with st.container(border=True, gap="xsmall", key="capacity-inputs"):
        _input("Cluster", ":material/dns:", f"{groups}; link {link}", "pages/scenario.py")
        _input("Workload", ":material/stacked_line_chart:", listed(rows, 6), "pages/scenario.py")


def _input(name: str, icon: str, text: str, page: str) -> None:
    left, right = st.columns([1, 4], vertical_alignment="center")
    left.page_link(page, label=name, icon=icon, help=f"Change the {name.lower()}.")
    right.markdown(plain(text))


def _controls(state: AppState) -> CapacityAsked:
    groups = state.scenario.cluster.servers
    left, right = st.columns(2)
    with left:
        hint = "The share of its jobs that every model with an SLO must finish in time."
        hit = share_to_keep("capacity-hit", hint)
    names = [f"{i + 1}: {g.gpu}" for i, g in enumerate(groups)]
    chosen = right.selectbox(
        "Servers that grow",
        names,
        key="capacity-group",
        help="The group of servers whose number is searched; the other groups stay as they are.",
    )
    schedulers = _schedulers(state)
    simulated = st.toggle(
        "Simulate predictions too",
        key="capacity-simulated",
        help="Also simulates a number of servers that was found by prediction, and one server fewer.",
    )
    group = names.index(chosen) if chosen in names else 0
    return CapacityAsked(hit=hit, group=group, schedulers=schedulers, simulated=bool(simulated))


def _schedulers(state: AppState) -> tuple[str, ...]:
    own = tuple(dict.fromkeys(s.name for s in state.scenario.schedulers))
    hint = "Each has its own answer: one that looks at queues may need half as many servers as another."
    return kept_schedulers(state, SCHEDULERS_KEY, "Schedulers", own, {*own, *scheduler_names()}, hint)


def _so_far(job: Job) -> None:
    report = CapacityReport.from_json(job.live)
    st.markdown(
        plain(f"So far: {report_capacity.capacity_finding(report)} {report_capacity.others_finding(report)}")
    )
    alt = "What is known so far of the fewest servers for each scheduler"
    table(report_capacity.capacity(report), "capacity-live", alt, files=False)


def _answer(state: AppState, report: CapacityReport) -> None:
    ended_early(report.ended_early_s)
    finding, others = report_capacity.capacity_finding(report), report_capacity.others_finding(report)
    st.markdown(f"**{plain(finding)}** {plain(others)}".strip())
    _use(state, report)
    for note in (_beside(state, report), report_capacity.alone_note(report, scheduler_names())):
        if note:
            st.caption(plain(note))
    picture(
        capacity_figure(report),
        key="capacity",
        alt=f"Share of missed SLOs over the number of servers, logarithmic. {finding} {others}",
    )
    table(report_capacity.capacity(report), "capacity-table", "The fewest servers for each scheduler")
    with st.expander("Every number of servers that was tried"):
        table(report_capacity.tried(report), "capacity-tried", "Every number of servers that was tried")


def _beside(state: AppState, report: CapacityReport) -> str:
    """Say what the counts leave out: servers of other groups, and that fewer than one were not tried."""
    others = report_capacity.others_stay(state.scenario.cluster.servers, report.group)
    notes = [others] if others else []
    if others and any(d.servers == 1 for d in report.devices):
        notes.append("1 is the fewest that is tried; Plan also tries the other servers alone.")
    return " ".join(notes)


def _use(state: AppState, report: CapacityReport) -> None:
    group, groups, best = report.group, state.scenario.cluster.servers, report.best_scheduler
    answers = {d.scheduler: d.servers for d in report.devices if d.servers is not None}
    if group >= len(groups) or groups[group].gpu not in {d.gpu for d in report.devices}:
        return
    with st.container(horizontal=True):
        for scheduler in sorted(answers, key=lambda name: name != best):
            of = "" if len(answers) == 1 else f": {answers[scheduler]:,} under {scheduler}"
            st.button(
                label_text(f"Use it{of}"),
                icon=":material/open_in_new:",
                key=f"capacity-use-{scheduler}",
                on_click=_take,
                args=(state, group, answers[scheduler], scheduler),
                help="Puts this many servers and this scheduler into the scenario; Undo restores the old.",
            )


def _take(state: AppState, group: int, servers: int, scheduler: str) -> None:
    entries = state.scenario.schedulers
    own = next((s for s in entries if s.name == scheduler), NamedSpec(name=scheduler))
    sized = with_value(state.scenario, f"cluster.servers[{group}].count", servers)
    state.apply(with_first(sized, own), "using the fewest servers")
    state.tell(f"The scenario has {servers:,} of these servers now.", "scenario", "Scenario")
