"""The journey through the app in a real browser: a model file in, files out, nothing leaves the machine."""

import csv
import json
import re

import pytest
from browser_tools import (
    RESULT_MS,
    choose,
    fill_number,
    open_demo,
    open_page,
    run_to_the_end,
    upload_model,
    wait_idle,
)

from nona.scenario.file import load_scenario
from nona.sources.samples import load_sample, sample_path

pytestmark = pytest.mark.browser


def node_count(page):
    return int(page.get_by_test_id("dagview").first.locator("g[data-id]:not(.gone)").count())


def test_from_a_model_file_to_downloaded_results(app_page, tmp_path):
    page = app_page
    open_page(page, "Models")
    model = sample_path("googlenet")
    upload_model(page, "uploaded.onnx", model.read_bytes())
    wanted = len(load_sample("googlenet").operators)
    page.get_by_test_id("stMetricValue").get_by_text(str(wanted), exact=True).wait_for()
    wait_idle(page)
    operators = node_count(page)
    assert operators == wanted
    page.locator("g[data-id]").nth(3).click()
    page.get_by_text(re.compile(r"read, .* written, .* weights")).wait_for()
    page.get_by_role("button", name="Add to the workload").click()
    page.get_by_test_id("stToast").get_by_text("now has 2 rows").wait_for()
    wait_idle(page)

    tasks = contraction_is_played(page, operators)
    assert tasks < operators

    cluster_is_edited(page)
    placement_is_solved(page, tmp_path)
    simulation_is_run(page, tmp_path)

    with page.expect_download() as download:
        page.get_by_role("button", name="Download YAML").click()
    scenario_file = tmp_path / "scenario.yaml"
    download.value.save_as(scenario_file)
    scenario = load_scenario(scenario_file)
    assert scenario.labels == ("resnet18", "uploaded")
    assert scenario.cluster.servers[0].mig is not None
    assert "uploaded.onnx" in scenario.models


def contraction_is_played(page, operators):
    """Forward, back, by the slider, by play, by keys; returns the number of tasks at the end."""
    open_page(page, "Contraction")
    page.locator("g[data-id]").first.wait_for()
    assert node_count(page) == operators
    label = page.locator(".bar output").first
    steps = int(label.inner_text().split("/")[1])
    page.get_by_role("button", name="Step forward").click()
    assert label.inner_text() == f"step 1 / {steps}"
    assert node_count(page) == operators - 1
    assert page.locator(".why").first.inner_text().strip()
    wait_idle(page)
    page.get_by_role("button", name="Step back").click()
    assert node_count(page) == operators
    page.get_by_role("slider", name="Contraction step").fill(str(steps // 2))
    assert label.inner_text() == f"step {steps // 2} / {steps}"
    wait_idle(page)
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
    wait_idle(page)
    return tasks


def cluster_is_edited(page):
    open_page(page, "Cluster")
    choose(page, "Shared as", "MIG slices")
    page.get_by_text("Stranded, as no instance fits there").wait_for()
    capacity = page.get_by_role("textbox", name="Capacity")
    capacity.fill("5 apples")
    capacity.press("Enter")
    page.get_by_text("is not a bandwidth").wait_for()
    capacity.fill("50 Gbit/s")
    capacity.press("Enter")
    page.get_by_text("is not a bandwidth").wait_for(state="detached")
    wait_idle(page)


def placement_is_solved(page, folder):
    open_page(page, "Placement")
    page.get_by_role("button", name="Solve the placement").click()
    download_button = page.get_by_role("button", name="Download JSON")
    download_button.wait_for(timeout=RESULT_MS)
    wait_idle(page)
    page.get_by_text("Gap to the certified bound").wait_for()
    with page.expect_download() as download:
        download_button.click()
    path = folder / "placement.json"
    download.value.save_as(path)
    report = json.loads(path.read_text())["nona"]
    assert set(report["models"]) == {"resnet18", "uploaded"}
    assert report["objective_s"] >= report["lower_bound_s"] > 0


def simulation_is_run(page, folder):
    """Watched live and cancelled, made smaller, run to its end; its files are taken."""
    open_page(page, "Simulation")
    fill_number(page, "Jobs measured per run", "3000000")
    page.get_by_role("button", name="Run the simulation").click()
    page.get_by_test_id("livechart").get_by_role("progressbar").wait_for()
    page.get_by_role("button", name="Cancel simulation").click()
    page.get_by_text("The simulation was cancelled").wait_for()
    fill_number(page, "Jobs measured per run", "400")
    fill_number(page, "Replications", "2")
    run_to_the_end(page)
    page.get_by_role("tab", name="Checks and downloads").click()
    page.get_by_role("button", name="Jobs (CSV)").wait_for()
    wanted = (("Jobs (CSV)", "jobs.csv"), ("Report (JSON)", "report.json"), ("HTML report", "report.html"))
    for name, file in wanted:
        with page.expect_download() as download:
            page.get_by_role("button", name=name).click()
        download.value.save_as(folder / file)
    report = json.loads((folder / "report.json").read_text())
    with (folder / "jobs.csv").open() as f:
        rows = list(csv.DictReader(f))
    assert len(rows) == 400 * 2 * len(report["schedulers"])
    assert all(report["checks"].values())
    assert all(name in (folder / "report.html").read_text() for name in report["schedulers"])


def test_cancel_and_reload_lose_nothing(app_page):
    page = app_page
    open_demo(page, "The slides' example")
    open_page(page, "Simulation")
    fill_number(page, "Jobs measured per run", "2000000")
    page.get_by_role("button", name="Run the simulation").click()
    page.get_by_role("button", name="Cancel simulation").wait_for()
    page.reload()
    page.get_by_role("button", name="Cancel simulation").wait_for()  # the running job is found again
    assert page.get_by_label("Jobs measured per run", exact=True).input_value() == "2000000"
    open_page(page, "Cluster")
    page.get_by_text("Simulation running").wait_for()
    open_page(page, "Simulation")
    page.get_by_role("button", name="Cancel simulation").click()
    page.get_by_text("The simulation was cancelled").wait_for()


@pytest.mark.verify
def test_a_bad_file_is_one_line_in_the_browser_too(app_page):
    page = app_page
    open_page(page, "Models")
    upload_model(page, "<img src=x onerror=alert(1)>.onnx", b"junk")
    page.get_by_test_id("stAlertContentError").first.wait_for()
    wait_idle(page)
    assert page.get_by_test_id("stAlertContentError").count() == 1
    assert ".onnx" in page.get_by_test_id("stAlertContentError").inner_text()
    assert page.locator("img[src=x]").count() == 0
    # The list stands open with the error in it, and the page shows the model that it showed before.
    page.get_by_role("listbox").wait_for()
    page.get_by_role("button", name="Model: resnet18").wait_for()
    assert node_count(page) == len(load_sample("resnet18").operators)
