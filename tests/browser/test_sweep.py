"""A sweep in a real browser: it fills while it runs, the slider reads it, a reload keeps it."""

from __future__ import annotations

from typing import Any

import pytest
from browser_tools import open_page, shot, sweep_to_the_end, wait_idle

pytestmark = pytest.mark.browser
HEADLINE = """text => [...document.querySelectorAll('[data-testid=stMarkdown]')]
  .some(m => m.textContent.replaceAll('\\u00a0', ' ').startsWith(text))"""


def test_a_sweep_runs_is_read_and_survives_a_reload(app_page: Any) -> None:
    page = app_page
    open_page(page, "Simulation")
    page.get_by_role("radio", name="Sweep").click()
    wait_idle(page)
    sweep_to_the_end(page)
    page.wait_for_function(HEADLINE, arg="At 50 % link background")
    assert page.get_by_role("button", name="Run sweep").is_disabled()
    assert page.locator(".js-plotly-plot").first.is_visible()

    page.get_by_role("slider", name="Link background").first.press("ArrowLeft")
    page.wait_for_function(HEADLINE, arg="At 0 % link background")
    page.get_by_role("radio", name="SLO hits").click()
    page.locator(".js-plotly-plot .ytitle").filter(has_text="SLO hits, %").wait_for()
    wait_idle(page)
    shot(page, "sweep")

    page.reload()
    page.get_by_text("All simulated points").wait_for()
    page.wait_for_function(HEADLINE, arg="At 0 % link background")
    assert page.get_by_label("Values, about", exact=True).input_value() == "3"
