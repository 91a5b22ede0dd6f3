"""The demo's bar above a page: the question, what to see, and how to go on."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from nona.ui.pages.demo.outcome import outcome_text
from nona.ui.pages.demo.stories import STORIES
from nona.ui.pages.demo.tour import Tour, begin, can, press
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain

STYLE = Path(__file__).parent / "demo.css"
QUESTIONS = "demo-questions"


def demo_bar(state: AppState, tour: Tour | None) -> None:
    """Question, step and text, what was found once it is known, and buttons for what the keys do as well.

    Outside a demo it is empty.

    It has a place in every run, so that what comes below keeps its own when the demo begins.
    """
    with st.container():
        if tour is not None:
            _bar(state, tour)


def _bar(state: AppState, tour: Tour) -> None:
    st.html(STYLE)
    with st.container(key="demo-bar", gap="xsmall"):
        count = (
            f"Question {tour.story + 1} of {len(STORIES)} · step {tour.step + 1} of {len(tour.told.steps)}"
            " · keys ← →"
        )
        with st.container(horizontal=True, vertical_alignment="center", key="demo-head"):
            st.markdown(f"**{plain(tour.told.question)}** :small[{count}]")
            with st.container(horizontal=True, gap="xsmall", width="content"):
                _buttons(state, tour)
        with st.container(key="demo-text"):
            st.markdown(plain(tour.shown.text))
            found = outcome_text(state, tour.shown)
            if found:
                st.markdown(f"**Found:** {plain(found)}")


def _buttons(state: AppState, tour: Tour) -> None:
    for key, label, icon in (("back", "Back", "arrow_back"), ("next", "Next", "arrow_forward")):
        st.button(
            label,
            icon=f":material/{icon}:",
            type="primary" if key == "next" else "secondary",
            disabled=not can(tour, key),
            on_click=press,
            args=(state, key),
            key=f"demo-{key}",
        )
    st.menu_button(
        "Questions",
        range(len(STORIES)),
        format_func=lambda number: STORIES[number].question,
        on_click=_ask,
        args=(state,),
        key=QUESTIONS,
    )
    st.button(
        "Leave",
        icon=":material/close:",
        on_click=press,
        args=(state, "leave"),
        help="Leaves the demo (key Escape). Your own scenario and results come back.",
        key="demo-leave",
    )


def _ask(state: AppState) -> None:
    begin(state, st.session_state[QUESTIONS])
