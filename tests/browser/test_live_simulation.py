"""A simulation watched in a browser: charts that move, Cancel, a baseline, nothing wider than the window."""

from __future__ import annotations

import re
from typing import Any

import pytest
from browser_tools import RESULT_MS, assert_fits, fill_number, open_page, run_to_the_end, shot, wait_idle

pytestmark = pytest.mark.browser
# The pixels of each of the four charts, as text.
PIXELS = "root => [...root.querySelectorAll('figure canvas')].map(c => c.toDataURL())"
TABS = ("Compare", "Distribution", "Where time goes", "First jobs", "How sure")


def test_charts_move_cancel_works_and_a_baseline_stands_beside_the_next_run(app_page: Any) -> None:
    page = app_page
    open_page(page, "Simulation")
    fill_number(page, "Jobs measured per run", "3000000")
    page.get_by_role("button", name="Run the simulation").click()
    charts = page.get_by_test_id("livechart")
    charts.get_by_role("progressbar").wait_for()
    page.wait_for_function(
        "root => root.dataset.updates > 2 && root.querySelector('figcaption').textContent.includes('so far')",
        arg=charts.element_handle(),
        timeout=RESULT_MS,
    )
    before = charts.evaluate(PIXELS)
    page.wait_for_function(
        f"([root, old]) => ({PIXELS})(root).every((p, k) => p !== old[k] || k === 2)",
        arg=[charts.element_handle(), before],
        timeout=RESULT_MS,
    )
    assert "so far" in charts.locator("figcaption").first.inner_text()
    told = charts.locator("figure canvas").first.get_attribute("aria-label") or ""
    assert re.search(r"Means: .*\d [mµ]?s", told), told
    legend = charts.get_by_role("button", name="nona").first
    legend.click()
    charts.locator(".legend button[aria-pressed=false]").wait_for()
    legend.press("s")
    page.wait_for_function(
        "root => root.querySelectorAll('.legend button[aria-pressed=true]').length === 1",
        arg=charts.element_handle(),
    )
    shot(page, "live-simulation")
    page.get_by_role("button", name="Cancel simulation").click()
    page.get_by_text("The simulation was cancelled").wait_for()
    assert charts.count() == 1  # what was there stays
    charts.get_by_text("so far:").first.wait_for()
    charts.get_by_text("Measured jobs that are complete").wait_for()

    fill_number(page, "Jobs measured per run", "300")
    run_to_the_end(page)
    page.get_by_role("button", name="Pin as baseline").click()
    page.get_by_text("This run is the baseline").wait_for()
    open_page(page, "Cluster")
    fill_number(page, "Servers", "12")
    open_page(page, "Simulation")
    run_to_the_end(page)
    panel = page.locator(".st-key-baseline")
    panel.get_by_text("Servers 8 → 12").wait_for()
    panel.get_by_text("Paired by replication").wait_for()
    assert_fits(page)
    shot(page, "baseline-wide")
    page.set_viewport_size({"width": 400, "height": 900})
    for tab in TABS:
        page.get_by_role("tab", name=tab).click()
        wait_idle(page)
        assert_fits(page)
    shot(page, "baseline-narrow")


def test_the_cluster_is_drawn_with_its_loads_during_a_run_and_after_it(app_page: Any) -> None:
    page = app_page
    page.set_viewport_size({"width": 1280, "height": 800})
    open_page(page, "Cluster")
    racks = page.locator(".clustermap .unit")
    assert racks.count() == 1
    assert "Server 7" in racks.inner_text()
    page.get_by_role("radio", name="Cards and racks").click()
    wait_idle(page)
    fill_number(page, "Servers per rack", "2")
    fill_number(page, "GPUs each", "4")
    page.locator(".clustermap .server").first.wait_for()  # beyond 24 executors colours stand for numbers
    assert racks.count() == 4
    assert page.locator(".clustermap .server").count() == 8
    assert page.locator(".clustermap .gpu i").count() == 32
    assert "0 % background" in racks.first.inner_text()
    assert_fits(page)
    shot(page, "cluster-drawing")
    open_page(page, "Simulation")
    fill_number(page, "Jobs measured per run", "500")
    run_to_the_end(page)
    page.get_by_role("tab", name="Cluster", exact=True).click()
    racks.first.wait_for()
    wait_idle(page)
    told = racks.first.locator(".head").inner_text()
    share = r"[\d.]+ %"
    assert re.search(rf"{share} busy \({share} to {share}\)", told), told
    told = page.locator(".clustermap .server").first.get_attribute("title") or ""
    assert re.match(rf"Server 0: (GPU {share}, ){{3}}GPU {share} busy; card {share} out", told), told
    racks.first.focus()
    assert "uplink" in (racks.first.get_attribute("aria-label") or "")
    page.get_by_text("Every executor as a table").click()
    page.get_by_test_id("stDataFrame").first.wait_for()
    assert_fits(page)
    shot(page, "cluster-after")
    fill_number(page, "Jobs measured per run", "2000000")
    page.get_by_role("button", name="Run the simulation").click()
    live = page.locator(".st-key-live-cluster")
    live.locator(".unit").first.wait_for(timeout=RESULT_MS)
    assert live.locator(".gpu i").count() == 32
    assert "busy" in (live.locator(".unit").first.get_attribute("aria-label") or "")
    shot(page, "cluster-live")
    page.get_by_role("button", name="Cancel simulation").click()
    page.get_by_text("The simulation was cancelled").wait_for()
    live.wait_for(state="detached")
