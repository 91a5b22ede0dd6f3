"""What the browser tells of what surrounds a page: links that stay in the session, keys of the demo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from nona.ui.session.page_list import PAGES, page_file
from nona.ui.session.state import AppState
from nona.ui.widgets.component import declare

KEY = "surround"
FILES = {name: page_file(name) for name, *_ in PAGES}
_component = declare(Path(__file__).parent, KEY)


def surround(state: AppState, demo: str, press: Callable[[str], None]) -> None:
    """Watch links and focus; in a demo ``press`` gets a key with the step it was pressed on: ``next 2.1``.

    ``demo`` is the step that is shown, empty outside a demo.
    """

    def open_link() -> None:
        state.go_to = page_address(str(_told("open"))) or state.go_to

    def pressed() -> None:
        press(str(_told("key")))

    with st.container(key="surround-box"):
        _component(
            key=KEY,
            data={"pages": list(FILES), "demo": demo},
            on_open_change=open_link,
            on_key_change=pressed,
        )


def _told(name: str) -> object:
    return (st.session_state.get(KEY) or {}).get(name) or ""


def page_address(link: str) -> str:
    """A link's page as a file with its query; empty for one that is no page of the app.

    >>> page_address("guide?term=JCT"), page_address("elsewhere")
    ('pages/13_guide.py?term=JCT', '')
    """
    name, _, query = link.partition("?")
    file = FILES.get(name, "")
    return f"{file}?{query}" if file and query else file
