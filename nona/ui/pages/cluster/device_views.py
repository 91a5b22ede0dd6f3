"""Devices on the Cluster page: the user's own, the form to add one, the table of all."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.errors import NonaError
from nona.hardware.catalogue import devices, user_devices
from nona.hardware.device import Device, Precision
from nona.ui.pages.workload.edits import add_device, remove_device
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table
from nona.units import format_bandwidth, format_count, format_size

FIELDS = {
    "fp32": "Dense peak at single precision; also used for rates that are not given.",
    "fp16": "Dense peak at half precision on the tensor cores.",
    "memory": "Device memory, which must hold the weights.",
    "bandwidth": "Of the device memory: limits kernels that move much data and compute little.",
}
DECIDING = 7  # columns of the table of devices that are figures


BASE_PEAKS: tuple[Precision, ...] = ("fp32", "fp16")


def device_list(state: AppState) -> None:
    """The scenario's own devices, each with its stated figures and a button that removes it."""
    own = state.scenario.cluster.devices
    if not own:
        st.caption("No device of your own yet: add one that the catalogue does not have.")
    used = {g.gpu for g in state.scenario.cluster.servers}
    for name, attributes in own.items():
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            told = ", ".join(f"{k} {v}" for k, v in attributes.items())
            st.markdown(f"**{plain(name)}** · {plain(told)}", width="stretch")
            st.button(
                "Remove",
                icon=":material/delete:",
                key=f"remove-device-{state.revision}-{name}",
                help="In use by a server group: choose another GPU there first."
                if name in used
                else "Removes this device from the scenario.",
                disabled=name in used,
                on_click=remove_device,
                args=(state, name),
            )


def device_table(state: AppState) -> None:
    """All devices: figures, and whether they were checked or recollected."""
    frame = device_frame(state)
    alt = "All known devices with their figures and sources"
    table(frame, "devices", alt, deciding=list(frame.columns)[:DECIDING])


def device_frame(state: AppState) -> pd.DataFrame:
    """One row per device."""
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
    problem = state.choices.complaints.get("device-error", "")
    base = st.selectbox(
        "Starts from",
        list(devices()),
        key="device-base",
        persist_state="session",
        help="Empty fields take this device's figures, which they show in grey.",
    )
    figures = base_figures(devices()[base])
    with st.form("own-device", border=False):
        with st.container():
            st.text_input(
                "Name", key="device-name", persist_state="session", help="The name that server groups use."
            )
            _beside(problem, "name")
        with st.grid(4, min_column_width=130):
            for name, about in FIELDS.items():
                with st.container():
                    st.text_input(
                        name,
                        placeholder=figures[name],
                        key=f"device-{name}",
                        persist_state="session",
                        help=about,
                    )
                    _beside(problem, name)
        st.form_submit_button("Add this device", on_click=_add, args=(state,))
    if problem and not any(_names(problem, f) for f in ("name", *FIELDS)):
        st.error(plain(problem), icon=":material/error:")


def base_figures(device: Device) -> dict[str, str]:
    """What the form's empty fields take over from ``device``.

    >>> base_figures(devices()["t4"])
    {'fp32': '8.1 TFLOP/s', 'fp16': '65 TFLOP/s', 'memory': '16 GB', 'bandwidth': '320 GB/s'}
    """
    peaks = {str(name): format_count(device.peak(name), "FLOP/s") for name in BASE_PEAKS}
    return {
        **peaks,
        "memory": format_size(device.memory_bytes),
        "bandwidth": f"{format_size(device.bandwidth)}/s",
    }


def _names(problem: str, field: str) -> bool:
    """Whether an error is about ``field``; one about the name mentions no field."""
    told = problem.partition(": ")[2]
    if field == "name":
        return told.startswith(("a name is", "its name"))
    return told.startswith((f"{field}=", f"{field} is"))


def _beside(problem: str, field: str) -> None:
    if problem and _names(problem, field):
        st.error(plain(problem), icon=":material/error:")


def _add(state: AppState) -> None:
    given = {k: str(st.session_state[f"device-{k}"] or "") for k in ("base", *FIELDS)}
    name = str(st.session_state["device-name"] or "").strip()
    problem = state.choices.complaints["device-error"] = add_device(state, name, given)
    if not problem:
        state.tell(
            f"Device {name} was added: choose it as the GPU of a server group, or see its times in",
            "models",
            "Models",
        )
