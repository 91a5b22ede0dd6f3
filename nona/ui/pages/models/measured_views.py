"""Upload, show and remove the table of measured times on the Models page."""

from __future__ import annotations

from pathlib import PurePath

import streamlit as st

from nona.cost.measured import MeasuredTable, read_measured
from nona.cost.options import CostOptions
from nona.errors import NonaError
from nona.ui.loaded.loading import load_graph, load_measured
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain

ENDING = ".measured.csv"
EXAMPLE = "model,operator,device,ms"


def measured_times(state: AppState, device: str) -> None:
    """The expander of the measured times; ``device`` is the one whose times the page shows."""
    name = state.scenario.cost.measured
    opened = bool(name or state.choices.complaints.get("measured-error"))
    title = "Measured times" + (f": {plain(name)}" if name else "")
    with st.expander(title, icon=":material/timer:", expanded=opened):
        called = _name_in_tables(state)
        st.caption(
            f"A CSV table with the columns {plain(EXAMPLE)}, the format of the command `nona measure`; its "
            "times replace modelled ones. An operator named \\* stands for the whole model."
            + (f" This model is called **{plain(called)}** there." if called else "")
        )
        st.file_uploader(
            "Table (CSV)",
            key="measured-file",
            on_change=_take,
            args=(state,),
            max_upload_size=64,
            help="Its times replace the modelled ones wherever it has them.",
        )
        if state.choices.complaints.get("measured-error"):
            st.error(plain(state.choices.complaints["measured-error"]), icon=":material/error:")
        if name:
            _present(state, name, called, device)


def _present(state: AppState, name: str, called: str, device: str) -> None:
    try:
        held = load_measured(state)
    except NonaError as error:
        st.error(plain(str(error)), icon=":material/error:")
        held = None
    if held is not None:
        st.success(
            plain(coverage(held[1], name, called or state.model, device, _options(state))),
            icon=":material/check:",
        )
        st.caption("The scenario's YAML only names this file; *Download bundle* in the side bar contains it.")
    with st.container(horizontal=True):
        st.button(
            "Use no measured times",
            icon=":material/delete:",
            on_click=_remove,
            args=(state,),
            key="no-measured",
        )
        if held is not None:
            st.download_button(
                "Download the CSV",
                data=lambda: state.uploads.sources.read(name),
                file_name=name,
                mime="text/csv",
                icon=":material/download:",
                on_click="ignore",
                key="download-measured",
            )


def coverage(table: MeasuredTable, name: str, model: str, device: str, options: CostOptions) -> str:
    """What the table holds, and how much of it is for this model on this device.

    >>> table = read_measured("model,operator,device,ms\\nnet,conv,a30,0.5\\n")
    >>> coverage(table, "t.csv", "other", "a30", CostOptions())
    't.csv: 1 time on a30; 0 of them for other on a30 as chosen above.'
    """
    count = len(table.rows)
    devices = ", ".join(sorted({row.device for row in table.rows}))
    here = len(table.times(model, device, options))
    times = f"{count:,} time{'' if count == 1 else 's'}"
    return f"{name}: {times} on {devices}; {here:,} of them for {model} on {device} as chosen above."


def _name_in_tables(state: AppState) -> str:
    try:
        return load_graph(state, state.model).name
    except NonaError:  # the page says it below
        return ""


def _options(state: AppState) -> CostOptions:
    cost = state.scenario.cost
    return CostOptions(cost.stack, cost.precision)


def _take(state: AppState) -> None:
    upload = st.session_state["measured-file"]
    if upload is None:
        return
    try:
        data = upload.getvalue()
        read_measured(data)
        kept = state.uploads.add(stored_name(upload.name), data)
        state.choices.complaints.pop("measured-error", None)
        if state.edit(("cost", "measured"), kept):
            state.tell(f"The measured times of {kept} are used from now on; see", "simulation", "Simulation")
    except NonaError as error:
        state.choices.complaints["measured-error"] = str(error)


def stored_name(name: str) -> str:
    """The name under which a table is kept, which distinguishes it from a trace.

    >>> stored_name("times.csv"), stored_name("times.measured.csv")
    ('times.measured.csv', 'times.measured.csv')
    """
    base = PurePath(name.replace("\\", "/")).name
    stem = base[: -len(ENDING)] if base.lower().endswith(ENDING) else PurePath(base).stem
    return (stem[:40] or "times") + ENDING


def _remove(state: AppState) -> None:
    state.choices.complaints.pop("measured-error", None)
    state.edit(("cost", "measured"), None)
