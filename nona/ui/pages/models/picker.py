"""Pick or upload a model, in one place; a file that cannot be read leaves the former model on the page."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from nona.errors import NonaError
from nona.graph.readers import READERS
from nona.graph.symbols import MissingDimensions
from nona.ui.loaded.loading import Loaded, load_graph, load_model, model_names
from nona.ui.pages.models.samples import DEVICE, entries, note_figures, waiting
from nona.ui.session.state import AppState
from nona.ui.session.uploads import safe_name
from nona.ui.widgets.fields import label_text, plain
from nona.ui.widgets.picklist.picklist import Picked, pick_list, picked

OPEN, LIST, FILE, ERROR = "model-open", "model-list", "model-file", "upload-error"
LONGEST = 30  # letters of a name on the button


@dataclass(frozen=True, slots=True)
class Choosing:
    """The last pick that was taken; an upload that is not read yet, and the model before it.

    ``replaced`` is what a file of the same name held; ``again`` opens the list once more, for the reason
    why a file was not taken.
    """

    taken: Picked | None = None
    unread: str = ""
    before: str = ""
    replaced: bytes | None = None
    again: bool = False


def pick_model(state: AppState) -> None:
    """The button with the model's name; behind it a search, all models, and the upload."""
    _take_pick(state)
    names = model_names(state)
    if state.model not in names:
        state.model = names[0]
    name = state.model if len(state.model) <= LONGEST else f"{state.model[: LONGEST - 1]}…"
    popover = st.popover(
        f"Model: **{plain(name)}**",
        icon=":material/account_tree:",
        on_change="rerun",
        key=OPEN,
        help="Pick another model, or upload one.",
    )
    if popover.open:
        with popover:
            pick_list(LIST, "Find a model by name, family or size", entries(state), state.model)
            _upload(state)
            st.caption(f"Parallelism: one after the other over the longest chain, on an {DEVICE}.")
        if waiting():
            st.fragment(_look_again, run_every=1.0)()


def _look_again() -> None:
    """Draw the page once more when every parallelism is known."""
    if not waiting():
        st.rerun()


def _take_pick(state: AppState) -> None:
    """Take what was picked or given up since the last run, before anything is drawn."""
    held = state.choices.of(Choosing)
    if held.again:
        st.session_state[OPEN] = True
    found = picked(LIST)
    if found is not None and found != held.taken:
        state.choices.complaints.pop(ERROR, None)
        st.session_state[OPEN] = False
        if found.name in model_names(state):
            state.model = found.name
        held = replace(held, taken=found, unread="")
    state.choices.keep(replace(held, again=False))


def upload_label() -> str:
    """The upload's label: every format with a reader, and its extensions."""
    *others, last = (r.title for r in READERS.values())
    suffixes = ", ".join(s for r in READERS.values() for s in r.suffixes)
    formats = f"{', '.join(others)} or {last}".replace("ONNX", "ONNX (weights are not needed)", 1)
    return f"Upload a model: {formats} ({suffixes})"


def _upload(state: AppState) -> None:
    if complaint := state.choices.complaints.get(ERROR):
        st.error(plain(complaint), icon=":material/error:")
    st.file_uploader(
        upload_label(),
        help="It is read on this machine and sent nowhere else. At most 64 MB: export large networks with "
        "external weight files, and leave those out.",
        key=FILE,
        on_change=_take_file,
        args=(state,),
        max_upload_size=64,
    )


def _take_file(state: AppState) -> None:
    upload = st.session_state[FILE]
    if upload is None:
        return
    held = state.choices.of(Choosing)
    state.choices.complaints.pop(ERROR, None)
    name = safe_name(upload.name)
    replaced = state.uploads.sources.read(name) if name in state.uploads.names() else None
    try:
        state.uploads.add(name, upload.getvalue())
    except NonaError as error:
        state.choices.complaints[ERROR] = str(error)
        return
    state.choices.keep(replace(held, unread=name, before=state.model, replaced=replaced))
    state.model = name
    st.session_state[OPEN] = False


def loaded_model(state: AppState, device: str) -> Loaded | None:
    """The session's model, ready; asks for open dimensions, or shows why it cannot be read.

    An upload that cannot be read is given up: the page shows the former model, and the reason stands
    beside the upload.
    """
    try:
        if state.choices.of(Choosing).unread == state.model:
            _read_upload(state)
        loaded = load_model(state, state.model, device, state.scenario.contraction)
        note_figures(state, loaded, device)
        return loaded
    except MissingDimensions as question:
        _ask(state, question)
    except NonaError as error:
        st.error(plain(str(error)), icon=":material/error:")
    return None


def _read_upload(state: AppState) -> None:
    held = state.choices.of(Choosing)
    try:
        load_graph(state, held.unread)
    except MissingDimensions:
        pass  # it can be read once the sizes are known
    except NonaError as error:
        state.choices.complaints[ERROR] = str(error)
        state.uploads.remove(held.unread)
        if held.replaced is not None:
            state.uploads.add(held.unread, held.replaced)
        state.model = held.before
        state.choices.keep(replace(held, unread="", replaced=None, again=True))
        st.rerun()
    state.choices.keep(replace(held, unread="", replaced=None))
    state.tell(f"{state.model} is in the list of models; add it to", "workload", "the workload")
    st.rerun()  # the message stands above the page


def _ask(state: AppState, question: MissingDimensions) -> None:
    st.info(plain(str(question)), icon=":material/help:")
    kept = state.symbols.get(state.model, {})
    with st.form("symbols"):
        for name in question.names:
            st.number_input(label_text(name), 1, 10_000_000, kept.get(name, 1), 1, key=f"symbol:{name}")
        st.form_submit_button("Use these sizes", on_click=_bind, args=(state, state.model, question.names))


def _bind(state: AppState, model: str, names: tuple[str, ...]) -> None:
    bound = {name: int(st.session_state[f"symbol:{name}"]) for name in names}
    state.symbols[model] = {**state.symbols.get(model, {}), **bound}
