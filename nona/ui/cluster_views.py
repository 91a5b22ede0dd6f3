"""The editor of one server group, the table of devices, the form for an own device."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.errors import NonaError
from nona.hardware.catalogue import devices, user_devices
from nona.hardware.mig import parse_layout
from nona.report.figures_models import mig_figure
from nona.ui.models import device_names
from nona.ui.state import AppState
from nona.ui.widgets import choice, count, plain
from nona.ui.workload_edits import add_device, board_of, layout_texts, remove_entry, set_gpu, set_sharing
from nona.units import format_bandwidth, format_count, format_size

FIELDS = {"fp32": "19.5 TFLOP/s", "fp16": "312 TFLOP/s", "memory": "40 GB", "bandwidth": "1555 GB/s"}
SHARING = ("Whole GPUs", "MIG slices", "MPS clients")


def group_editor(state: AppState, index: int) -> None:
    """Widgets for one server group."""
    place = ("cluster", "servers", index)
    group = state.scenario.cluster.servers[index]
    board = board_of(state, group.gpu)
    with st.container(border=True):
        columns = st.columns([2, 3, 2, 2, 3, 2], vertical_alignment="bottom")
        with columns[0]:
            count(state, "Servers", (*place, "count"), 1, 100_000)
        with columns[1]:
            _gpu(state, index, group.gpu)
        with columns[2]:
            count(state, "GPUs each", (*place, "gpus"), 1, 64)
        with columns[3]:
            count(state, "vCPUs each", (*place, "vcpus"), 1, 4096)
        with columns[4]:
            _sharing(state, index, SHARING[1 if group.mig else 2 if group.mps else 0], board)
        columns[5].button(
            "Remove",
            icon=":material/delete:",
            key=f"remove-group-{state.revision}-{index}",
            disabled=len(state.scenario.cluster.servers) == 1,
            on_click=remove_entry,
            args=(state, ("cluster", "servers"), index),
        )
        if group.mps:
            count(state, "MPS clients per GPU", (*place, "mps"), 1, 48)
        if group.mig and board:
            choice(
                state,
                "MIG layout of each GPU (legal, nothing can be added)",
                (*place, "mig"),
                layout_texts(board),
            )
            _picture(group.mig, board, index)


def _gpu(state: AppState, index: int, gpu: str) -> None:
    names = device_names(state.scenario)
    names = names if gpu in names else (*names, gpu)
    key = f"gpu-{state.revision}-{index}"

    def choose() -> None:
        set_gpu(state, index, st.session_state[key])

    st.selectbox("GPU", names, names.index(gpu), key=key, on_change=choose)


def _sharing(state: AppState, index: int, sharing: str, board: str | None) -> None:
    key = f"sharing-{state.revision}-{index}"
    options = [s for s in SHARING if board or s != SHARING[1] or sharing == s]

    def choose() -> None:
        set_sharing(state, index, st.session_state[key])

    st.selectbox("Shared as", options, options.index(sharing), key=key, on_change=choose)


def _picture(text: str, board: str, index: int) -> None:
    try:
        layout = parse_layout(text, board)
    except NonaError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    st.plotly_chart(
        mig_figure(layout), key=f"mig-{index}", alt=f"MIG slices on the memory axis: {layout.text}"
    )
    stranded = []
    if layout.stranded_compute:
        stranded.append(f"{layout.stranded_compute} compute")
    if layout.stranded_memory:
        stranded.append(f"{layout.stranded_memory} memory")
    st.caption(f"Slices that stay unused: {' and '.join(stranded) or 'none'}.")


def device_table(state: AppState) -> pd.DataFrame:
    """One row per device: its figures, and whether they were checked or recollected."""
    rows = []
    try:
        own = user_devices(state.scenario.cluster.devices)
    except NonaError:
        own = {}
    for d in {**devices(), **own}.values():
        doubts = sorted(k for k, f in d.facts.items() if f.checked == "recollected")
        rows.append(
            {
                "device": d.name,
                "fp32": format_count(d.peak("fp32"), "FLOP/s"),
                "fp16": format_count(d.peak("fp16"), "FLOP/s"),
                "memory": format_size(d.memory_bytes),
                "bandwidth": f"{format_size(d.bandwidth)}/s",
                "to a peer": format_bandwidth(d.peer_bandwidth) if d.peer_bandwidth else "–",
                "MIG": "yes" if d.mig else "no",
                "recollected, not checked": ", ".join(doubts) or "–",
                "sources": "; ".join(sorted({f.source for f in d.facts.values()})),
            }
        )
    return pd.DataFrame(rows)


def device_form(state: AppState) -> None:
    """A form for a device of the user's own, on top of one of the catalogue."""
    with st.form("own-device", border=False):
        first, second = st.columns(2)
        first.text_input("Name", key="device-name", persist_state="session")
        second.selectbox("Starts from", list(devices()), key="device-base", persist_state="session")
        fields = st.columns(4)
        for column, (name, example) in zip(fields, FIELDS.items(), strict=True):
            column.text_input(name, placeholder=example, key=f"device-{name}", persist_state="session")
        st.form_submit_button("Add this device", on_click=_add, args=(state,))
    if state.choices.get("device-error"):
        st.error(plain(state.choices["device-error"]), icon=":material/error:")


def _add(state: AppState) -> None:
    given = {k: str(st.session_state[f"device-{k}"] or "") for k in ("base", *FIELDS)}
    name = str(st.session_state["device-name"] or "").strip()
    state.choices["device-error"] = add_device(state, name, given)
