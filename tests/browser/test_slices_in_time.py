"""Given times in a real browser: the ensemble takes longer on slices of the first demo's GPUs."""

from __future__ import annotations

from typing import Any

import pytest
from browser_tools import choose, open_demo, open_page, pick_model, wait_idle

pytestmark = pytest.mark.browser


def test_slices_take_longer_for_given_times(app_page: Any) -> None:
    page = app_page
    page.set_viewport_size({"width": 1280, "height": 900})
    open_demo(page, "Vision and language on eight servers")
    open_page(page, "Models")
    pick_model(page, "ensemble")
    page.get_by_test_id("stMain").get_by_text("59 ms", exact=True).first.wait_for()
    page.get_by_role("button", name="Times:").click()
    choose(page, "Times on device", "t4")
    page.keyboard.press("Escape")
    page.get_by_test_id("stMain").get_by_text("135 ms", exact=True).first.wait_for()
    page.get_by_text("(given on a100-40gb, modelled on t4)").first.wait_for()
    open_page(page, "Cluster")
    assert page.get_by_text("its times are given on").count() == 0
    choose(page, "Shared as", "MIG slices")
    page.get_by_text("ensemble: its times are given on a100-40gb, modelled on a100-40gb/3g.20gb.").wait_for()
    memory = page.get_by_test_id("stMetric").filter(has_text="Memory").get_by_test_id("stMetricValue")
    assert memory.inner_text() == "312 GB"  # two slices of 19.5 GB on each; it was more than 320
    wait_idle(page)
