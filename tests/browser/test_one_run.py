"""One run feeds the whole Simulation page: five runs in a row, and a reload; its charts come first."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from browser_tools import fill_number, open_page, run_to_the_end, shot, wait_idle

from nona.scenario.file import load_scenario, scenario_to_mapping
from nona.sources.samples import scenario_path

pytestmark = pytest.mark.browser
SERVERS = (8, 12, 9, 14, 10)
MARK = re.compile(r"fingerprint ([0-9a-f]{12})")


def open_small(page: Any) -> None:
    """The demo of eight servers with schedulers that need no placement, and short runs."""
    data = scenario_to_mapping(load_scenario(scenario_path("vision_language_8_servers")))
    data |= {"schedulers": ["local", "spread", "spark-fair"], "simulation": {"jobs": 3000, "replications": 3}}
    page.get_by_test_id("stSidebar").get_by_role("button", name="Open", exact=True).click()
    field = page.get_by_test_id("stFileUploader").filter(has_text="Scenario (YAML")
    file = {"name": "small.yaml", "mimeType": "text/plain", "buffer": json.dumps(data).encode()}
    field.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(file)
    page.get_by_test_id("stSidebar").get_by_text("Undo").first.wait_for()
    wait_idle(page)


def shown(page: Any) -> dict[str, str]:
    """What each part of the page says of the run that it shows, after polls that might still change it."""
    page.wait_for_timeout(400)
    wait_idle(page)
    charts = page.get_by_test_id("livechart")
    return {
        "finding": page.locator(".st-key-finding").inner_text(),
        "mean": page.locator(".st-key-finding").get_by_test_id("stMetricValue").inner_text(),
        "charts": charts.locator(".note").inner_text(),
        "means": charts.locator("canvas[role=img]").first.get_attribute("aria-label"),
        "tab": page.get_by_role("tabpanel").filter(has_text="fingerprint").inner_text(),
        "side bar": page.get_by_test_id("stSidebar").inner_text(),
    }


def assert_one_run(found: dict[str, str], number: int) -> str:
    """Every part shows that run; returns its fingerprint and its mean."""
    parts = [found[part] for part in ("finding", "charts", "tab")]
    assert all(f"Run {number} " in part for part in parts), parts
    marks = {MARK.findall(part)[-1] for part in parts}
    assert len(marks) == 1, parts
    best = re.search(r"(\S+) is (?:shortest|lowest)", found["finding"])
    assert best is not None, found["finding"]
    assert f"{best.group(1)} {found['mean']}" in found["means"], found  # the curves are of that run too
    return f"{marks.pop()} {found['mean']}"


def test_five_runs_in_a_row_and_a_reload_show_one_run_each(app_page: Any) -> None:
    page = app_page
    page.set_viewport_size({"width": 1280, "height": 800})
    open_small(page)
    said: list[str] = []
    for number, servers in enumerate(SERVERS, start=1):
        open_page(page, "Cluster")
        fill_number(page, "Servers", str(servers))
        open_page(page, "Simulation")
        run_to_the_end(page)
        found = shown(page)
        said.append(assert_one_run(found, number))
        assert said[-1].split()[0] in found["side bar"]  # the fingerprint of the scenario as it is
    assert len(set(said)) == len(SERVERS)
    page.reload()
    wait_idle(page)
    assert assert_one_run(shown(page), len(SERVERS)) == said[-1]
    page.locator("[data-testid=stMain]").evaluate("e => e.scrollTo(0, 0)")
    top = page.get_by_test_id("livechart").locator("figure").first.bounding_box()
    assert top["y"] < 400, top  # in the upper half of the window
    hidden = page.get_by_role("spinbutton", name="Replications", exact=True)
    assert not hidden.is_visible()  # the settings are one line, which a click opens
    page.locator(".st-key-simulation-controls-line button").first.click()
    hidden.wait_for()
    shot(page, "simulation-after-runs")
