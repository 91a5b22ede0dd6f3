"""Start of a page for which the scenario has nothing: demo cards, no queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from nona.sources.samples import scenario_names, scenario_title
from nona.ui.session.kept import choose
from nona.ui.session.opening import open_shipped_scenario
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import button, show_error


@dataclass(frozen=True, slots=True)
class Demo:
    """A shipped scenario to begin with, and the tab that is open then.

    ``takes``: about how long its run takes on one idle core, where that is known.
    """

    name: str
    about: str
    icon: str
    tab: str = ""
    takes: str = ""


def demo_cards(state: AppState, page: str, demos: Iterable[Demo]) -> None:
    """A card for each demo that is shipped; ``page`` begins the keys of its button and of the page's tabs."""
    for demo in demos:
        if demo.name in scenario_names():
            _card(state, page, demo)


def demo_error(state: AppState) -> None:
    """Show the error of the last demo that could not be opened."""
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
    """A way to begin on a page: what it is, and the button that does it; ``more`` goes to the button."""
    with st.container(border=True, height="stretch"):
        st.markdown(f"**{title}**")
        st.caption(about)
        button(label, key, begin, *args, icon=icon, hint=hint, width="stretch", **more)


def _card(state: AppState, page: str, demo: Demo) -> None:
    about = f"{demo.about} Run: {demo.takes}." if demo.takes else demo.about
    title, key = scenario_title(demo.name), f"open-{page}-{demo.name}"
    hint = f"Makes “{title}” the scenario; Undo restores the open one."
    start_card(title, about, "Open this demo", key, _open, state, page, demo, icon=demo.icon, hint=hint)


def _open(state: AppState, page: str, demo: Demo) -> None:
    if open_shipped_scenario(state, demo.name) and demo.tab:
        choose(state, f"{page}-tabs", demo.tab)


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
