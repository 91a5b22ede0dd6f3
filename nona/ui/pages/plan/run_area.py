"""Find, cancel, and the answer: while the search goes on and afterwards, in one place."""

from __future__ import annotations

import streamlit as st

from nona.report.plan.budget import floor_note, tightest
from nona.report.plan.figures.options import MEASURES, Measure, options_figure
from nona.report.plan.text import answer_text, finding_parts
from nona.report.plan.words import day_of, money
from nona.results.plan import PlanOutcome, PlanReport
from nona.ui.jobs.job import Job
from nona.ui.pages.plan.option_views import live_options
from nona.ui.pages.plan.pins import pinned_in
from nona.ui.session.state import AppState
from nona.ui.shell.job_panel import current_job, job_buttons, live_area, stale_note
from nona.ui.shell.progress import beat, duration, progress_text
from nona.ui.widgets.charts import picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.hero import hero

KIND = "plan"
POLL_S = 0.6


def run_area(state: AppState) -> PlanOutcome | None:
    """Buttons, then the answer so far or the last one; the plan to show below, if there is one."""
    running = job_buttons(state, KIND, "Find the plan")
    held = state.held(KIND, PlanOutcome)
    with st.container():
        if not running and held is not None:
            stale_note(state, KIND)
    with st.container(key="plan-area"):
        every_s = beat(current_job(state, KIND), POLL_S)
        st.fragment(_area, run_every=every_s)(state, every_s)
    return None if running else held


def _area(state: AppState, every_s: float | None) -> None:
    if not live_area(state, KIND, every_s, _live, "Fewer offers, schedulers or runs end sooner."):
        return
    held = state.held(KIND, PlanOutcome)
    if held is not None:
        _answer(held)
        _choice(held.report, "plan-chart")
    elif current_job(state, KIND) is None:
        st.caption(
            "The search first orders the options by prediction, then simulates them until each verdict "
            "stands. Cancel keeps what is known by then."
        )


def _live(job: Job) -> None:
    st.progress(job.fraction, text=plain(progress_text(job)))
    found = PlanOutcome.from_json(job.live)
    _answer(found)
    _choice(found.report, "plan-chart-live")
    live_options(found.report)


def _answer(found: PlanOutcome) -> None:
    """The answer in a sentence, with its price as the large number."""
    report = found.report
    if found.ended_early_s is not None:
        st.warning(
            f"Cancelled after {duration(found.ended_early_s)}: this is what was known by then.",
            icon=":material/stop_circle:",
        )
    answer = report.answer
    value = "" if answer is None else money(answer.cost_per_hour, report.currency)
    large, small = finding_parts(report, day_of(found.about.made))
    with hero("plan-finding", "Cost per hour", value, "Servers and links of the answer, without data moved."):
        st.subheader(_said(large), anchor=False)
        st.caption(_said(small))
    if answer is not None:
        st.caption(_said(f"{answer_text(answer, report.currency)}. Targets: {_targets(report)}."))


def _targets(report: PlanReport, most: int = 5) -> str:
    texts = [t.text for t in report.targets]
    return "; ".join(texts[:most]) + (f"; and {len(texts) - most} more" if len(texts) > most else "")


def _choice(report: PlanReport, key: str) -> None:
    """Cost against what the options keep."""
    if not any(o.shares for o in report.options):
        return
    shown = st.segmented_control(
        "Show",
        MEASURES,
        default=MEASURES[0],
        required=True,
        key="plan-measure",
        persist_state="session",
        help="Error budget: late jobs of the tightest target over those that it allows; above 1: missed.",
    )
    measure: Measure = shown if shown in MEASURES else MEASURES[0]
    alt = f"Cost per hour of every simulated option against its {measure}. {finding_parts(report)[0]}"
    picture(options_figure(report, measure, pinned_in(report)), key=key, alt=alt)
    if measure == "Error budget" and (
        note := floor_note(tightest(report.targets, o.shares) for o in report.options)
    ):
        st.caption(note)


def _said(sentence: str) -> str:
    return plain(sentence).replace(" %", "\N{NO-BREAK SPACE}%")
