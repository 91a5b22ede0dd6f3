"""The models to pick from: uploads, models of the scenario, samples with size and parallelism."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial

from nona.hardware.executor import executor_class
from nona.sources.samples import load_sample, manifest, sample_names, workflows
from nona.study import prepare_model
from nona.ui.loaded.loading import Loaded, model_names
from nona.ui.loaded.shelf import shelf
from nona.ui.session.state import AppState
from nona.ui.widgets.picklist.picklist import Entry

FIRST = ("googlenet", "resnet18", "bert_base", "llama2_7b", "moe_block", "rag_pipeline", "slides_example")
DEVICE = "a100-40gb"
TRANSFORMERS = ("bert_base", "gpt2", "gpt2_decode", "llama2_7b", "vit_b_16")


@dataclass(frozen=True, slots=True)
class Read:
    """What is known of the session's own models that were opened: name → operators and parallelism."""

    figures: Mapping[str, str] = field(default_factory=dict)


def note_figures(state: AppState, loaded: Loaded, device: str) -> None:
    """Keep the figures of the model on the page for the list, where samples have theirs at once."""
    if state.model in sample_names():
        return
    costed, known = loaded.prepared.costed[0], state.choices.of(Read).figures
    on = "" if device == DEVICE else f" on {device}"
    told = f"{len(costed.costs):,} operators, parallelism {costed.parallelism:.2f}{on}"
    state.choices.keep(Read({**known, state.model: told}))


def entries(state: AppState) -> list[Entry]:
    """Every model of the session: the person's own first, then the samples, well-known ones first."""
    own = [n for n in model_names(state) if n not in sample_names()]
    inside, known = state.scenario.models, state.choices.of(Read).figures
    made = [
        Entry(
            name=n,
            family="in the scenario" if n in inside else "your upload",
            figures=known.get(n, "not opened yet"),
            about="",
        )
        for n in own
    ]
    return made + [_sample(n) for n in sorted(sample_names(), key=_order)]


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
    """What kind of network a sample is.

    >>> family("gpt2"), family("resnet18"), family("rag_pipeline")
    ('transformer', 'convolutional', 'workflow')
    """
    if name in workflows():
        return "workflow"
    if name in TRANSFORMERS:
        return "transformer"
    return "mixture of experts" if name == "moe_block" else "convolutional"


def operators(name: str) -> int:
    """How many operators a sample has; ONNX files need not be read for it."""
    return int(manifest()[name]["operators"]) if name in manifest() else len(load_sample(name).operators)


def _about(name: str) -> str:
    text = str(manifest()[name]["description"] if name in manifest() else workflows()[name]["description"])
    return text if len(text) <= 110 else text[:109].rsplit(" ", 1)[0] + " …"


def parallelism(name: str) -> float:
    """T₁/T∞ of a sample on the usual device."""
    return prepare_model(load_sample(name), (executor_class(DEVICE),)).costed[0].parallelism


def waiting() -> bool:
    """Whether the parallelism of a sample is still being computed."""
    return any(not _asked(name).done() for name in sample_names())


def _asked(name: str) -> Future[float]:
    return shelf().ask(("parallelism", name), partial(parallelism, name), "samples")


def _parallelism(name: str) -> str:
    found = _asked(name)
    return f"parallelism {found.result():.2f}" if found.done() and not found.exception() else "parallelism …"
