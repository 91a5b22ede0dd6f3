"""What a person comes to find out, each in a few clicks: light and dark, on a wide and on a narrow window.

The two questions that need long runs are each asked in one window; its width changes where there are results.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from browser_tools import (
    assert_fits,
    fill_number,
    open_page,
    run_to_the_end,
    shot,
    sweep_to_the_end,
    upload_model,
    wait_idle,
)

from nona.sources.samples import load_sample, sample_path

pytestmark = pytest.mark.browser
WINDOWS = [("light", 1280), ("dark", 400)]  # each scheme and each width once
everywhere = pytest.mark.parametrize(
    "app_page", WINDOWS, ids=[f"{scheme}-{width}" for scheme, width in WINDOWS], indirect=True
)
on_a_wide_window, on_a_narrow_window = (
    pytest.mark.parametrize("app_page", [window], ids=[f"{window[0]}-{window[1]}"], indirect=True)
    for window in WINDOWS
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
        ".some(r => r.querySelector('.story .dot') && !r.textContent.includes('loads simulated'))"
    )
    assert times.all_inner_texts() == ["22 ms", "32 ms", "14 ms"]
    assert_fits(page)
    shot(page, f"question-1-{window(page)}-idle")
    load.fill("17")
    story.get_by_text("no longer pays").wait_for()
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


def title_is(page: Any, name: str) -> None:
    page.get_by_role("heading", name=name, exact=True, level=1).wait_for()
    wait_idle(page)
    assert_fits(page)


def open_tab(page: Any, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()
    wait_idle(page)
    assert_fits(page)


@everywhere
def test_what_my_model_could_gain(app_page: Any) -> None:
    page = app_page
    page.get_by_role("button", name="Look at a model").click()
    title_is(page, "Models")
    model = sample_path("googlenet")
    assert model is not None
    upload_model(page, "mine.onnx", model.read_bytes())
    wanted = str(len(load_sample("googlenet").operators))
    page.get_by_test_id("stMetricValue").get_by_text(wanted, exact=True).wait_for()
    page.get_by_text(re.compile(r"can shorten its computing by at most \d")).wait_for()
    page.locator("g[data-id]").first.wait_for()
    wait_idle(page)
    assert_fits(page)
    shot(page, f"question-2-{window(page)}-model")
    page.get_by_role("link", name="See what contracts").click()
    title_is(page, "Contraction")
    page.get_by_text(re.compile(r"\d+ operators become \d+ tasks; .* at most")).wait_for()
    page.locator("g[data-id]").first.wait_for()
    page.get_by_role("button", name="Step forward").click()
    assert page.locator(".why").first.inner_text().strip()
    wait_idle(page)
    shot(page, f"question-2-{window(page)}-contraction")
    open_tab(page, "Left to distribute")
    page.get_by_test_id("stDataFrame").first.wait_for()
    wait_idle(page)
    shot(page, f"question-2-{window(page)}-left")


def assert_fits_everywhere(page: Any, name: str) -> None:
    """What is shown fits a window of either width; each is kept as a picture."""
    size = page.viewport_size
    for _, width in WINDOWS:
        page.set_viewport_size({**size, "width": width})
        wait_idle(page)
        assert_fits(page)
        shot(page, name.format(window(page)))
    page.set_viewport_size(size)
    wait_idle(page)


@on_a_narrow_window
def test_what_my_cluster_needs_and_how_sure_that_is(app_page: Any) -> None:
    page = app_page
    page.get_by_role("button", name="Size a cluster").click()
    title_is(page, "Placement")
    asked = page.locator(".st-key-capacity-inputs")
    for text in ("8 × a100-40gb; link 100 Gbit/s", "resnet18 300/s within 40 ms"):
        asked.get_by_text(text).wait_for()
    assert asked.bounding_box()["y"] < page.viewport_size["height"]
    assert_fits_everywhere(page, "question-3-{}-asked")
    open_page(page, "Simulation")
    fill_number(page, "Jobs measured per run", "1000")
    run_to_the_end(page)
    shot(page, f"question-3-{window(page)}-first")
    page.get_by_role("button", name="Pin as baseline").click()
    page.get_by_text("This run is the baseline").wait_for()
    open_page(page, "Cluster")
    fill_number(page, "Servers", "12")
    open_page(page, "Simulation")
    run_to_the_end(page)
    panel = page.locator(".st-key-baseline")
    panel.get_by_text("Servers 8 → 12").wait_for()
    panel.get_by_text("Paired by replication").wait_for()
    panel.scroll_into_view_if_needed()
    assert_fits_everywhere(page, "question-3-{}-difference")
    open_tab(page, "How sure")
    page.get_by_role("tab", name="How sure", exact=True).scroll_into_view_if_needed()
    assert_fits_everywhere(page, "question-5-{}-sure")


@on_a_wide_window
def test_which_scheduler_and_until_what_load(app_page: Any) -> None:
    page = app_page
    page.get_by_role("button", name="Compare schedulers").click()
    title_is(page, "Simulation")
    sweep_to_the_end(page)
    page.locator(".js-plotly-plot").first.scroll_into_view_if_needed()
    assert_fits_everywhere(page, "question-4-{}")
