"""Pick or upload a model; ask for its open dimensions; errors in one line, nothing else breaks."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from nona.errors import GraphError, NonaError
from nona.graph.readers import READERS
from nona.graph.symbols import MissingDimensions
from nona.ui.loaded.loading import Loaded, device_names, load_graph, load_model, model_names
from nona.ui.session.state import AppState
from nona.ui.session.uploads import safe_name
from nona.ui.widgets.fields import plain


@dataclass(frozen=True, slots=True)
class Device:
    """The device on which times are shown; empty: the first of the cluster."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class Fresh:
    """A model that was uploaded and has not been read yet.

    ``former`` is the model that was shown before, ``replaced`` what a file of the same name held.
    """

    name: str = ""
    former: str = ""
    replaced: bytes | None = None


def pick_model(state: AppState) -> None:
    """The selection of the session's model."""
    names = model_names(state)
    if state.model not in names:
        state.model = names[0]
    key = f"model:{state.revision}:{len(names)}"

    def choose() -> None:
        state.model = st.session_state[key]
        state.choices.complaints.pop("upload-error", None)

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
    name = safe_name(upload.name)
    replaced = state.uploads.sources.read(name) if name in state.uploads.names() else None
    try:
        state.uploads.add(name, upload.getvalue())
    except NonaError as error:
        state.choices.complaints["upload-error"] = str(error)
        return
    state.choices.keep(Fresh(name, state.model, replaced))
    state.model = name


def _refuse(state: AppState, fresh: Fresh, error: GraphError) -> None:
    """Forget an upload that is no model: the former model and a former file of that name stay."""
    state.uploads.drop(fresh.name)
    if fresh.replaced is not None:
        state.uploads.add(fresh.name, fresh.replaced)
    state.model = fresh.former
    state.choices.complaints["upload-error"] = str(error)
    state.choices.keep(Fresh())
    st.rerun()


def loaded_model(state: AppState, device: str) -> Loaded | None:
    """The session's model, ready; asks for open dimensions, or shows why it cannot be read."""
    fresh = state.choices.of(Fresh)
    try:
        load_graph(state, state.model)
    except MissingDimensions:
        pass  # asked below
    except GraphError as error:
        if fresh.name == state.model:
            _refuse(state, fresh, error)
    state.choices.keep(Fresh())
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
