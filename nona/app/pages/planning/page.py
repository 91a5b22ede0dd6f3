"""The Plan page: find, the answer, the table of options, the tabs, files."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from nona.app.jobs.registry import AppJob
from nona.app.pages.models.times import pick_precision
from nona.app.pages.planning.question import controls, summary
from nona.app.pages.run_page import RunPage, Tab
from nona.app.session.kept import choose
from nona.app.session.page_list import page_file
from nona.app.session.state import AppState
from nona.app.widgets.downloads import Files, download_button, file_stem, reports
from nona.app.widgets.fields import button, one_of, plain, unbroken
from nona.app.widgets.results import chart, picture, show_finding, table
from nona.core.errors import NonaError
from nona.deployment.exporting import archive_of, files_of
from nona.deployment.writing import Standing
from nona.planning import report_plan as plan
from nona.planning import report_plan_options as plan_options
from nona.planning.figures import (
    LOAD_MEASURES,
    MEASURES,
    cliff_figure,
    costs_figure,
    options_figure,
    week_figure,
)
from nona.planning.html import plan_html
from nona.planning.question import opened
from nona.planning.results import PlanOption, PlanOutcome, PlanReport

PINNED = "plan-pinned"
MOST = 8


def option_name(option: PlanOption) -> str:
    """Name servers and scheduler of an option, e.g. ``3 × l4, nona``, and its link."""
    return f"{plan.servers_text(option.servers)}, {option.scheduler_text}"


def _pinned_in(report: PlanReport) -> list[int]:
    names = _names()
    return [i for i, o in enumerate(report.options) if option_name(o) in names]


def _turn_pin(state: AppState, option: PlanOption) -> None:
    names, name = _names(), option_name(option)
    kept = [n for n in names if n != name] if name in names else [*names, name][-MOST:]
    choose(state, PINNED, kept)


def _names() -> list[str]:
    pinned = st.session_state.get(PINNED)
    return [str(n) for n in pinned] if isinstance(pinned, list | tuple) else []


VERDICTS = ("keeps", "open", "misses")
RULED_OUT = "ruled out without a run"
CHOICES = (*VERDICTS, RULED_OUT)
LIVE_ROWS = 12


def _options_section(state: AppState, report: PlanReport) -> None:
    st.subheader("Options", anchor="options")
    wanted = st.pills(
        "Show",
        CHOICES,
        selection_mode="multi",
        default=list(VERDICTS),
        key="plan-verdicts",
        persist_state="session",
        help="Options to list. An option that is only predicted to keep its targets counts as open.",
    )
    out = plan.ruled_out(report)
    kinds = [RULED_OUT if out[i] else o.verdict for i, o in enumerate(report.options)]
    listed = [i for i, kind in enumerate(kinds) if kind in (wanted or CHOICES)]
    answer = [report.answer.option] if report.answer is not None else []
    order = list(dict.fromkeys([*answer, *_pinned_in(report), *listed]))
    present = int(report.present is not None)  # rows before the options
    shown = [*range(present), *(present + i for i in order)]
    event = table(
        plan_options.options(report, shown),
        "plan-options",
        "The present cluster, then every option: the answer, pinned ones, the cheapest first",
        name="plan_options",
        on_select="rerun",
        selection_mode="single-row",
    )
    st.caption("Tick a row to see the reason for its verdict, and its models, below.")
    chosen = event.selection.rows if event is not None else []
    if chosen and chosen[0] < len(shown):
        _detail(state, report, *plan.marked(report)[shown[chosen[0]]])
    elif report.best is not None:
        _detail(state, report, plan.ANSWER, report.best)


def _live_options(report: PlanReport) -> None:
    """Show the options during the search: first those that were simulated."""
    entries = plan.marked(report)
    present = len(entries) - len(report.options)
    out = (*[False] * present, *plan.ruled_out(report))
    order = sorted(
        (i for i in range(len(entries)) if not out[i]),
        key=lambda i: (entries[i][0] != plan.PRESENT, entries[i][1].by != "simulation", i),
    )
    shown = plan_options.options(report, order[:LIVE_ROWS])
    table(
        shown.select(*shown.deciding),
        "plan-live",
        "The present cluster, then the options so far: the simulated ones first",
        files=False,
    )


def _detail(state: AppState, report: PlanReport, mark: str, option: PlanOption) -> None:
    with st.container(border=True, key="plan-option-detail"):
        begin = {plan.ANSWER: "The answer: ", plan.PRESENT: "The present cluster: "}.get(mark, "")
        st.markdown(f"**{plain(f'{begin}{option_name(option)}')}**")
        st.markdown(plain(_why(report, option)))
        with st.container(horizontal=True):
            st.button(
                "Open it as the scenario",
                icon=":material/open_in_new:",
                key="plan-open-option",
                on_click=_open,
                args=(state, option),
                help="Puts these servers, link and scheduler into the scenario. Undo takes them back.",
            )
            on = option_name(option) in _names()
            st.button(
                "Let it go" if on else "Pin",
                icon=":material/keep_off:" if on else ":material/keep:",
                key="plan-pin-option",
                on_click=_turn_pin,
                args=(state, option),
                help="Pinned options stand first in the table and by name in the charts.",
            )
        _take_away(state, option)
        if option.shares:
            alt = "Share within the SLO and p99 of every model on this option"
            table(plan_options.MODELS.fill(option.models), "plan-models", alt)
            st.caption(
                "Each interval holds by itself. Verdicts use wider limits, because late jobs cluster and the "
                "data are checked repeatedly."
            )


def _take_away(state: AppState, option: PlanOption) -> None:
    """Draw a menu of the files that deploy the option; none where it is not seen to keep its targets."""
    if option.verdict != "keeps":
        st.caption("*Take away* writes the files that deploy an option once it is seen to keep its targets.")
        return
    verdict = f"{option.verdict} ({option.reason})"
    standing = Standing(opened(state.scenario, option), verdict, option_name(option), option.headroom)
    with st.popover("Take away", icon=":material/archive:", key="plan-take-away"):
        for form, about in TAKEN.items():
            file = f"{file_stem(state.scenario.name)}_{form}.zip"
            try:
                data = archive_of(files_of(standing, form))
            except NonaError as error:
                st.caption(plain(f"{form.capitalize()}: {error}"))
            else:
                download_button(form.capitalize(), f"take-{form}", data, file, about, type="tertiary")


TAKEN = {
    "kubernetes": "Deployments with limits and selectors, commands of engines, placeholders.",
    "triton": "Fragments of model configurations: batching and instances.",
    "gpus": "Slices by device number with a way back; sharing by MPS.",
    "alerts": "Rules on late requests and traffic, and the load test that would refute the plan.",
}


def _why(report: PlanReport, option: PlanOption) -> str:
    sure = (
        f" at {100 * report.confidence:.4g} % confidence"
        if option.by == "simulation" and option.verdict != "open"
        else ""
    )
    runs = f" after {option.replications} runs" if option.replications else ""
    return f"{option.verdict.capitalize()}{sure}{runs}: {plan.why_text(option)}. {plan.needed_text(option)}"


def _open(state: AppState, option: PlanOption) -> None:
    state.apply(opened(state.scenario, option), "opening an option of the plan")
    state.notify("The scenario has these servers now. Run it to see its charts.", "simulation", "Simulation")
    state.go_to = page_file("simulation")


def _live(job: AppJob) -> None:
    outcome = PlanOutcome.from_json(job.live)
    _finding(outcome)
    _choice(outcome.report, "plan-chart-live")
    _live_options(outcome.report)


def _answer(state: AppState, outcome: PlanOutcome) -> None:
    _finding(outcome)
    if outcome.report.group is not None and outcome.report.evidence:
        table(
            plan_options.series_table(outcome.report), "plan-counts", "The fewest servers for each scheduler"
        )
    st.fragment(_choice)(outcome.report, "plan-chart")
    _options_section(state, outcome.report)


def _finding(outcome: PlanOutcome) -> None:
    report = outcome.report
    answer = report.answer
    show_finding("plan-finding", plan.outcome_finding(outcome))
    if answer is not None:
        st.caption(unbroken(f"{plan.answer_text(answer, report.currency)}. Targets: {_targets(report)}."))
    if now := plan.present_text(report):
        st.caption(unbroken(now))


def _targets(report: PlanReport, most: int = 5) -> str:
    texts = [t.text for t in report.targets]
    return "; ".join(texts[:most]) + (f"; and {len(texts) - most} more" if len(texts) > most else "")


def _choice(report: PlanReport, key: str) -> None:
    if not any(o.shares for o in report.options):
        return
    hint = "Late jobs divided by the late jobs that the tightest target allows. Above 1 the target is missed."
    measure = one_of("Show", MEASURES, "plan-measure", hint)
    of = "Cost per hour" if report.group is None else "Servers"
    alt = f"{of} of every simulated option against its {measure}. {plan.plan_finding(report).lead}"
    picture(options_figure(report, measure, _pinned_in(report)), key=key, alt=alt)
    if measure == "Error budget" and (
        note := plan.floor_note(plan.tightest(report.targets, o.shares) for o in report.options)
    ):
        st.caption(note)


def _not_reached(state: AppState, report: PlanReport, what: str) -> None:
    """Say why a tab on the answer is empty, and the way on."""
    if report.best is None:
        st.caption("Appears when an option keeps the targets.")
        return
    st.caption(
        f"The plan was cancelled before it computed {what}: find it again, or open this answer as the "
        "scenario and ask there whether it holds."
    )
    button("Open it as the scenario", f"plan-open-{what}", _open, state, report.best, icon="open_in_new")


def _traffic(state: AppState, report: PlanReport) -> None:
    if not report.curve:
        _not_reached(state, report, "more traffic")
        return
    finding = plan.cliff_finding(report)
    hint = (
        "In time: the share of jobs within the bound of the tightest target. p99: that of the slowest model."
    )
    measure = one_of("Show over the traffic", LOAD_MEASURES, "plan-load-measure", hint)
    chart(cliff_figure(report, measure), finding, "plan-cliff", f"{measure} over the traffic, with verdicts.")
    if measure == "Error budget" and (
        note := plan.floor_note(plan.tightest(report.targets, c.shares) for c in report.curve)
    ):
        st.caption(note)
    with st.expander("The numbers of this chart", icon=":material/table:"):
        table(plan_options.curve(report), "plan-curve", "The answer with more and less traffic")
    table(plan_options.targets(report), "plan-targets", "How much traffic each target can take")
    st.caption(
        "Only the factors in the chart were simulated. Beyond the headroom, the 95 % interval of a target's "
        "share decides whether it holds."
    )


def _failures(state: AppState, report: PlanReport) -> None:
    if not report.failures:
        _not_reached(state, report, "failures")
        return
    table(
        plan_options.failures(report),
        "plan-failures",
        "Whether the answer keeps its targets with servers missing",
    )
    st.caption(
        "Simulated with today's traffic on the remaining servers. Work in progress on the lost servers is "
        "not counted."
    )


def _costs(state: AppState, report: PlanReport) -> None:
    if report.answer is None:
        _not_reached(state, report, "costs")
        return
    picture(
        costs_figure(report, _pinned_in(report)),
        key="plan-costs",
        alt="Cost per hour by part of the options that keep",
    )
    for note in report.prices:
        st.caption(plain(note))
    if report.prices:
        st.caption("Check prices before you buy: they are as of these dates.")


def _week(state: AppState, report: PlanReport) -> None:
    if report.week is None:
        if state.scenario.plan is not None and state.scenario.plan.profile is not None:
            _not_reached(state, report, "the week")
        else:
            st.caption(
                "The traffic is steady. To size for the peak of a week, choose a profile under Demand."
            )
        return
    finding = plan.week_text(report.week, report.currency)
    chart(week_figure(report.week), finding, "plan-week", "Traffic and servers by hour of the week.")


def _evidence(state: AppState, report: PlanReport) -> None:
    st.markdown(plain(plan_options.evidence_text(report)))
    if report.evidence:
        alt = "Server counts ruled out, missed and kept, for each kind of cluster"
        table(plan_options.series_table(report), "plan-evidence", alt)
    if report.work:
        st.caption(
            "Time for which one query keeps a GPU or slice busy. Times given for one GPU are scaled to the "
            "others by a ratio, which page Models states."
        )
        table(plan_options.work(report), "plan-work", "Time of one query on each kind of executor")


def _files(state: AppState, data: PlanOutcome) -> Files:
    return {"To read and to share": reports(data.about, data.report, lambda: plan_html(data), "plan", "plan")}


def _of_report(draw: Callable[[AppState, PlanReport], None]) -> Tab[PlanOutcome]:
    return Tab(lambda state, data: draw(state, data.report))


def _fields(state: AppState) -> None:
    controls(state)
    pick_precision(state)


PLAN = RunPage(
    kind="plan",
    label="Find the plan",
    result_type=PlanOutcome,
    summary=summary,
    fields=_fields,
    live=_live,
    answer=_answer,
    before="The search orders the options by prediction, then simulates each until its verdict is clear. "
    "Cancel keeps the result so far.",
    tabs={
        "More traffic": _of_report(_traffic),
        "Failures": _of_report(_failures),
        "Costs": _of_report(_costs),
        "Week": _of_report(_week),
        "Evidence": _of_report(_evidence),
    },
    files=_files,
    command="plan",
    guide=("plan", "How the plan is searched, and what its verdicts mean"),
    advice="Fewer offers, schedulers or runs take less time.",
)
