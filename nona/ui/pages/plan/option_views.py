"""The table of options: filtered, sorted, one of them in detail, opened as the scenario or pinned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ColumnWidth

from nona.report.plan.rows import DECIDING, model_rows, option_rows
from nona.results.plan import PlanOption, PlanReport
from nona.study.planning.opened import opened
from nona.ui.pages.plan.pins import is_pinned, option_name, pinned_in, turn_pin
from nona.ui.session.page_list import page_file
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table

VERDICTS = ("keeps", "open", "misses")
RULED_OUT = "ruled out by bounds"
CHOICES = (*VERDICTS, RULED_OUT)
WIDTHS: Mapping[str, ColumnWidth] = {
    "servers": 330,
    "scheduler": 98,
    "cost per hour": 70,
    "verdict": 66,
    "error budget used": 88,
    "p99 ms": 64,
    "why": 420,
}  # pixels: what decides fits a window of 1280 pixels
HEADINGS = {"cost per hour": "per hour", "error budget used": "budget used"}
HINTS = {
    "cost per hour": "Servers and links, without data moved.",
    "error budget used": "Late jobs of the tightest target over those that it allows; above 1: missed.",
    "p99 ms": "Of the slowest model.",
}
LIVE_ROWS = 12
BOUNDS = ("load", "idle", "memory")
FORMATS = {
    "cost per hour": "%.2f",
    "cost per million": "%.3f",
    "error budget used": "%.3g",
    "p99 ms": "%.4g",
    "busy %": "%.1f",
    "headroom": "%.4g",
    "kWh per million": "%.3g",
    "kg CO₂ per million": "%.3g",
    "link Gbit/s": "%.4g",
}


def options_section(state: AppState, report: PlanReport) -> None:
    """The table, and below it the option that is selected in it, at first the answer."""
    st.subheader("Options", anchor="options")
    wanted = st.pills(
        "Show",
        CHOICES,
        selection_mode="multi",
        default=list(VERDICTS),
        key="plan-verdicts",
        persist_state="session",
        help="Which options the table lists. Those that were only predicted are open.",
    )
    listed = [i for i, o in enumerate(report.options) if _kind(o) in (wanted or CHOICES)]
    answer = [report.answer.option] if report.answer is not None else []
    order = list(dict.fromkeys([*answer, *pinned_in(report), *listed]))
    rows = option_rows(report)
    frame = pd.DataFrame([rows[i] for i in order], columns=list(rows[0]) if rows else None)
    event = table(
        frame,
        "plan-options",
        "Every option of the plan: the answer, pinned ones, then the cheapest first",
        name="plan_options",
        deciding=DECIDING,
        column_config=_formats(frame),
        on_select="rerun",
        selection_mode="single-row",
        placeholder="–",
    )
    st.caption("Tick a row to see why it has its verdict, and its models, below.")
    chosen = event.selection.rows if event is not None else []
    if chosen and chosen[0] < len(order):
        _detail(state, report, order[chosen[0]])
    elif report.answer is not None:
        _detail(state, report, report.answer.option)


def live_options(report: PlanReport) -> None:
    """The options while they are looked at: first those that were simulated, then as they are predicted."""
    shown = sorted(range(len(report.options)), key=lambda i: (_waits(report.options[i]), i))[:LIVE_ROWS]
    rows = option_rows(report)
    frame = pd.DataFrame([rows[i] for i in shown], columns=list(DECIDING))
    st.dataframe(
        frame,
        hide_index=True,
        key="plan-live",
        alt="The options so far: those that were simulated, then as they are predicted",
        column_config=_formats(frame),
        placeholder="–",
    )


def _waits(option: PlanOption) -> bool:
    """Whether it is only predicted so far."""
    return option.by == "prediction"


def _formats(frame: pd.DataFrame) -> dict[str, Any]:
    made = {
        name: st.column_config.NumberColumn(
            HEADINGS.get(name), width=WIDTHS.get(name), format=FORMATS[name], help=HINTS.get(name)
        )
        if name in FORMATS
        else st.column_config.TextColumn(width=WIDTHS[name])
        for name in {**WIDTHS, **FORMATS}
    }
    made["answer"] = st.column_config.TextColumn(" ", width=28, help="→ is the answer.")
    return {name: made for name, made in made.items() if name in frame}


def _kind(option: PlanOption) -> str:
    return RULED_OUT if option.by in BOUNDS else option.verdict


def _detail(state: AppState, report: PlanReport, index: int) -> None:
    """One option: why it has its verdict, its models, and what can be done with it."""
    option = report.options[index]
    with st.container(border=True, key="plan-option-detail"):
        answer = report.answer is not None and report.answer.option == index
        mark = "The answer: " if answer else ""
        st.markdown(f"**{plain(f'{mark}{option_name(option)}')}**")
        st.markdown(plain(_why(report, option)))
        with st.container(horizontal=True):
            st.button(
                "Open it as the scenario",
                icon=":material/open_in_new:",
                key="plan-open-option",
                on_click=_open,
                args=(state, option),
                help="Puts these servers, link and scheduler into the scenario; Undo restores the old.",
            )
            on = is_pinned(option)
            st.button(
                "Let it go" if on else "Pin",
                icon=":material/keep_off:" if on else ":material/keep:",
                key="plan-pin-option",
                on_click=turn_pin,
                args=(state, option),
                help="Pinned options stand first in the table and by name in the charts.",
            )
        if option.shares:
            alt = "Share within the SLO and p99 of every model on this option"
            formats = {
                k: st.column_config.NumberColumn(format="%.4g")
                for k in ("within SLO %", "from %", "to %", "p99 ms")
            }
            table(
                pd.DataFrame(model_rows(dict(option.models))),
                "plan-models",
                alt,
                column_config=formats,
                placeholder="–",
            )
            st.caption(
                "Intervals of each share by itself. A verdict's limits are wider: they allow for bursts of "
                "late jobs and for every look."
            )


def _why(report: PlanReport, option: PlanOption) -> str:
    sure = (
        f" at {100 * report.confidence:.4g} % confidence"
        if option.by == "simulation" and option.verdict != "open"
        else ""
    )
    runs = f", {option.replications} runs" if option.replications else ""
    needed = f" About {option.needed:,} runs would decide it." if option.needed else ""
    reason = f": {option.reason}" if option.reason else ""
    return f"{option.verdict.capitalize()}{sure}{runs}{reason}.{needed}"


def _open(state: AppState, option: PlanOption) -> None:
    state.apply(opened(state.scenario, option), "opening an option of the plan")
    state.tell("The scenario has these servers now. Run it to see its charts.", "simulation", "Simulation")
    state.go_to = page_file("simulation")
