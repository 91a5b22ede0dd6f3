"""The editor of one row of the workload, and the upload of arrival traces."""

from __future__ import annotations

import streamlit as st

from nona.errors import NonaError
from nona.simulation.traces import read_trace
from nona.ui.measured_views import ENDING
from nona.ui.models import model_names
from nona.ui.state import AppState
from nona.ui.widgets import choice, count, number, percent, plain, quantity
from nona.ui.workload_edits import remove_entry

PROCESSES = {
    "Poisson": "poisson",
    "Gamma (bursty or regular)": "gamma",
    "Deterministic": "deterministic",
    "Markov-modulated (bursts)": "mmpp",
}


def traces(state: AppState) -> tuple[str, ...]:
    """Names of the uploaded CSV files that are no tables of measured times."""
    names = (n for n in state.uploads.names() if n.lower().endswith(".csv"))
    return tuple(n for n in names if not n.endswith(ENDING) and n != state.scenario.cost.measured)


def row_editor(state: AppState, index: int) -> None:
    """Widgets for one row of the workload."""
    place = ("workload", index)
    row = state.scenario.workload[index]
    with st.container(border=True):
        columns = st.columns([4, 2, 2, 3, 2], vertical_alignment="bottom")
        with columns[0]:
            choice(state, "Model", (*place, "model"), model_names(state))
        with columns[1]:
            quantity(state, "Rate", (*place, "rate"), "For example 300/s.")
        with columns[2]:
            quantity(state, "SLO", (*place, "slo"), "Latest time to be done; empty: none.", optional=True)
        with columns[3]:
            _process(state, index)
        columns[4].button(
            "Remove",
            icon=":material/delete:",
            key=f"remove-row-{state.revision}-{index}",
            disabled=len(state.scenario.workload) == 1,
            on_click=remove_entry,
            args=(state, ("workload",), index),
        )
        with st.expander(f"More on {plain(state.scenario.labels[index])}"):
            _details(state, index, row.arrivals.process)


def _process(state: AppState, index: int) -> None:
    arrivals = state.scenario.workload[index].arrivals
    options: dict[str, str] = {**PROCESSES, **{f"Trace {name}": name for name in traces(state)}}
    shown = arrivals.trace or arrivals.process
    if shown not in options.values():
        options[f"Trace {shown}"] = shown
    key = f"process-{state.revision}-{index}-{len(options)}"

    def choose() -> None:
        value = options[st.session_state[key]]
        known = value in PROCESSES.values()
        spec = dict(state.value(("workload", index, "arrivals")))
        spec |= {"process": value if known else "trace", "trace": None if known else value}
        state.edit(("workload", index, "arrivals"), spec)

    st.selectbox("Arrivals", list(options), list(options.values()).index(shown), key=key, on_change=choose)
    draft = state.drafts.get(("workload", index, "arrivals"))
    if draft:
        st.error(plain(draft.error), icon=":material/error:")


def _details(state: AppState, index: int, process: str) -> None:
    place = ("workload", index)
    columns = st.columns(3)
    with columns[0]:
        number(
            state,
            "SCV of service times",
            (*place, "service_scv"),
            0.0,
            1000.0,
            0.1,
            "0: every task takes its modelled time; 1: exponential; else gamma.",
        )
    with columns[1]:
        count(state, "Batch", (*place, "batch"), 1, 4096, "Queries computed together as one.")
    with columns[2]:
        if process == "gamma":
            number(state, "CV of the gaps", (*place, "arrivals", "cv"), 0.05, 100.0, 0.5, "1 is Poisson.")
        elif process == "mmpp":
            number(state, "Burst factor", (*place, "arrivals", "burst_factor"), 1.1, 1000.0, 0.5)
            percent(state, "Share of time in bursts", (*place, "arrivals", "burst_fraction"))
            quantity(state, "Mean length of a burst", (*place, "arrivals", "burst_mean"))
        elif process == "trace":
            choice(
                state,
                "Speed of the trace",
                (*place, "arrivals", "scale_to_rate"),
                {"stretched to the rate": True, "as recorded": False},
            )


def trace_upload(state: AppState) -> None:
    """The upload of a trace; it then appears among the arrivals of every row."""
    st.caption(
        "Time stamps (a column of instants, or the Azure LLM inference format), or counts per minute (the "
        "Azure Functions format). It stays in this session."
    )
    st.file_uploader("Trace file", key="trace-file", on_change=_take, args=(state,), max_upload_size=64)
    if state.choices.get("trace-note"):
        kind, text = state.choices["trace-note"]
        (st.error if kind == "error" else st.success)(plain(text))


def _take(state: AppState) -> None:
    upload = st.session_state["trace-file"]
    if upload is None:
        return
    try:
        data = upload.getvalue()
        times = read_trace(data, upload.name)
        name = upload.name if upload.name.lower().endswith(".csv") else f"{upload.name}.csv"
        kept = state.uploads.add(name, data)
        state.choices["trace-note"] = ("ok", f"{kept}: {len(times):,} arrivals over {times[-1]:.4g} s.")
    except NonaError as error:
        state.choices["trace-note"] = ("error", str(error))
