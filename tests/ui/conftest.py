"""A fresh session of the app for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from app_driver import Open, go, new_session
from streamlit.testing.v1 import AppTest

from nona.ui.workspace import jobs


@pytest.fixture
def open_page() -> Iterator[Open]:
    """Opens a page of the app in a fresh session; ends the jobs of the test afterwards."""

    def open_(name: str) -> AppTest:
        return go(new_session().run(), name)

    yield open_
    jobs().close()
