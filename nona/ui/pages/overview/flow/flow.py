"""Python's side of the pipeline's picture: the stages go in, the requested page comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import streamlit as st

from nona.ui.pages.overview.pipeline import Stage
from nona.ui.session.state import AppState
from nona.ui.widgets.component import declare

KEY = "pipeline"
_component = declare(Path(__file__).parent, "flow", tag="ol")


def flow(state: AppState, stages: Sequence[Stage]) -> None:
    """Draw the pipeline; a click on a stage goes to its page."""

    def open_page() -> None:
        asked = st.session_state[KEY].get("open")
        if asked in {s.page for s in stages}:  # what the browser sends is not to be trusted
            state.go_to = asked

    _component(key=KEY, data={"stages": [asdict(s) for s in stages]}, on_open_change=open_page)
