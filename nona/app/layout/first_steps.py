"""Start of a page for which the scenario has nothing: demo cards, no queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from nona.app.session.kept import choose
from nona.app.session.opening import open_shipped_scenario
from nona.app.session.state import AppState
from nona.app.widgets.fields import button, show_error
from nona.scenario.sample_files import scenario_title


@dataclass(frozen=True, slots=True)
class Demo:
    """A shipped scenario to begin with, and the ``tab`` of the ``tabs`` of that key that is open then."""

    name: str
    about: str
    icon: str
    tabs: str = ""
    tab: str = ""


def examples(state: AppState, page: str, demos: Iterable[Demo], kinds: Iterable[str] = ()) -> None:
    """Draw a card for each example, until something of these ``kinds`` was run.

    ``page`` begins their keys.
    """
    if any(kind in state.results for kind in kinds):
        st.page_link("pages/home.py", label="Examples are on Home", icon=":material/apps:")
        return
    st.markdown("**Examples**")
    with st.grid(3, min_column_width=260):
        for demo in demos:
            _demo_card(state, page, demo)
    if state.choices.complaints.get("demo-error"):
        show_error(state.choices.complaints["demo-error"])


def start_card(
    title: str,
    about: str,
    label: str,
    key: str,
    begin: Callable[..., None],
    *args: object,
    icon: str,
    hint: str,
    **more: Any,
) -> None:
    """Draw a way to begin on a page: what it is, and the button that does it; ``more`` goes to the button."""
    with st.container(border=True, height="stretch"):
        st.markdown(f"**{title}**")
        st.caption(about)
        button(label, key, begin, *args, icon=icon, hint=hint, width="stretch", **more)


def _demo_card(state: AppState, page: str, demo: Demo) -> None:
    title, key = scenario_title(demo.name), f"open-{page}-{demo.name}"
    hint = f"Opens “{title}”. Undo brings your scenario back."
    start_card(title, demo.about, "Open this example", key, _open, state, demo, icon=demo.icon, hint=hint)


def _open(state: AppState, demo: Demo) -> None:
    if open_shipped_scenario(state, demo.name) and demo.tabs:
        choose(state, demo.tabs, demo.tab)


def no_queries(state: AppState, needed_for: str) -> bool:
    """Return whether the workload is empty; then a line says so, with links to where rows are added."""
    if state.scenario.workload:
        return False
    training, language = state.scenario.training is not None, bool(state.scenario.language)
    if language:
        text = (
            f"{needed_for} is for models that run as graphs of tasks. All rows of this scenario ask language "
            "models; a router sends their requests to engines, as Simulation shows."
        )
    elif training:
        text = f"This scenario has training jobs only. {needed_for} needs a row in the workload."
    else:
        text = f"The workload is empty. {needed_for} needs a row in it."
    with st.container(border=True, key="no-queries"):
        st.markdown(text)
        with st.container(horizontal=True):
            st.page_link("pages/scenario.py", label="Add a row", icon=":material/add:")
            if language:
                st.page_link("pages/simulation.py", label="Simulate them", icon=":material/timeline:")
            if training:
                st.page_link("pages/training.py", label="Open Training", icon=":material/model_training:")
    return True
