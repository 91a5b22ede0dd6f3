"""The tabs below the options of a plan; only the open one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd
import streamlit as st

from nona.report.plan.budget import floor_note, target_rows, tightest
from nona.report.plan.evidence import chain_rows, evidence_text, failure_rows, work_rows
from nona.report.plan.figures.costs import costs_figure
from nona.report.plan.figures.load import LOAD_MEASURES, LoadMeasure, cliff_figure
from nona.report.plan.figures.week import week_figure
from nona.report.plan.text import cliff_finding, curve_rows, week_text
from nona.results.plan import PlanReport
from nona.ui.pages.plan.pins import pinned_in
from nona.ui.widgets.charts import chart, picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table

Tab = Callable[[PlanReport], None]
EVIDENCE = {
    "servers that grow": st.column_config.TextColumn(width=236),
    "beside": st.column_config.TextColumn(width=256, help="Servers whose number stays."),
    "scheduler": st.column_config.TextColumn(width=98),
    "ruled out up to": st.column_config.NumberColumn("ruled out ≤", width=86, help="By bounds."),
    "misses or open up to": st.column_config.NumberColumn("not kept ≤", width=84, help="Misses or open."),
    "keeps from": st.column_config.NumberColumn("keeps ≥", width=70),
}


def plan_tabs(report: PlanReport) -> None:
    """What the answer bears, what is left of it, what it costs, and the evidence."""
    tabs = st.tabs(list(TABS), on_change="rerun", key="plan-tabs")
    for tab, draw in zip(tabs, TABS.values(), strict=True):
        if tab.open:
            with tab:
                draw(report)


def _traffic(report: PlanReport) -> None:
    if not report.curve:
        st.caption("Nothing keeps the targets yet, so that there is no traffic to try it with.")
        return
    finding = cliff_finding(report)
    shown = st.segmented_control(
        "Show over the traffic",
        LOAD_MEASURES,
        default=LOAD_MEASURES[0],
        required=True,
        key="plan-load-measure",
        persist_state="session",
        help="In time: the share of jobs within the bound of the tightest target. p99: of the slowest model.",
    )
    measure: LoadMeasure = shown if shown in LOAD_MEASURES else LOAD_MEASURES[0]
    chart(cliff_figure(report, measure), finding, "plan-cliff", f"{measure} over the traffic, with verdicts.")
    if measure == "Error budget" and (
        note := floor_note(tightest(report.targets, c.shares) for c in report.curve)
    ):
        st.caption(note)
    with st.expander("The numbers of this chart", icon=":material/table:"):
        table(pd.DataFrame(curve_rows(report)), "plan-curve", "The answer with more and less traffic")
    table(pd.DataFrame(target_rows(report)), "plan-targets", "How much traffic each target bears")
    st.caption("Of the factors that were tried. Beyond the headroom by the interval of each share at 95 %.")


def _failures(report: PlanReport) -> None:
    if not report.failures:
        st.caption("Known once an option keeps the targets.")
        return
    rows = failure_rows(report)
    table(pd.DataFrame(rows), "plan-failures", "Whether the answer keeps its targets with servers missing")
    st.caption(
        "Simulated with the traffic as it is. Work that was running on the lost servers is not counted."
    )


def _costs(report: PlanReport) -> None:
    if report.answer is None:
        st.caption("Known once an option keeps the targets.")
        return
    picture(
        costs_figure(report, pinned_in(report)),
        key="plan-costs",
        alt="Cost per hour by part of the options that keep",
    )
    for note in report.prices:
        st.caption(plain(note))
    if report.prices:
        st.caption("Check prices before you buy: they are as of these dates.")


def _week(report: PlanReport) -> None:
    if report.week is None:
        st.caption(
            "The traffic is steady here. Choose a profile of the week under Demand to size for its peak."
        )
        return
    finding = week_text(report.week, report.currency)
    chart(week_figure(report.week), finding, "plan-week", "Traffic and servers by hour of the week.")


def _evidence(report: PlanReport) -> None:
    st.markdown(plain(evidence_text(report)))
    if report.evidence:
        alt = "Counts that were ruled out, missed and kept, for each kind of cluster"
        table(
            pd.DataFrame(chain_rows(report)),
            "plan-evidence",
            alt,
            column_config=EVIDENCE,
            placeholder="–",
        )
    if report.work:
        st.caption(
            "One query keeps an executor busy for this long. Times that a file gives for one GPU are carried "
            "to others by a ratio, which page Models names."
        )
        table(pd.DataFrame(work_rows(report)), "plan-work", "Time of one query on each kind of executor")


TABS: Mapping[str, Tab] = {
    "More traffic": _traffic,
    "Failures": _failures,
    "Costs": _costs,
    "Week": _week,
    "Evidence": _evidence,
}
