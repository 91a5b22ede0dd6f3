"""Pick or upload a model; ask for its open dimensions; errors in one line, nothing else breaks."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from nona.errors import NonaError
from nona.graph.readers import READERS
from nona.graph.symbols import MissingDimensions
from nona.ui.loaded.loading import Loaded, device_names, load_model, model_names
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain


@dataclass(frozen=True, slots=True)
class Device:
    """The device on which times are shown; empty: the first of the cluster."""

    name: str = ""


def pick_model(state: AppState) -> None:
    """The selection of the session's model."""
    names = model_names(state)
    if state.model not in names:
        state.model = names[0]
    key = f"model:{state.revision}:{len(names)}"

    def choose() -> None:
        state.model = st.session_state[key]

    st.selectbox(
        "Model",
        names,
        names.index(state.model),
        key=key,
        on_change=choose,
        help="Your uploads first, then the samples.",
    )


def pick_device(state: AppState) -> str:
    """The device on which times are shown."""
    names = device_names(state.scenario)
    kept = state.choices.of(Device).name or state.scenario.cluster.servers[0].gpu
    kept = kept if kept in names else names[0]

    def choose() -> None:
        state.choices.keep(Device(st.session_state["device"]))

    st.selectbox(
        "Times on device",
        names,
        names.index(kept),
        key="device",
        on_change=choose,
        help="The GPU for the times on this page; the cluster's GPUs are set on the Cluster page.",
    )
    return kept


def upload_label() -> str:
    """The upload's label: every format with a reader, and its extensions."""
    *others, last = (r.title for r in READERS.values())
    suffixes = ", ".join(s for r in READERS.values() for s in r.suffixes)
    formats = f"{', '.join(others)} or {last}".replace("ONNX", "ONNX (weights are not needed)", 1)
    return f"Upload a model: {formats} ({suffixes})"


def upload_model(state: AppState) -> None:
    """The upload of a model file; errors are reported in one line."""
    st.file_uploader(
        upload_label(),
        help="It is read on this machine and sent nowhere else. At most 64 MB: export large networks with "
        "external weight files, and leave those out.",
        key="model-file",
        on_change=_take,
        args=(state,),
        max_upload_size=64,
    )
    if state.choices.complaints.get("upload-error"):
        st.error(plain(state.choices.complaints["upload-error"]), icon=":material/error:")


def _take(state: AppState) -> None:
    upload = st.session_state["model-file"]
    if upload is None:
        return
    state.choices.complaints.pop("upload-error", None)
    try:
        state.model = state.uploads.add(upload.name, upload.getvalue())
        state.tell(f"{state.model} is in the list of models; add it to", "workload", "the workload")
    except NonaError as error:
        state.choices.complaints["upload-error"] = str(error)


def loaded_model(state: AppState, device: str) -> Loaded | None:
    """The session's model, ready; asks for open dimensions, or shows why it cannot be read."""
    try:
        return load_model(state, state.model, device, state.scenario.contraction)
    except MissingDimensions as question:
        _ask(state, question)
    except NonaError as error:
        st.error(plain(str(error)), icon=":material/error:")
    return None


def _ask(state: AppState, question: MissingDimensions) -> None:
    st.info(plain(str(question)), icon=":material/help:")
    kept = state.symbols.get(state.model, {})
    with st.form("symbols"):
        for name in question.names:
            st.number_input(plain(name), 1, 10_000_000, kept.get(name, 1), 1, key=f"symbol:{name}")
        st.form_submit_button("Use these sizes", on_click=_bind, args=(state, state.model, question.names))


def _bind(state: AppState, model: str, names: tuple[str, ...]) -> None:
    bound = {name: int(st.session_state[f"symbol:{name}"]) for name in names}
    state.symbols[model] = {**state.symbols.get(model, {}), **bound}
