"""The journey through the app in a real browser: a model file in, files out, nothing leaves the machine."""

import csv
import json
import re

import browser_tools as tools
import pytest

from nona.scenario.file import parse_scenario
from nona.scenario.sample_files import load_sample, sample_path

pytestmark = pytest.mark.browser


def node_count(page):
    return int(page.get_by_test_id("dagview").first.locator("g[data-id]:not(.gone)").count())


def test_from_a_model_file_to_downloaded_results(page):
    tools.open_page(page, "Models")
    tools.upload_model(page, "uploaded.onnx", sample_path("googlenet").read_bytes())
    wanted = len(load_sample("googlenet").operators)
    page.get_by_test_id("stMetricValue").get_by_text(str(wanted), exact=True).wait_for()
    tools.wait_idle(page)
    operators = node_count(page)
    assert operators == wanted
    page.locator("g[data-id]").nth(3).click()
    page.get_by_text(re.compile(r"read, .* written, .* weights")).wait_for()
    page.get_by_role("button", name="Add to the workload").click()
    page.get_by_test_id("stToast").get_by_text("now has 2 rows").wait_for()
    tools.wait_idle(page)

    assert contraction_is_played(page, operators) < operators
    cluster_is_edited(page)
    placement_is_solved(page)
    simulation_is_run(page)

    scenario = parse_scenario(tools.downloaded(page, "Save as YAML").decode())
    assert scenario.labels == ("resnet18", "uploaded")
    assert scenario.cluster.servers[0].mig is not None
    assert "uploaded.onnx" in scenario.models


def contraction_is_played(page, operators):
    """Forward, back, by the slider, by play, by keys; returns the number of tasks at the end."""
    tools.open_page(page, "Models")
    page.get_by_role("radio", name="Step by step").click()
    page.get_by_role("button", name="Step forward").wait_for()
    tools.wait_idle(page)
    assert node_count(page) == operators
    label = page.locator(".bar output").first
    steps = int(label.inner_text().split("/")[1])
    page.get_by_role("button", name="Step forward").click()
    assert label.inner_text() == f"step 1 / {steps}"
    assert node_count(page) == operators - 1
    assert page.locator(".why").first.inner_text().strip()
    tools.wait_idle(page)
    page.get_by_role("button", name="Step back").click()
    assert node_count(page) == operators
    page.get_by_role("slider", name="Contraction step").fill(str(steps // 2))
    assert label.inner_text() == f"step {steps // 2} / {steps}"
    tools.wait_idle(page)
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_function(
        "n => { const o = [...document.querySelectorAll('*')].map(e => e.shadowRoot).filter(Boolean)"
        ".map(r => r.querySelector('.bar output')).find(Boolean); return o && o.value === n }",
        arg=f"step {steps} / {steps}",
    )
    tasks = node_count(page)
    page.locator("svg.canvas").first.focus()
    page.keyboard.press("Home")
    assert node_count(page) == operators
    page.keyboard.press("End")
    assert node_count(page) == tasks == operators - steps
    tools.wait_idle(page)
    return tasks


def cluster_is_edited(page):
    tools.open_page(page, "Scenario")
    tools.choose(page, "Shared as", "MIG slices")
    page.get_by_text("Stranded, as no slice fits there").wait_for()
    tools.fill_text(page, "Capacity", "5 apples")
    page.get_by_text("is not a bandwidth").wait_for()
    tools.fill_text(page, "Capacity", "50 Gbit/s")
    page.get_by_text("is not a bandwidth").wait_for(state="detached")


def placement_is_solved(page):
    tools.open_page(page, "Placement")
    page.get_by_role("button", name="Solve the placement").click()
    page.get_by_text("Against local").wait_for(timeout=tools.RESULT_MS)
    tools.wait_idle(page)
    report = json.loads(tools.downloaded(page, "Report (JSON)"))["nona"]
    assert set(report["models"]) == {"resnet18", "uploaded"}
    assert report["objective_s"] == report["simulated"]["mean"] > 0


def simulation_is_run(page):
    """Watched live, found again after a reload, cancelled; a small one gives its files."""
    tools.open_page(page, "Simulation")
    tools.fill_number(page, "Jobs measured per run", "3000000")
    page.get_by_role("button", name="Run the simulation").click()
    page.locator(".st-key-simulate-area").get_by_role("progressbar").wait_for()
    page.reload()
    page.get_by_role("button", name="Cancel simulation").wait_for()
    assert page.get_by_label("Jobs measured per run", exact=True).input_value() == "3000000"
    tools.open_page(page, "Scenario")
    page.get_by_text("Simulation of “").wait_for()
    tools.open_page(page, "Simulation", idle=False)
    page.get_by_role("button", name="Cancel simulation").click()
    page.get_by_text("The simulation was cancelled").wait_for()
    tools.fill_number(page, "Jobs measured per run", "400")
    tools.fill_number(page, "Replications", "2")
    tools.run_to_the_end(page)
    names = ("Jobs (CSV)", "Report (JSON)", "HTML report")
    rows, output, html = (tools.downloaded(page, name).decode() for name in names)
    report = json.loads(output)
    assert len(list(csv.DictReader(rows.splitlines()))) == 400 * 2 * len(report["schedulers"])
    assert all(report["checks"].values())
    assert all(name in html for name in report["schedulers"])
