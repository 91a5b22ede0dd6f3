"""A fresh session of the app for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from app_driver import Open, end_jobs, go, new_session
from streamlit.testing.v1 import AppTest

from nona.results.simulation_charts import Story
from nona.ui.pages.overview import kept
from nona.ui.tasks.desk import Desk
from nona.ui.tasks.sweeps import tell_story


@pytest.fixture(scope="session", autouse=True)
def story_is_told() -> None:
    """The Overview's story as a server that has been up for a while holds it: no test waits for it."""
    story = kept()
    if not story.complete:
        story.told = Story.from_json(tell_story({}, Desk(lambda message: None)))
        story.complete = True


@pytest.fixture
def open_page() -> Iterator[Open]:
    """Opens a page of the app in a fresh session; ends the jobs of the test afterwards."""

    def open_(name: str) -> AppTest:
        return go(new_session().run(), name)

    yield open_
    end_jobs()
