"""Python's side of the pipeline's picture: the stages go in, the page that was asked for comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import streamlit as st

from nona.ui.overview.demos import Stage
from nona.ui.session.state import AppState

KEY = "pipeline"
_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "nona_flow",
    html='<ol class="flow" data-testid="flow" aria-label="The pipeline"></ol>',
    css=(_HERE / "flow.css").read_text(encoding="utf-8"),
    js=(_HERE / "flow.js").read_text(encoding="utf-8"),
)


def flow(state: AppState, stages: Sequence[Stage]) -> None:
    """Draw the pipeline; a click on a stage goes to its page."""

    def open_page() -> None:
        asked = st.session_state[KEY].get("open")
        if asked in {s.page for s in stages}:  # what the browser sends is not to be trusted
            state.go_to = asked

    _component(key=KEY, data={"stages": [asdict(s) for s in stages]}, on_open_change=open_page)
