"""The Models page: a model picked or uploaded, its facts, tables and file."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial

import streamlit as st

from nona.errors import NonaError
from nona.foreign.files import MOST_MODEL_BYTES
from nona.graph.model import MissingDimensions
from nona.graph.registry import READERS
from nona.hardware.executor import executor_class
from nona.report.times import runs_as
from nona.scenario.words import words
from nona.sources.samples import load_sample, manifest, sample_names, workflows
from nona.study.models import prepare_model
from nona.ui.models.choosing import UPLOAD_ERROR, Choosing, take_model
from nona.ui.models.loading import Loaded, load_graph, load_model, model_names, shelf
from nona.ui.session.state import AppState
from nona.ui.widgets.components import Entry, pick_list, picked
from nona.ui.widgets.fields import label_text, plain, whole

FIRST = ("googlenet", "resnet18", "bert_base", "llama2_7b", "moe_block", "rag_pipeline", "slides_example")
DEVICE = "a100-40gb"
TRANSFORMERS = ("bert_base", "gpt2", "gpt2_decode", "llama2_7b", "vit_b_16")


@dataclass(frozen=True, slots=True)
class Read:
    """The opened models of the session itself: name → operators and parallelism."""

    figures: Mapping[str, str] = field(default_factory=dict)


def _note_figures(state: AppState, loaded: Loaded, device: str) -> None:
    """Keep the figures of the model on the page for the list, where samples have theirs at once."""
    if state.model in sample_names():
        return
    costed, figures = loaded.prepared.costed[0], state.choices.of(Read).figures
    on = "" if device == DEVICE else f" on {device}"
    text = f"{len(costed.costs):,} operators, parallelism {costed.parallelism:.2f}{on}"
    state.choices.keep(Read({**figures, state.model: text}))


def entries(state: AppState) -> list[Entry]:
    """Every model of the session: the person's own first, then the samples, well-known ones first."""
    own = [n for n in model_names(state) if n not in sample_names()]
    inside, figures = state.scenario.models, state.choices.of(Read).figures
    own_entries = [
        Entry(
            name=n,
            family="in the scenario" if n in inside else "your upload",
            figures=figures.get(n, "not opened yet"),
            about="",
        )
        for n in own
    ]
    return own_entries + [_sample(n) for n in sorted(sample_names(), key=_order)]


def _order(name: str) -> tuple[int, str]:
    return FIRST.index(name) if name in FIRST else len(FIRST), name


def _sample(name: str) -> Entry:
    return Entry(
        name=name,
        family=family(name),
        figures=f"{operators(name):,} operators, {_parallelism(name)}",
        about=_about(name),
    )


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


def _about(name: str) -> str:
    text = str(manifest()[name]["description"] if name in manifest() else workflows()[name]["description"])
    return text if len(text) <= 110 else text[:109].rsplit(" ", 1)[0] + " …"


def parallelism(name: str) -> float:
    """T₁/T∞ of a sample on the usual device."""
    return prepare_model(load_sample(name), (executor_class(DEVICE),)).costed[0].parallelism


def waiting() -> bool:
    """Return whether the parallelism of a sample is still being computed."""
    return any(not _asked(name).done() for name in sample_names())


def _asked(name: str) -> Future[float]:
    return shelf().ask(("parallelism", name), partial(parallelism, name), "samples")


def _parallelism(name: str) -> str:
    future = _asked(name)
    return (
        f"parallelism {future.result():.2f}" if future.done() and not future.exception() else "parallelism …"
    )


OPEN, LIST, FILE = "model-open", "model-list", "model-file"
LONGEST = 30  # letters of a name on the button


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
    choosing = state.choices.of(Choosing)
    if choosing.again:
        st.session_state[OPEN] = True
    pick = picked(LIST)
    if pick is not None and pick != choosing.taken:
        state.choices.complaints.pop(UPLOAD_ERROR, None)
        st.session_state[OPEN] = False
        if pick.name in model_names(state):
            state.model = pick.name
        choosing = replace(choosing, taken=pick, unread="")
    state.choices.keep(replace(choosing, again=False))


def upload_label() -> str:
    """The upload's label: every format with a reader, and its extensions."""
    *others, last = (r.title for r in READERS.values())
    suffixes = ", ".join(s for r in READERS.values() for s in r.suffixes)
    formats = f"{', '.join(others)} or {last}".replace("ONNX", "ONNX (weights are not needed)", 1)
    return f"Upload a model: {formats} ({suffixes})"


def _upload(state: AppState) -> None:
    if complaint := state.choices.complaints.get(UPLOAD_ERROR):
        st.error(plain(complaint), icon=":material/error:")
    st.file_uploader(
        upload_label(),
        help="It is read on this machine and sent nowhere else; weights are passed over. An ONNX file may "
        "have 2 GB, any other 64 MB.",
        key=FILE,
        on_change=_take_file,
        args=(state,),
        max_upload_size=MOST_MODEL_BYTES // 2**20,
    )


def _take_file(state: AppState) -> None:
    upload = st.session_state[FILE]
    if upload is not None and take_model(state, upload.name, upload.getvalue()):
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
        _note_figures(state, loaded, device)
        if state.choices.of(Choosing).asks == state.model:
            _ask_precision(state)
        return loaded
    except MissingDimensions as question:
        _ask(state, question)
    except NonaError as error:
        st.error(plain(str(error)), icon=":material/error:")
    return None


def _read_upload(state: AppState) -> None:
    choosing, single = state.choices.of(Choosing), False
    try:
        graph = load_graph(state, choosing.unread)
        single = any(t.dtype == "float32" and t.shape is not None for t in graph.tensors.values())
    except MissingDimensions:
        single = True  # it can be read once the sizes are known
    except NonaError as error:
        state.choices.complaints[UPLOAD_ERROR] = str(error)
        state.uploads.remove(choosing.unread)
        if choosing.replaced is not None:
            state.uploads.add(choosing.unread, choosing.replaced)
        state.model = choosing.before
        state.choices.keep(replace(choosing, unread="", replaced=None, again=True))
        st.rerun()
    state.choices.keep(replace(choosing, unread="", replaced=None, asks=choosing.unread if single else ""))
    state.tell(f"{state.model} is in the list of models; add it to", "scenario", "the workload")
    st.rerun()  # the message stands above the page


def _ask_precision(state: AppState) -> None:
    """Ask once how an uploaded file in single precision runs: the times differ up to sevenfold."""
    path, key = ("cost", "precision"), f"precision-of-upload-{state.revision}"
    names = words(path).choices

    def choose() -> None:
        if st.session_state[key] is not None:
            text = st.session_state[key]
            state.edit(path, next(value for value, name in names.items() if name == text))

    def done() -> None:
        state.choices.keep(replace(state.choices.of(Choosing), asks=""))

    with st.container(border=True, key="ask-precision"):
        st.markdown(
            f"**{plain(state.model)} is fp32.** You will run it as {plain(runs_as(state.scenario))}; all "
            "models of the scenario run that way. Another choice:"
        )
        now = names[state.scenario.cost.precision]
        st.segmented_control(words(path).title, names.values(), default=now, key=key, on_change=choose)
        st.button("Done", icon=":material/check:", key="precision-is-right", on_click=done)


def _ask(state: AppState, question: MissingDimensions) -> None:
    st.info(plain(str(question)), icon=":material/help:")
    kept = state.symbols.get(state.model, {})
    with st.form("symbols"):
        for name in question.names:
            whole(label_text(name), 1, 10_000_000, kept.get(name, 1), f"symbol:{name}")
        st.form_submit_button("Use these sizes", on_click=_bind, args=(state, state.model, question.names))


def _bind(state: AppState, model: str, names: tuple[str, ...]) -> None:
    bound = {name: int(st.session_state[f"symbol:{name}"]) for name in names}
    state.symbols[model] = {**state.symbols.get(model, {}), **bound}
