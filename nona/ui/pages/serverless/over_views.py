"""Until what load: SLOs kept, goodput and cost of every policy over one number, and the knees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from nona.errors import NonaError
from nona.report.serverless.figures.over import TITLES, What, over_alt, over_figure
from nona.report.serverless.over.text import knee_rows, over_finding, over_numbers, over_rows, over_setting
from nona.report.sweeps.values import parse_values, value_text
from nona.results.serverless.dispatch import ServerlessOutcome
from nona.results.serverless.over import OverReport
from nona.study.serverless.over.settings import CALLS, MOST, MOST_CALLS, SWEPT, Swept, over_number
from nona.study.sweeps.numbers import LOAD, Number
from nona.ui.pages.serverless.layout_views import choose_one
from nona.ui.session.state import AppState
from nona.ui.shell.equivalents import equivalent
from nona.ui.shell.job_panel import job_panel, stale_note
from nona.ui.tasks.serverless_asked import OverAsked
from nona.ui.widgets.charts import chart, picture
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table

KIND = "serverless-over"
TARGETS = {"90 %": 0.9, "95 %": 0.95, "99 %": 0.99, "99.9 %": 0.999}


def over_tab(state: AppState, data: ServerlessOutcome | None) -> None:
    """Which number, which values, how sure; then the curves of all policies and their knees."""
    st.markdown(
        "How much more traffic does each policy bear before SLOs are missed? Or another number of the "
        "scenario: how few vCPUs a node, how large a CPU share?"
    )
    asked = _asked(state)
    if asked is None:
        return
    mark = f"{state.fingerprint(KIND)} {asked}"
    job_panel(state, KIND, "Find the knees", live=_live, options=asked.to_json(), fingerprint=mark)
    report = state.held(KIND, OverReport)
    if report is None:
        st.caption(
            "Every policy gets the same calls at every value. Where the target ceases to be kept is found by "
            "bisection; each verdict is that of a sequential test at 95 %."
        )
    else:
        stale_note(state, KIND, mark)
        over_answer(report, "over")
    values = () if asked.extend else ("--values", ",".join(f"{v:g}" for v in asked.values))
    target = ("--target", f"{100 * asked.target:g}%", "--calls", str(asked.calls))
    equivalent(state, "serverless", "--over", asked.key, *values, *target, key=KIND)


def _asked(state: AppState) -> OverAsked | None:
    """The question as it stands in the fields; ``None`` with an error that says what is wrong."""
    known = {s.label: s for s in SWEPT if _there(state, s)}
    with st.grid(3, min_column_width=200):
        with st.container():
            hint = "Load: a factor on the traffic. The others are numbers of the scenario."
            swept = known[choose_one("Over", list(known), "over-number", hint)]
        number = over_number(state.scenario, swept.key)
        with st.container():
            text = st.text_input(
                "Values",
                ", ".join(value_text(v, number.unit).removesuffix(" ×") for v in swept.values),
                key=f"serverless-shown-over-values-{swept.key}",
                help="Values with commas, or FIRST:LAST:STEP. The knees are looked for between them"
                + (", and beyond them by factors of two." if swept.key == LOAD else "."),
            )
        with st.container():
            calls = st.number_input(
                "Calls of each run",
                50,
                MOST_CALLS,
                CALLS,
                100,
                key="serverless-shown-over-calls",
                help=f"Measured calls; 2 to {MOST} runs of each point, as many as a verdict needs.",
            )
    target = st.segmented_control(
        "SLOs to keep ",
        list(TARGETS),
        default="99 %",
        required=True,
        key="serverless-shown-over-target",
        help="The knee is where a policy ceases to keep this share of the calls within their SLO.",
    )
    try:
        values = _values(str(text), number)
    except NonaError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None
    spec = state.scenario.serverless
    return OverAsked(
        key=swept.key,
        values=values,
        policies=tuple(p.name for p in spec.policies) if spec else (),
        target=TARGETS[str(target or "99 %")],
        calls=int(calls),
        extend=swept.key == LOAD,
    )


def _there(state: AppState, swept: Swept) -> bool:
    """Whether the scenario has the number, and depends on it."""
    try:
        over_number(state.scenario, swept.key)
    except NonaError:
        return False
    return True


def _values(text: str, number: Number) -> tuple[float, ...]:
    return parse_values(text, number.unit, "Values")


def _live(data: Mapping[str, Any]) -> None:
    report = OverReport.from_json(data)
    if any(p.points for p in report.policies.values()):
        picture(over_figure(report), "over-live", over_alt(report, "hits"))


def over_answer(report: OverReport, key: str) -> None:
    """The finding, three charts, the knees and all points."""
    st.subheader(f"{plain(over_finding(report))}.", anchor=False)
    picture(over_figure(report), f"{key}-hits", f"{over_alt(report, 'hits')}. {over_finding(report)}.")
    with st.grid(2, min_column_width=360):
        others: tuple[What, ...] = ("goodput", "cost")
        for what in others:
            with st.container():
                title = TITLES[what][0].upper() + TITLES[what][1:]
                chart(over_figure(report, what, 300), title, f"{key}-{what}", over_alt(report, what))
    table(pd.DataFrame(knee_rows(report)), f"{key}-knees", "Until where each policy keeps the target")
    with st.expander("Every simulated point", icon=":material/table:"):
        table(pd.DataFrame(over_rows(report)), f"{key}-points", "Every policy at every simulated value")
        numbers = pd.DataFrame(over_numbers(report))
        table(numbers, f"{key}-numbers", "The same as plain numbers in SI units, with intervals")
    st.caption(plain(over_setting(report)))
