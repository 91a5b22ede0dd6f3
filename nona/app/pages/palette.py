"""The palette: one field that finds pages, models, examples, settings, terms and actions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from nona.app.guide import TERMS
from nona.app.models.loading import model_names
from nona.app.pages.demo import begin
from nona.app.pages.demo_questions import STORIES
from nona.app.pages.help import FIND, HOW_TO, go_to
from nona.app.pages.home import FAMILY_PAGES, examples, open_demo
from nona.app.session.opening import new_scenario
from nona.app.session.page_list import PAGES, page_file
from nona.app.session.state import AppState
from nona.app.widgets.terms import TERM_PARAMETER
from nona.cluster.hardware.device import devices
from nona.queries.schedulers.registry import SCHEDULERS
from nona.scenario.rows import BatchingSpec
from nona.scenario.words import fields_of


@dataclass(frozen=True, slots=True)
class Palette:
    """The palette: to open at the next run or not, and how often opened, each time with an empty field."""

    wanted: bool = False
    opened: int = 0


def entries(state: AppState) -> dict[str, Callable[[], None]]:
    """Everything that can be found, by its text, with what it does."""
    actions: dict[str, Callable[[], None]] = {
        f"Page: {page.title}. {page.question}": partial(_go, state, page.file) for page in PAGES.values()
    }
    actions |= {
        "Do: new scenario": partial(new_scenario, state),
        "Do: undo": state.undo,
        "Do: redo": state.redo,
    }
    actions |= {
        f"How do I {entry.question}{f' ({entry.also})' if entry.also else ''}": partial(go_to, state, entry)
        for entry in HOW_TO
    }
    actions |= {
        f"GPU: {name} ({gpu.label})": partial(_go, state, f"{page_file('help')}?{FIND}={name}")
        for name, gpu in devices().items()
    }
    actions |= {f"Demo: {story.question}": partial(begin, state, n) for n, story in enumerate(STORIES)}
    actions |= {f"Model: {name}": partial(_show_model, state, name) for name in model_names(state)}
    for family, names in examples().items():
        page = page_file(FAMILY_PAGES[family])
        actions |= {
            f"Example, {family}: {title}": partial(open_demo, state, name, page)
            for name, title in names.items()
        }
    actions |= {
        f"Option of {scheduler.name}: {name.replace('_', ' ')}": partial(_go, state, page_file("simulation"))
        for scheduler in SCHEDULERS.values()
        for name in scheduler.settings
    }
    actions |= {
        f"Batching: {wording.title} ({name.replace('_', ' ')})": partial(_go, state, page_file("scenario"))
        for name, wording in fields_of(BatchingSpec).items()
    }
    return actions | {
        f"Term: {name}": partial(_go, state, f"{page_file('help')}?{TERM_PARAMETER}={name}") for name in TERMS
    }


def _go(state: AppState, page: str) -> None:
    state.go_to = page


def _show_model(state: AppState, name: str) -> None:
    state.model, state.go_to = name, page_file("models")


def ask(state: AppState) -> None:
    """Open the palette at the next run."""
    state.choices.keep(Palette(True, state.choices.get(Palette).opened + 1))


def palette(state: AppState) -> None:
    """Draw the button in the side bar, and the palette itself where it was asked for."""
    st.sidebar.button(
        "Find",
        icon=":material/search:",
        shortcut="Ctrl+K",
        on_click=ask,
        args=(state,),
        width="stretch",
        key="palette-open",
        help="Pages, models, examples, settings, terms, actions.",
    )
    asked = state.choices.get(Palette)
    if asked.wanted:
        state.choices.keep(Palette(False, asked.opened))
        _dialog(state, asked.opened)


@st.dialog("Find")
def _dialog(state: AppState, number: int) -> None:
    actions = entries(state)
    with st.container(key="palette-box"):
        chosen = st.selectbox(
            "A page, a model, an example, a setting, a term or an action",
            list(actions),
            None,
            filter_mode="contains",
            key=f"palette-{number}",
            placeholder="Type a word",
            help="Enter opens the page or runs the action.",
        )
    if chosen is not None:
        actions[chosen]()
        st.rerun()
