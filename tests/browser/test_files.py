"""Files in a browser: broken ones are told beside the upload, bundles bring all; names stay text."""

import json
import re

import browser_tools as tools
import pytest
import yaml

pytestmark = [pytest.mark.browser, pytest.mark.verify]
NET = json.dumps({"nodes": [{"id": "a", "compute_ms": 2.0}], "edges": []}).encode()
TRACE = "time,model\n" + "".join(f"{i / 4},{'net' if i % 4 else 'other'}\n" for i in range(400))
BAD = """version: 1
cluster: {servers: [{count: 0, gpu: a1000}]}
workload: [{model: resnet19, rate: 10 apples}, {model: my.onnx, rate: 3}]
schedulers: [nonna]
"""
PLACES = ["cluster.servers[0].count", "cluster.servers[0].gpu", "workload[0].rate", "workload[0].model"]
PLACES += ["workload[1].model", "schedulers[0]"]


def given(page, place, name, data):
    """Upload a file to the uploader within ``place``."""
    upload = {"name": name, "mimeType": "application/octet-stream", "buffer": data}
    place.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(upload)
    page.wait_for_timeout(400)
    tools.wait_idle(page)


def opened(page, name, data):
    """Open a scenario's file from the side bar."""
    tools.open_file_menu(page)
    given(page, page.get_by_test_id("stPopoverBody"), name, data)
    page.keyboard.press("Escape")
    tools.wait_idle(page)


def test_broken_files_are_refused_where_they_were_given(page):
    tools.open_page(page, "Models")
    tools.upload_model(page, "<img src=x onerror=alert(1)>.onnx", b"\x08\x07 no model \xff\xff")
    error = page.get_by_test_id("stPopoverBody").get_by_test_id("stAlert").first
    error.wait_for()
    tools.wait_idle(page)
    assert ".onnx" in error.inner_text()
    assert page.locator("img[src=x]").count() == 0
    assert page.get_by_test_id("stAlertContentError").count() == 1
    box = error.bounding_box()
    assert box["y"] + box["height"] < page.viewport_size["height"], "seen without scrolling"
    page.get_by_text("Parallelism T₁/T∞").first.wait_for()  # the former model stays on the page
    page.keyboard.press("Escape")
    opened(page, "plan.pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj")
    output = page.get_by_test_id("stMain").get_by_test_id("stAlert").first
    assert "it is a PDF document; give a YAML, JSON or .nona.zip file" in output.inner_text()
    opened(page, "bad.yaml", BAD.encode())
    output = page.get_by_test_id("stMain").get_by_test_id("stAlert").first
    assert [
        line.inner_text().partition(": ")[0].partition(" (")[0]
        for line in output.get_by_role("listitem").all()
    ] == PLACES
    assert output.bounding_box()["width"] > 700
    page.get_by_role("button", name="Dismiss").click()
    page.locator(".st-key-problems").wait_for(state="detached")


def test_a_bundle_brings_everything_and_yaml_says_what_is_missing(page):
    tools.open_page(page, "Models")
    tools.upload_model(page, "net.json", NET)
    page.get_by_test_id("stToast").wait_for()
    tools.wait_idle(page)
    page.get_by_role("button", name="Add to the workload").click()
    tools.wait_idle(page)
    tools.open_page(page, "Scenario")
    page.get_by_text("Arrival traces (CSV)").click()
    traces = page.get_by_test_id("stExpander").filter(has_text="Arrival traces (CSV)")
    given(page, traces, "quarter.csv", TRACE.encode())
    row = page.locator(".st-key-row-1")
    row.evaluate("e => e.scrollIntoView({block: 'center'})")  # not behind the bar that stays in sight
    page.wait_for_timeout(500)
    row.get_by_role("combobox", name="Arrivals").click()
    page.get_by_role("option", name="Trace quarter.csv").click()
    tools.wait_idle(page)
    assert row.get_by_role("textbox", name="Rate").input_value() == "4/s", "the trace's own"
    assert "it replays" in row.inner_text()
    tools.assert_fits(page)
    bundle, text = tools.downloaded(page, "Save as bundle"), tools.downloaded(page, "Save as YAML")
    mark = tools.scenario_mark(page)
    tools.open_page(page, "Simulation")
    tools.run_to_the_end(page)
    page.get_by_role("tab", name="Over time").click()
    page.get_by_text("SLO").first.wait_for()
    output = page.get_by_role("tabpanel").filter(has_text="version").inner_text()
    version = re.search("version ([0-9a-f]{12})", output).group(1)
    assert version in tools.downloaded(page, "HTML report").decode()
    stranger = tools.new_context(page.context.browser)
    fresh = stranger.new_page()
    fresh.goto(page.url.partition("?")[0].rpartition("/")[0])
    tools.wait_idle(fresh)
    opened(fresh, "plan.yaml", text)
    notice = fresh.locator(".st-key-missing")
    assert "quarter.csv" in notice.inner_text()
    assert "bundle" in notice.inner_text()
    given(fresh, notice, "plan.nona.zip", bundle)
    notice.wait_for(state="detached")
    assert tools.scenario_mark(fresh) == mark
    tools.open_page(fresh, "Scenario")
    assert "it replays" in fresh.locator(".st-key-row-1").inner_text()
    tools.choose(fresh, "Speed of the trace", "stretched to the rate")
    assert fresh.locator(".st-key-row-1").get_by_role("textbox", name="Rate").is_enabled()
    stranger.close()


EVIL = "[a](http://evil.example)<img src=http://evil.example/x.png onerror='window.hurt=1'>"
DEVICE = EVIL.replace("/", "")  # a device's name has none
DEEP = """() => { const found = [], walk = root => { for (const e of root.querySelectorAll('*')) {
    for (const name of ['src', 'href', 'action', 'onerror', 'onclick'])
      if ((e.getAttribute(name) || '').match(/evil|hurt/)) found.push(e.outerHTML.slice(0, 300));
    if (e.shadowRoot) walk(e.shadowRoot); } };
  walk(document); return window.hurt ? ['script ran', ...found] : found }"""
ROW = {"model": EVIL, "name": EVIL, "rate": 5, "slo": "1 s"}
QUERIES = {
    "cluster": {"servers": [{"count": 2, "gpu": DEVICE}], "devices": {DEVICE: {"base": "t4"}}},
    "workload": [ROW],
    "schedulers": ["nona", "local"],
}
SERVERLESS = {
    "cluster": {"servers": [{"count": 2, "gpu": "a100-40gb"}]},
    "workload": [ROW],
    "serverless": {
        "slo_factor": 5,
        "functions": {EVIL: {"gpu": {"per_query": 0.01}, "source": EVIL}},
        "policies": ["esg"],
    },
}
TRAINING = {
    "cluster": {"servers": [{"count": 2, "gpu": "v100"}]},
    "workload": [],
    "training": {
        "jobs": [{"name": f"{EVIL}{i}", "steps": 1e5, "model": "A3C", "entity": EVIL} for i in range(3)],
        "entities": {EVIL: {}},
        "regions": {"groups": {EVIL: [0]}},
        "policies": ["fifo"],
    },
}
NODES = [{"id": f"{EVIL}{i}", "compute_ms": 9, "function": EVIL} for i in range(3)]
MODEL = {"nodes": NODES, "edges": [{"source": NODES[0]["id"], "target": NODES[1]["id"], "bytes": 1e5}]}
COMMON = {"name": EVIL, "simulation": {"jobs": 100, "replications": 2}}
KINDS = {"Placement": "place", "Simulation": "simulate", "Serverless": "serverless", "Training": "training"}


def run_kind(page, kind):
    """Start the page's job and wait until its result stands."""
    page.locator(f".st-key-run-{kind} button").click()
    page.locator(f".st-key-cancel-{kind}").wait_for(state="detached", timeout=tools.RESULT_MS)
    tools.wait_idle(page)
    page.get_by_role("tab").first.wait_for()


@pytest.mark.parametrize(
    ("parts", "runs", "pages"),
    [
        (QUERIES, "Placement Simulation", "Home Models Scenario"),
        (SERVERLESS, "Serverless", "Home"),
        (TRAINING, "Training", "Home Scenario"),
    ],
    ids=["queries", "serverless", "training"],
)
def test_names_stay_text(page, parts, runs, pages):
    models = {} if parts is TRAINING else {"models": {EVIL: MODEL}}
    opened(page, "evil.yaml", yaml.safe_dump({**COMMON, **models, **parts}).encode())
    for name in (*pages.split(), *runs.split()):
        tools.open_page(page, name)
        if name in runs.split():
            run_kind(page, KINDS[name])
        tabs = page.get_by_role("tab")
        for number in range(tabs.count()):
            tabs.nth(number).click()
            tools.wait_idle(page)
            assert page.evaluate(DEEP) == [], (name, tabs.nth(number).inner_text())
        named = page.get_by_role("textbox", name="Scenario", exact=True).input_value()
        assert ".example" in named  # the scenario was opened
        assert page.evaluate(DEEP) == [], name
