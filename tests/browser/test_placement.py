"""The Placement page in a browser: what heads it, and how many servers keep the SLOs, by scheduler."""

from __future__ import annotations

import re
from typing import Any

import pytest
from browser_tools import RESULT_MS, assert_fits, choose, open_demo, open_page, shot, wait_idle

from nona.schedulers.registry import SCHEDULERS

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("app_page", [("light", 1280)], indirect=True)
def test_the_headline_and_the_servers_say_what_they_are(app_page: Any) -> None:
    page = app_page
    open_demo(page, "The slides' example")
    open_page(page, "Placement")
    servers_of_one_scheduler_and_of_others(page)
    response_heads_the_page(page)


def servers_of_one_scheduler_and_of_others(page: Any) -> None:
    """The answer names its scheduler, others are offered, and one per cent can be seen on the axis."""
    chosen = page.get_by_test_id("schedulerpicker")
    assert chosen.get_by_role("button", name="Remove nona", exact=True).is_visible()
    chosen.get_by_role("button", name="Choose:").click()
    wanted = ("nona", "spark-fair")
    for name in SCHEDULERS:
        chosen.get_by_role("checkbox", name=name, exact=True).set_checked(name in wanted)
    page.keyboard.press("Escape")
    wait_idle(page)
    page.get_by_role("button", name="Find the fewest servers").click()
    page.get_by_text(re.compile(r"With (nona|spark-fair), \d+ servers with")).first.wait_for(
        timeout=RESULT_MS
    )
    page.get_by_role("button", name="Cancel search for servers").wait_for(state="detached", timeout=RESULT_MS)
    wait_idle(page)
    page.get_by_text(re.compile("(spark-fair|nona) needs")).wait_for()
    axis = page.locator(".js-plotly-plot").last
    axis.get_by_text("1 % allowed").wait_for()
    assert "log" in (axis.locator(".ytitle").text_content() or "")
    axis.scroll_into_view_if_needed()
    assert_fits(page)
    shot(page, "placement-servers")


def response_heads_the_page(page: Any) -> None:
    """Whatever was minimised, sampled jobs head the page; a search for SLO hits speaks of hits."""
    choose(page, "Objective", "Missed SLOs")
    page.get_by_role("button", name="Solve the placement").click()
    page.get_by_text("Against local").wait_for(timeout=RESULT_MS)
    wait_idle(page)
    head = page.locator(".st-key-placement-head")
    head.get_by_text("Predicted SLO hits").wait_for()
    assert page.get_by_test_id("stMetric").count() == 1
    assert_fits(page)
    shot(page, "placement-slo")
