"""What the times on the page assume: device, software stack, precision, and measured times, in one place."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from nona.ui.loaded.loading import device_names
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import choice, plain

STACKS = ("tensorrt", "cuda-graphs", "onnxruntime", "eager")
PRECISIONS = ("model", "fp32", "fp16", "int8")


@dataclass(frozen=True, slots=True)
class Device:
    """The device on which times are shown; empty: the first of the cluster."""

    name: str = ""


def pick_times(state: AppState) -> tuple[str, DeltaGenerator]:
    """The button that names the device; behind it all choices. Returns the device and what is behind it."""
    device = _device(state)
    cost = state.scenario.cost
    words = [device, cost.stack, *([cost.precision] if cost.precision != "model" else [])]
    box = st.popover(
        f"Times: **{plain(', '.join(words))}**" + (" + measured" if cost.measured else ""),
        icon=":material/timer:",
        help="The GPU, the software and the precision for which times are shown.",
    )
    with box, st.grid(3, min_column_width=150):
        _pick_device(state, device)
        hint = "What runs the operators; it sets launch costs."
        choice(state, "Software stack", ("cost", "stack"), STACKS, hint)
        hint = "Fewer bits: fewer bytes, faster arithmetic."
        choice(state, "Precision", ("cost", "precision"), PRECISIONS, hint)
    return device, box


def _device(state: AppState) -> str:
    names = device_names(state.scenario)
    kept = state.choices.of(Device).name or state.scenario.cluster.servers[0].gpu
    return kept if kept in names else names[0]


def _pick_device(state: AppState, shown: str) -> None:
    names = device_names(state.scenario)

    def choose() -> None:
        state.choices.keep(Device(st.session_state["device"]))

    st.selectbox(
        "Times on device",
        names,
        names.index(shown),
        key="device",
        on_change=choose,
        help="The GPU for the times on this page; the cluster's GPUs are set on the Cluster page.",
    )
