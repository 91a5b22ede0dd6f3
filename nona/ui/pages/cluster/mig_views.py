"""The MIG layout of a server group: presets, the picture to click, what each instance is, its file."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from nona.errors import NonaError
from nona.hardware.catalogue import find_device, user_devices
from nona.hardware.mig import MigLayout
from nona.report.inputs.figures import provenance_text
from nona.report.inputs.slices import instance_rows, laid_instances, layout_name, stranded_text
from nona.ui.pages.cluster.mig_edits import (
    edit_layout,
    mig_path,
    parted_file,
    set_layout,
    shown_layout,
    take_parted,
    taken_parted,
)
from nona.ui.pages.workload.edits import layout_texts
from nona.ui.pages.workload.row_costs import row_cost
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain
from nona.ui.widgets.migview.migview import mig_view, stranded_cells
from nona.ui.widgets.tables import table

MOST_MODELS = 3
ON_DEMAND = ("memory slices", "SMs", "geometry")  # columns of the table of instances
_PERCENT = "%.0f %%"
_PART = st.column_config.NumberColumn(format=_PERCENT, help="Of the whole device.")
_SPEED = "Of the whole device, by the cost model: "


def mig_editor(state: AppState, group: int, board: str) -> None:
    """Everything about one group's layout."""
    layout = shown_layout(state, group, board)
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        _preset(state, group, board)
    with right:
        _file(state, group, board, layout)
    mig_view(
        f"mig-{state.revision}-{group}",
        layout,
        f"GPU of server group {group + 1}",
        lambda wish: _edit(state, group, board, wish),
    )
    lost = layout.stranded_compute if layout.slices else 0
    st.caption(f"Stranded, as no instance fits there: {stranded_text(lost, stranded_cells(layout))}.")
    if note := state.choices.complaints.get(f"mig-note-{group}"):
        st.error(plain(note), icon=":material/error:")
    if layout.slices:
        with st.expander("What each instance is"):
            _instances(state, group, layout)


def _preset(state: AppState, group: int, board: str) -> None:
    """The choice among full layouts, in step with the picture."""
    presets = {layout_name(text): text for text in layout_texts(board)}
    shown = str(state.shown(mig_path(group)) or "")
    presets.setdefault(layout_name(shown), shown)
    key = _preset_key(state, group)

    def choose() -> None:
        state.edit(mig_path(group), presets[st.session_state[key]])

    if st.session_state.get(key) not in presets:
        st.session_state[key] = layout_name(shown)
    st.selectbox(
        "MIG layout of each GPU",
        list(presets),
        key=key,
        on_change=choose,
        help="A full layout to start from: no further standard instance fits. Change it below by mouse or "
        "keyboard.",
    )
    if (draft := state.drafts.get(mig_path(group))) is not None:
        st.error(plain(draft.error), icon=":material/error:")


def _preset_key(state: AppState, group: int) -> str:
    return f"mig-preset-{state.revision}-{group}"


def _edit(state: AppState, group: int, board: str, wish: object) -> None:
    edit_layout(state, group, board, wish)
    st.session_state[_preset_key(state, group)] = layout_name(str(state.shown(mig_path(group)) or ""))


def _instances(state: AppState, group: int, layout: MigLayout) -> None:
    try:
        device = find_device(
            state.scenario.cluster.servers[group].gpu, user_devices(state.scenario.cluster.devices)
        )
        instances = laid_instances(device, layout)
        speeds, origin = _speeds(state, device.name, [i.executor for i in instances])
    except NonaError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    rows = instance_rows(instances)
    frame = pd.DataFrame([{**r, **s} for r, s in zip(rows, speeds, strict=True)])
    formats: dict[str, Any] = {"compute": _PART, "bandwidth": _PART}
    formats["speed, large kernels"] = st.column_config.NumberColumn(
        format=_PERCENT, help=_SPEED + "work that fills the slice, e.g. large batches (f^0.95)."
    )
    for name in speeds[0]:
        formats[name] = st.column_config.NumberColumn(
            format=_PERCENT, help=_SPEED + "this model's operators one after the other."
        )
    table(
        frame,
        f"instances-{group}",
        "Instances of the layout with memory, compute and speed",
        deciding=[c for c in frame.columns if c not in ON_DEMAND],
        column_config=formats,
    )
    st.caption(
        f"Speeds are modelled, not measured ({origin}); short kernels leave a large slice idle, so a small "
        "one can be nearly as fast."
    )


def _speeds(state: AppState, whole: str, executors: list[str]) -> tuple[list[dict[str, float]], str]:
    """Speed of each executor over the whole device for the first models of the mix, and their provenance."""
    rows: list[dict[str, float]] = [{} for _ in executors]
    origins = []
    for index, label in list(enumerate(state.scenario.labels))[:MOST_MODELS]:
        full = row_cost(state, index, whole)
        origins.append(f"{plain(label)}: {provenance_text(full.provenance)}")
        for row, name in zip(rows, executors, strict=True):
            row[f"speed, {label}"] = (
                100.0 * full.total_s / row_cost(state, index, name).total_s if full.total_s else 100.0
            )
    return rows, "; ".join(origins)


def _file(state: AppState, group: int, board: str, layout: MigLayout) -> None:
    """A popover with the mig-parted file of this layout, and the upload of one."""
    with st.popover("mig-parted file", icon=":material/description:", width="stretch"):
        st.caption(
            "The YAML that NVIDIA's mig-parted applies to a machine: how many instances of each profile."
        )
        if layout.slices:
            text = parted_file(state, group, layout)
            st.download_button(
                "Download this layout",
                data=text,
                file_name="mig-parted.yaml",
                mime="application/yaml",
                icon=":material/download:",
                on_click="ignore",
                key=f"parted-{group}",
            )
        key = f"parted-file-{state.revision}-{group}"

        def take() -> None:
            upload = st.session_state[key]
            if upload is not None:
                take_parted(state, group, board, upload.getvalue())

        st.file_uploader(
            "Open a mig-parted file",
            key=key,
            on_change=take,
            max_upload_size=1,
            help="Uses the first layout that this board can hold; its instances are placed here, as the "
            "file has no places.",
        )
        _taken(state, group, board)


def _taken(state: AppState, group: int, board: str) -> None:
    parted = taken_parted(state, group, board)
    if parted is None:
        return
    key = f"parted-choice-{state.revision}-{group}"

    def choose() -> None:
        set_layout(state, group, parted.layouts[st.session_state[key]])

    st.selectbox(
        "Layouts in the file", list(parted.layouts), key=key, on_change=choose, help="Uses this layout."
    )
    if parted.left_out:
        st.caption(f"Left out, this board cannot hold them: {plain(', '.join(parted.left_out))}.")
