"""The sample models as quick picks: how large each is, and how much of it could run in parallel."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial

import streamlit as st

from nona.hardware.executor import executor_class
from nona.sources.samples import load_sample, manifest, sample_names, workflows
from nona.study import prepare_model
from nona.ui.loaded.shelf import shelf
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain

FIRST = ("googlenet", "resnet18", "bert_base", "llama2_7b", "moe_block", "rag_pipeline", "slides_example")
DEVICE = "a100-40gb"


def sample_picks(state: AppState) -> None:
    """An expander with a card for every sample; closed it costs nothing."""
    box = st.expander(
        "Sample models", icon=":material/collections_bookmark:", on_change="rerun", key="sample-models"
    )
    if box.open:
        with box:
            _cards(state)
            if _waiting():
                st.fragment(_look_again, run_every=1.0)()


def _waiting() -> bool:
    return any(not _asked(name).done() for name in sample_names())


def _look_again() -> None:
    """Draw the page once more when every parallelism is known.

    The cards stand outside this fragment: a click on one of them draws the whole page.
    """
    if not _waiting():
        st.rerun()


def _cards(state: AppState) -> None:
    names = sorted(sample_names(), key=lambda n: (FIRST.index(n) if n in FIRST else len(FIRST), n))
    with st.grid("auto", min_column_width=230, gap="small"):
        for name in names:
            with st.container(border=True, gap="xxsmall"):
                st.button(
                    plain(name),
                    key=f"sample-{name}",
                    help="Open this model.",
                    on_click=_choose,
                    args=(state, name),
                    type="primary" if state.model == name else "secondary",
                    width="stretch",
                )
                st.caption(f"{operators(name):,} operators, {_parallelism(name)}  \n{plain(_about(name))}")
    st.caption(f"Parallelism: one after the other over the longest chain, on an {DEVICE}.")


def _choose(state: AppState, name: str) -> None:
    state.model = name
    state.choices.complaints.pop("upload-error", None)
    state.revision += 1  # the list of models shows the choice too


def operators(name: str) -> int:
    """How many operators a sample has; ONNX files need not be read for it."""
    return int(manifest()[name]["operators"]) if name in manifest() else len(load_sample(name).operators)


def _about(name: str) -> str:
    text = str(manifest()[name]["description"] if name in manifest() else workflows()[name]["description"])
    return text if len(text) <= 76 else text[:75].rsplit(" ", 1)[0] + " …"


def parallelism(name: str) -> float:
    """T₁/T∞ of a sample on the usual device."""
    return prepare_model(load_sample(name), (executor_class(DEVICE),)).costed[0].parallelism


def _asked(name: str) -> Future[float]:
    return shelf().ask(("parallelism", name), partial(parallelism, name))


def _parallelism(name: str) -> str:
    found = _asked(name)
    return f"parallelism {found.result():.2f}" if found.done() and not found.exception() else "parallelism …"
