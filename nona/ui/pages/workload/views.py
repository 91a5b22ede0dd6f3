"""The Workload page: load of the whole mix, a card for each row with the feasibility of its SLO."""

from __future__ import annotations

import streamlit as st

from nona.errors import NonaError
from nona.report.inputs.offered import Offered, slo_text
from nona.results.placement.outcome import SolvedPlacement
from nona.ui.loaded.loading import model_names
from nona.ui.pages.workload.edits import remove_entry
from nona.ui.pages.workload.facts import fastest, rate_of, sample_of
from nona.ui.pages.workload.picture import DRAWN, REPLAYED, arrivals_picture, gauge, shares_picture
from nona.ui.pages.workload.trace_fields import take_trace, trace_fields
from nona.ui.pages.workload.trace_views import traces
from nona.ui.session.state import AppState
from nona.ui.widgets.drawing.drawing import draw, el
from nona.ui.widgets.fields import choice, count, number, percent, plain, quantity
from nona.units import format_time

PROCESSES = {
    "Poisson": "poisson",
    "Gamma (bursty or regular)": "gamma",
    "Deterministic": "deterministic",
    "Markov-modulated (bursts)": "mmpp",
}
OF_A_TRACE = ("trace", "scale_to_rate", "speed", "start", "length", "share", "column", "value")
_SHOW = {"never": st.error, "split": st.warning}
_ICONS = {"never": ":material/block:", "split": ":material/call_split:"}


def load_gauges(state: AppState, load: Offered | None) -> None:
    """How full executors and link are, and what would fill them."""
    background = state.scenario.background
    placed = None if state.is_stale("place") else state.held("place", SolvedPlacement)
    busy = None if placed is None else placed.nona.predicted.network_utilization
    own = None if busy is None else max(0.0, busy - background.network.utilization)
    wait = "How much the queries send depends on the placement; solve it on the Placement page to see."
    bad = "A model or the cluster is not valid yet; see below."
    draw(
        "load",
        el(
            "div",
            "gauges",
            gauge(
                "Executors", "executors", background.compute.utilization, load.queries if load else None, bad
            ),
            gauge("Link", "link", background.network.utilization, own, wait),
        ),
    )
    if load is not None and load.total >= 1:
        st.error(
            "No placement and no scheduler can keep up: queues grow without bound. Add servers on the "
            "Cluster page, or lower the rates.",
            icon=":material/error:",
        )


def row_editor(state: AppState, index: int, load: Offered | None, share: float) -> None:
    """A card for one row of the workload, which has that share of all queries."""
    place = ("workload", index)
    with st.container(border=True, key=f"row-{index}"):
        with st.container(key=f"only-in-demo-row-{index}"):
            st.markdown(f"**{plain(_row_line(state, index))}**")
        with st.grid(5, min_column_width=125, vertical_alignment="bottom") as grid:
            choice(state, "Model", (*place, "model"), model_names(state), "What these queries run.")
            _rate(state, index)
            quantity(
                state,
                "SLO",
                (*place, "slo"),
                "Longest completion time allowed, e.g. 40 ms; empty: none. SLO hits count jobs within it.",
                optional=True,
            )
            _process(state, index)
            with grid.cell():
                st.button(
                    "Remove",
                    icon=":material/delete:",
                    key=f"remove-row-{state.revision}-{index}",
                    help="Removes this row from the mix; the last one cannot be removed.",
                    disabled=len(state.scenario.workload) == 1,
                    on_click=remove_entry,
                    args=(state, ("workload",), index),
                )
        if state.scenario.workload[index].arrivals.trace:
            trace_fields(state, index)
        _pictures(state, index, load, share)
        with st.expander(f"More on {plain(state.scenario.labels[index])}"):
            _details(state, index, state.scenario.workload[index].arrivals.process)


def _row_line(state: AppState, index: int) -> str:
    """The row in a line, for the demo, which hides the fields."""
    row = state.scenario.workload[index]
    slo = f", SLO {format_time(row.slo)}" if row.slo is not None else ""
    try:
        rate = f", {rate_of(state, index):.4g}/s"
    except NonaError:
        rate = ""
    return f"{state.scenario.labels[index]}{rate}{slo}"


def _pictures(state: AppState, index: int, load: Offered | None, queries: float) -> None:
    row = state.scenario.workload[index]
    try:
        cost, sample = fastest(state, index), sample_of(state, index)
    except NonaError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    share = load.shares[index] if load else None
    draw(
        f"row-picture-{index}",
        shares_picture(queries, share, index),
        arrivals_picture(sample, index, REPLAYED if row.arrivals.trace else DRAWN),
    )
    kind, text = slo_text(row.slo, cost.total_s, cost.critical_s, row.service_scv > 0)
    if kind in _SHOW:
        _SHOW[kind](plain(text), icon=_ICONS[kind])
    else:
        st.caption(plain(text))


def _rate(state: AppState, index: int) -> None:
    arrivals, place = state.scenario.workload[index].arrivals, ("workload", index, "rate")
    if arrivals.trace and not arrivals.scale_to_rate:
        try:
            shown = f"{rate_of(state, index):.4g}/s"
        except NonaError:
            shown = "unknown"
        hint = "The trace's own. To set another one, let the trace be stretched to the rate."
        st.text_input("Rate", shown, key=f"own-rate-{index}-{shown}", disabled=True, help=hint)
        return
    quantity(state, "Rate", place, "Mean queries per second, e.g. 300/s; more load, longer waits.")


def _process(state: AppState, index: int) -> None:
    arrivals = state.scenario.workload[index].arrivals
    options: dict[str, str] = {**PROCESSES, **{f"Trace {name}": name for name in traces(state)}}
    shown = arrivals.trace or arrivals.process
    if shown not in options.values():
        options[f"Trace {shown}"] = shown
    key = f"process-{state.revision}-{index}-{len(options)}"

    def choose() -> None:
        value = options[st.session_state[key]]
        if value not in PROCESSES.values():
            take_trace(state, index, value)
            return
        spec = {k: v for k, v in state.value(("workload", index, "arrivals")).items() if k not in OF_A_TRACE}
        state.edit(("workload", index, "arrivals"), {**spec, "process": value})

    with st.container():
        st.selectbox(
            "Arrivals",
            list(options),
            list(options.values()).index(shown),
            key=key,
            on_change=choose,
            help="How queries arrive: at random, in bursts, evenly, or as in a trace.",
        )
        draft = state.drafts.get(("workload", index, "arrivals"))
        if draft:
            st.error(plain(draft.error), icon=":material/error:")


def _details(state: AppState, index: int, process: str) -> None:
    place = ("workload", index)
    with st.grid(3, min_column_width=130):
        number(
            state,
            "SCV of service times",
            (*place, "service_scv"),
            0.0,
            1000.0,
            0.1,
            "0: every task takes its modelled time; 1: exponential; else gamma. Higher means longer waits.",
        )
        count(state, "Batch", (*place, "batch"), 1, 4096, "Queries computed together as one.")
        if process == "gamma":
            number(
                state,
                "CV of the gaps",
                (*place, "arrivals", "cv"),
                0.05,
                100.0,
                0.5,
                "1: Poisson; above 1: bursts.",
            )
        elif process == "mmpp":
            arrivals = (*place, "arrivals")
            number(
                state,
                "Burst factor",
                (*arrivals, "burst_factor"),
                1.1,
                1000.0,
                0.5,
                "Rate during a burst over the mean rate.",
            )
            percent(
                state, "Share of time in bursts", (*arrivals, "burst_fraction"), "The rest has a lower rate."
            )
            quantity(state, "Mean length of a burst", (*arrivals, "burst_mean"), "For example 10 s.")
