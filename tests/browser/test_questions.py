"""What a person comes to find out, each in a few clicks: light and dark, on a wide and on a narrow window."""

from __future__ import annotations

import re
from typing import Any

import pytest
from browser_tools import assert_fits, shot, wait_idle

pytestmark = pytest.mark.browser
WINDOWS = [("light", 1280), ("dark", 1280), ("light", 400), ("dark", 400)]
everywhere = pytest.mark.parametrize(
    "app_page", WINDOWS, ids=[f"{scheme}-{width}" for scheme, width in WINDOWS], indirect=True
)


def window(page: Any) -> str:
    """The window's name in the pictures' names."""
    dark = page.evaluate("() => matchMedia('(prefers-color-scheme: dark)').matches")
    return f"{'dark' if dark else 'light'}-{page.viewport_size['width']}"


@everywhere
def test_why_the_network_matters(app_page: Any) -> None:
    page = app_page
    story = page.get_by_test_id("story")
    times = story.locator("section strong")
    load = story.get_by_role("slider", name="Share of the link that others use")
    page.wait_for_function(
        "() => [...document.querySelectorAll('*')].map(e => e.shadowRoot).filter(Boolean)"
        ".some(r => r.querySelector('.story input')?.max === '19')"
    )
    assert times.all_inner_texts() == ["22 ms", "32 ms", "14 ms"]
    assert_fits(page)
    shot(page, f"question-1-{window(page)}-idle")
    load.fill("17")
    story.get_by_text("stopped paying").wait_for()
    assert times.all_inner_texts()[0] == times.all_inner_texts()[2] == "22 ms"
    story.get_by_role("button", name="Play one query").click()
    story.get_by_role("button", name="Pause").wait_for()
    story.get_by_role("button", name="Play one query").wait_for()  # it has come to its end
    load.fill("12")
    story.get_by_text(re.compile("60 % busy")).wait_for()
    shot(page, f"question-1-{window(page)}-loaded")
    wait_idle(page)
    page.get_by_role("button", name="Open this example").click()
    page.get_by_role("heading", name="Placement", exact=True, level=1).wait_for()
    wait_idle(page)
    assert_fits(page)
