"""The what-if view in a real browser: the answer follows a slider, the scenario stays until Apply."""

from __future__ import annotations

from typing import Any

import pytest
from browser_tools import RESULT_MS, open_demo, open_page, shot, wait_idle

pytestmark = pytest.mark.browser
CELLS = "() => [...document.querySelectorAll('.st-key-what-if-answer td')].map(c => c.textContent).join('|')"
# Whether the table was taken off the page at any time since the mark was set on it.
TABLE = ".st-key-what-if-answer [data-testid=stDataFrame]"
MARK = f"() => {{ document.querySelector('{TABLE}').dataset.mark = 'here' }}"
MARKED = f"() => Boolean(document.querySelector('{TABLE}[data-mark=here]'))"
BEFORE = "() => document.querySelector('.st-key-what-if-answer').textContent.includes('mean JCT before')"
TWO_CHARTS = "() => document.querySelectorAll('.st-key-what-if-answer .js-plotly-plot').length === 2"
ANSWERED = """old => { const panel = document.querySelector('.st-key-what-if');
  const cells = [...document.querySelectorAll('.st-key-what-if-answer td')].map(c => c.textContent).join('|');
  return panel && /, 8 replications/.test(panel.textContent) && !panel.textContent.includes('Asking')
    && cells && cells !== old }"""


def ask_by(page: Any, view: str) -> None:
    page.get_by_test_id("stButtonGroup").get_by_text(view, exact=True).click()
    wait_idle(page)


def press(page: Any, label: str, key: str, times: int = 1) -> None:
    slider = page.get_by_role("slider", name=label)
    slider.focus()
    for _ in range(times):
        slider.press(key)


def slider_value(page: Any, label: str) -> str | None:
    value: str | None = page.get_by_role("slider", name=label).get_attribute("value")
    return value


def test_the_answer_follows_a_slider_and_the_scenario_stays_until_apply(app_page: Any) -> None:
    """On at once, a copy until Apply, kept by a reload, one step to undo."""
    page = app_page
    open_demo(page, "The slides' example")
    open_page(page, "Simulation")
    field = page.get_by_label("Jobs measured per run", exact=True)
    field.fill("200")
    field.press("Enter")
    wait_idle(page)
    ask_by(page, "What if")
    page.wait_for_function(ANSWERED, arg="", timeout=RESULT_MS)
    fingerprint = page.get_by_test_id("stSidebar").locator("code").inner_text()
    wait_idle(page)  # the page is drawn once more when the answer is complete
    old = page.evaluate(CELLS)
    page.evaluate(MARK)
    press(page, "Link background", "ArrowRight", 7)
    page.wait_for_function(BEFORE, timeout=RESULT_MS)
    page.wait_for_function(ANSWERED, arg=old, timeout=RESULT_MS)
    assert page.evaluate(MARKED)  # the same table as before, with new cells
    wait_idle(page)
    page.wait_for_function(TWO_CHARTS)
    shot(page, "what-if")

    page.reload()
    page.wait_for_function(ANSWERED, arg="", timeout=RESULT_MS)
    assert slider_value(page, "Link background") == "7"
    assert page.get_by_label("Jobs measured per run", exact=True).input_value() == "200"
    assert page.get_by_test_id("stSidebar").locator("code").inner_text() == fingerprint
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("As the scenario stands").wait_for()
    wait_idle(page)
    assert page.get_by_test_id("stSidebar").locator("code").inner_text() != fingerprint
    open_page(page, "Cluster")
    assert page.get_by_role("slider", name="Link busy").get_attribute("value") == "7"
    page.get_by_role("button", name="Undo").click()
    wait_idle(page)
    assert page.get_by_role("slider", name="Link busy").get_attribute("value") == "0"


def test_the_page_lives_while_an_answer_is_made(app_page: Any) -> None:
    """Sliders move, other pages open, and the button still works while all schedulers are asked."""
    page = app_page
    open_page(page, "Simulation")
    ask_by(page, "What if")
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowRight"):
        press(page, "Compute background", key)
        page.wait_for_timeout(150)
    page.wait_for_function(ANSWERED, arg="", timeout=RESULT_MS)
    press(page, "Load", "ArrowRight", 6)
    page.wait_for_timeout(400)  # a slider hands its value on a little after the last key
    page.get_by_role("button", name="Apply").click()  # what was moved last must not be moved again
    page.get_by_text("As the scenario stands").wait_for()
    press(page, "Servers", "ArrowLeft")
    page.wait_for_timeout(400)
    open_page(page, "Workload")
    open_page(page, "Simulation")
    page.get_by_text("Only here: servers 8 → 7.").wait_for()
    assert slider_value(page, "Compute background") == "2"
    assert slider_value(page, "Load") == "1"
    assert slider_value(page, "Servers") == "7"
    page.get_by_role("button", name="Discard").click()
    page.get_by_text("As the scenario stands").wait_for()
    assert slider_value(page, "Servers") == "8"
    ask_by(page, "Run")
    assert page.get_by_role("button", name="Run the simulation").is_enabled()
