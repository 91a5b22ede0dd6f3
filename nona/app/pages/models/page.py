"""The Models page: a model picked or uploaded, its facts, tables and file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import streamlit as st

from nona.app.models import loading
from nona.app.session.state import AppState
from nona.app.widgets.fields import acting, label_text, nearest, plain, selector, show_error, whole
from nona.core.errors import NonaError, reasons
from nona.core.foreign import MOST_MODEL_BYTES
from nona.core.text import join_words
from nona.models.graph.model import MissingDimensions, usual_sizes
from nona.models.graph.registry import READERS
from nona.scenario.provenance import runs_as
from nona.scenario.sample_files import load_sample, manifest, sample_names, workflows
from nona.scenario.words import words

FIRST = ("googlenet", "resnet18", "bert_base", "llama2_7b", "moe_block", "rag_pipeline", "slides_example")
DEVICE = "a100-40gb"
OPEN, FILE = "model-open", "model-file"
TRANSFORMERS = ("bert_base", "gpt2", "gpt2_decode", "llama2_7b", "vit_b_16")


def pick_model(state: AppState) -> None:
    """Draw the choice among all models, which also searches, and the upload of another one."""
    names = sorted(loading.model_names(state), key=lambda name: (name in sample_names(), _order(name)))
    if state.model not in names:
        state.model = names[0]
    key = f"model-choice-{names.index(state.model)}-{len(names)}"  # in step with what was chosen elsewhere

    def choose(text: str) -> None:
        state.choices.complaints.pop(loading.UPLOAD_ERROR, None)
        state.choices.keep(replace(state.choices.get(loading.UploadChoice), unread=""))
        state.model = described[text]

    described = {_described(state, name): name for name in names}
    hint = "Your own models first, then the samples; type a part of a name, a family or a size."
    now = _described(state, state.model)
    selector("Model", list(described), now, key, choose, hint, width=320, label_visibility="collapsed")
    if state.choices.get(loading.UploadChoice).again:
        state.choices.keep(replace(state.choices.get(loading.UploadChoice), again=False))
        st.session_state[OPEN] = True
    with st.popover("Upload", icon=":material/upload_file:", on_change="rerun", key=OPEN):
        _upload(state)


def _order(name: str) -> tuple[int, str]:
    return FIRST.index(name) if name in FIRST else len(FIRST), name


def _described(state: AppState, name: str) -> str:
    if name in sample_names():
        return f"{name} · {family(name)}, {operators(name):,} operators"
    return f"{name} · {'in the scenario' if name in state.scenario.models else 'your upload'}"


def family(name: str) -> str:
    """Return the kind of network of a sample.

    >>> family("gpt2"), family("resnet18"), family("rag_pipeline")
    ('transformer', 'convolutional', 'workflow')
    """
    if name in workflows():
        return "workflow"
    if name in TRANSFORMERS:
        return "transformer"
    return "mixture of experts" if name == "moe_block" else "convolutional"


def operators(name: str) -> int:
    """Count the operators of a sample; ONNX files need not be read for it."""
    return int(manifest()[name]["operators"]) if name in manifest() else len(load_sample(name).operators)


def upload_label() -> str:
    """Name the model formats that can be uploaded."""
    *others, last = (r.title for r in READERS.values())
    suffixes = ", ".join(s for r in READERS.values() for s in r.suffixes)
    formats = f"{', '.join(others)} or {last}".replace("ONNX", "ONNX (weights are not needed)", 1)
    return f"Upload a model: {formats} ({suffixes})"


EXAMPLE = """{"nodes": [{"id": "a", "compute_ms": 3},
           {"id": "b", "compute_ms": {"t4": 5, "a100-40gb": 2}}],
 "edges": [{"source": "a", "target": "b", "bytes": 1000000}]}"""


def _upload(state: AppState) -> None:
    if complaint := state.choices.complaints.get(loading.UPLOAD_ERROR):
        show_error(complaint)
    st.file_uploader(
        upload_label(),
        help="It is read on this machine and sent nowhere else; weights are skipped. An ONNX file may "
        "have 2 GB, any other 64 MB.",
        key=FILE,
        on_change=_take_file,
        args=(state,),
        max_upload_size=MOST_MODEL_BYTES // 2**20,
    )
    st.caption("For a graph of your own, node-link JSON with times and bytes:")
    st.code(EXAMPLE, "json")


def _take_file(state: AppState) -> None:
    upload = st.session_state[FILE]
    if upload is not None and loading.take_model(state, upload.name, upload.getvalue()):
        st.session_state[OPEN] = False


def loaded_model(state: AppState, device: str) -> loading.LoadedModel | None:
    """Return the session's model, ready; asks for open dimensions, or shows why it cannot be read.

    An upload that cannot be read is given up: the page shows the former model, and the reason stands
    beside the upload.
    """
    try:
        if state.choices.get(loading.UploadChoice).unread == state.model:
            _read_upload(state)
        loaded = loading.load_model(state, state.model, device, state.scenario.contraction)
        if state.choices.get(loading.UploadChoice).asks == state.model:
            _ask_precision(state)
        return loaded
    except MissingDimensions as question:
        _ask_dimensions(state, question)
    except NonaError as error:
        show_error(error)
    return None


def _read_upload(state: AppState) -> None:
    choosing, single = state.choices.get(loading.UploadChoice), False
    try:
        graph = loading.load_graph(state, choosing.unread)
        single = any(t.dtype == "float32" and t.shape is not None for t in graph.tensors.values())
    except MissingDimensions:
        single = True  # it can be read once the sizes are known
    except NonaError as error:
        state.choices.complaints[loading.UPLOAD_ERROR] = "\n".join(reasons(error))
        state.uploads.remove(choosing.unread)
        if choosing.replaced is not None:
            state.uploads.add(choosing.unread, choosing.replaced)
        state.model = choosing.before
        state.choices.keep(replace(choosing, unread="", replaced=None, again=True))
        st.rerun()
    state.choices.keep(replace(choosing, unread="", replaced=None, asks=choosing.unread if single else ""))
    state.notify(f"{state.model} is in the list of models; add it to", "scenario", "the workload")
    st.rerun()  # the message stands above the page


def _ask_precision(state: AppState) -> None:
    """Ask once how an uploaded file in single precision runs: the times differ up to sevenfold."""
    path, key = ("cost", "precision"), f"precision-of-upload-{state.revision}"
    names = words(path).choices

    def choose(text: str) -> None:
        state.edit(path, next(value for value, name in names.items() if name == text))

    def done() -> None:
        state.choices.keep(replace(state.choices.get(loading.UploadChoice), asks=""))

    with st.container(border=True, key="ask-precision"):
        st.markdown(
            f"**{plain(state.model)} is fp32.** You will run it as {plain(runs_as(state.scenario))}; all "
            "models of the scenario run that way. Another choice:"
        )
        now = names[state.scenario.cost.precision]
        st.segmented_control(words(path).title, names.values(), default=now, **acting(key, choose))
        st.button("Done", icon=":material/check:", key="precision-is-right", on_click=done)


MOST_SIZE = 10_000_000


def sizes_of_one(symbols: Mapping[str, int]) -> str:
    """Warn of sizes, other than of batches, that are 1: a picture of one pixel costs next to nothing.

    >>> sizes_of_one({"batch": 1, "height": 1}), sizes_of_one({"batch": 1, "height": 224})
    ('Size height is 1: the times are those of so small an input. Give what your inputs have.', '')
    """
    ones = [name for name, size in symbols.items() if size == 1 and "batch" not in name.casefold()]
    ones = [name for name in ones if not name.endswith("[0]")]
    if not ones:
        return ""
    what = f"Size {ones[0]} is 1" if len(ones) == 1 else f"Sizes {join_words(ones)} are 1"
    return f"{what}: the times are those of so small an input. Give what your inputs have."


def change_sizes(state: AppState) -> None:
    """Draw the sizes of the model's symbolic dimensions, to be changed, and a warning of 1."""
    given = state.symbols.get(state.model, {})
    if not given:
        return
    if warning := sizes_of_one(given):
        st.warning(plain(warning), icon=":material/photo_size_select_small:")
    with st.popover(f"Sizes: {plain(', '.join(f'{n} = {s}' for n, s in given.items()))}", key="sizes"):
        for name, size in given.items():
            key = f"size-{state.revision}-{state.model}-{name}"
            take = partial(_resize, state, name, key)
            whole(label_text(name), 1, MOST_SIZE, size, key, on_change=take)


def _resize(state: AppState, name: str, key: str) -> None:
    if (size := st.session_state[key]) is not None:
        state.symbols[state.model] = {**state.symbols[state.model], name: nearest(size)}


def _ask_dimensions(state: AppState, question: MissingDimensions) -> None:
    st.info(plain(str(question)), icon=":material/help:")
    begin = usual_sizes(question.names) | state.symbols.get(state.model, {})
    with st.form("symbols"):
        for name in question.names:
            whole(label_text(name), 1, MOST_SIZE, begin.get(name), f"symbol:{name}")
        st.form_submit_button("Use these sizes", on_click=_bind, args=(state, state.model, question.names))


def _bind(state: AppState, model: str, names: tuple[str, ...]) -> None:
    given = {name: st.session_state[f"symbol:{name}"] for name in names}
    bound = {name: int(size) for name, size in given.items() if size is not None}
    state.symbols[model] = {**state.symbols.get(model, {}), **bound}
