"""A person's way through the Training page: a demo, a run, who has which GPU and why, one more GPU."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from browser_tools import RESULT_MS, assert_fits, fill_number, open_page, shot, wait_idle

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("app_page", [("dark", 400)], ids=["dark-400"], indirect=True)
def test_a_demo_is_run_and_explained(app_page: Any) -> None:
    page = app_page
    open_page(page, "Training")
    page.get_by_role("button", name="Open this demo").first.click()
    wait_idle(page)
    fill_number(page, "Replications", "20")
    page.get_by_role("button", name="Run the policies").click()
    cancel = page.get_by_role("button", name="Cancel training run")
    cancel.wait_for()
    page.locator(".clusterview .lane i").first.wait_for()  # live, while it runs
    cancel.wait_for(state="detached", timeout=RESULT_MS)
    wait_idle(page)
    finding = page.locator(".st-key-training-area").get_by_role("heading")
    finding.get_by_text(re.compile("shortest mean JCT")).wait_for()
    said = finding.inner_text()
    page.locator(".js-plotly-plot").first.wait_for()
    assert_fits(page)
    shot(page, "training-policies")
    page.reload()
    finding.get_by_text(said).wait_for()
    wait_idle(page)
    _explain_a_round(page)
    _one_more(page)
    with page.expect_download() as got:
        page.get_by_role("button", name="Report (JSON)").click()
    report = json.loads(Path(got.value.path()).read_text(encoding="utf-8"))
    assert report["policies"].keys() >= {"max-min-fairness"}
    assert not report["failed_checks"]


def _explain_a_round(page: Any) -> None:
    """A click on a stay of the chart shows the priorities of the round in its middle."""
    page.get_by_role("tab", name="Rounds", exact=True).click()
    wait_idle(page)
    field = page.get_by_role("spinbutton", name="Round", exact=True)
    before = field.input_value()
    bars = page.locator(".st-key-chart-training-gantt .barlayer path")
    bars.first.wait_for()
    widest = max(range(min(bars.count(), 60)), key=lambda k: _place(bars.nth(k)))
    bars.nth(widest).click(force=True)
    page.wait_for_function(
        "before => [...document.querySelectorAll('input[type=number]')].some("
        "i => i.getAttribute('aria-label') === 'Round' && i.value !== before)",
        arg=before,
    )
    wait_idle(page)
    page.get_by_text(re.compile(rf"^Round {field.input_value()}")).first.wait_for()
    assert_fits(page)
    shot(page, "training-rounds")


def _place(bar: Any) -> float:
    box = bar.bounding_box()
    return 0.0 if box is None else box["x"] + min(box["width"], 40)


def _one_more(page: Any) -> None:
    page.get_by_role("tab", name="One more GPU", exact=True).click()
    page.get_by_role("button", name="Add one GPU of each type").click()
    page.get_by_text(re.compile("^One more .* shortens the mean JCT")).first.wait_for(timeout=RESULT_MS)
    wait_idle(page)
    assert_fits(page)
    shot(page, "training-one-more")
