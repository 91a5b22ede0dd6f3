"""The Training page in a browser: demos are run, cancelled, explained, kept by a reload, sent to somebody."""

import json
import re

import browser_tools as tools
import pytest
from contrast import texts_of

from nona.training.report.findings import hours_text

pytestmark = pytest.mark.browser


@pytest.mark.verify
@pytest.mark.parametrize("page", [("dark", 400)], ids=["dark-400"], indirect=True)
def test_a_demo_is_run_and_explained(page):
    tools.open_page(page, "Training")
    page.get_by_role("button", name="Open this example").first.click()
    tools.wait_idle(page)
    tools.fill_number(page, "Replications", "20")
    page.get_by_role("button", name="Run the policies").click()
    tools.wait_for_the_end(page, "training run", live=".drawing .lane i")
    finding = page.locator(".st-key-training-area").get_by_role("heading")
    finding.get_by_text(re.compile("shortest mean JCT")).wait_for()
    said = finding.inner_text()
    page.locator(".js-plotly-plot").first.wait_for()
    tools.assert_fits(page)
    page.reload()
    finding.get_by_text(said).wait_for()
    tools.wait_idle(page)
    _explain_a_round(page)
    _one_more(page)
    report = json.loads(tools.downloaded(page, "Report (JSON)"))
    assert report["policies"].keys() >= {"max-min-fairness"}
    assert not report["failed_checks"]


def _explain_a_round(page):
    """A click on a stay of the chart shows the priorities of the round in its middle."""
    page.get_by_role("tab", name="Rounds", exact=True).click()
    tools.wait_idle(page)
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
    tools.wait_idle(page)
    page.get_by_text(re.compile(rf"^Round {field.input_value()}")).first.wait_for()
    tools.assert_fits(page)


def _place(bar):
    box = bar.bounding_box()
    return 0.0 if box is None else box["x"] + min(box["width"], 40)


def _one_more(page):
    page.get_by_role("tab", name="One more GPU", exact=True).click()
    page.get_by_role("button", name="Add one GPU of each type").click()
    page.get_by_text(re.compile("^One more .* shortens the mean JCT")).first.wait_for(timeout=tools.RESULT_MS)
    tools.wait_idle(page)
    tools.assert_fits(page)


NODES = ".st-key-elastic-nodes .node"
MENU = ".st-key-downloads-training-elastic"


def open_elastic(page, name, load):
    """Open an example; a part of its jobs is enough to look at."""
    tools.open_example(page, "Training", name)
    page.get_by_role("button", name="Run the policies").wait_for()
    tools.wait_idle(page)
    tools.fill_number(page, "Relative load", load)


def run_elastic(page):
    """Run the policies to the end; the sentence that says who is fastest."""
    page.get_by_role("button", name="Run the policies").click()
    page.locator(MENU).wait_for(timeout=tools.RESULT_MS)
    page.get_by_role("button", name="Cancel run of elastic jobs").wait_for(state="detached")
    tools.wait_idle(page)
    return str(page.locator(".st-key-training-elastic-area").get_by_role("heading").inner_text())


def look_at_tabs(page):
    """Every tab fits the window, and its texts can be read."""
    for tab in ("Policies", "Nodes", "Jobs", "Fairness"):
        page.get_by_role("tab", name=tab, exact=True).click()
        tools.wait_idle(page)
        panel = page.get_by_role("tabpanel", name=tab, exact=True)
        panel.locator(".js-plotly-plot").first.wait_for()
        tools.assert_fits(page)
        assert [t for t in texts_of(page) if not t.enough] == []
        panel.scroll_into_view_if_needed()


@pytest.mark.verify
@pytest.mark.parametrize("page", [("light", 1280)], ids=["light-1280"], indirect=True)
def test_who_scales_is_cancelled_run_again_explained_and_sent(page):
    open_elastic(page, "who_scales_who_waits", "3")
    page.get_by_role("button", name="Run the policies").click()
    page.locator(".st-key-training-elastic-area .node").first.wait_for()  # live, while it runs
    page.get_by_role("button", name="Cancel run of elastic jobs").click()
    page.get_by_text("Cancelled at").first.wait_for()
    page.locator(".st-key-training-elastic-area .node").first.wait_for()  # what had come stays
    assert page.locator(MENU).count() == 0

    tools.fill_number(page, "Relative load", "0.5")
    said = run_elastic(page)
    report = json.loads(tools.downloaded(page, "Report (JSON)"))
    means = {name: p["jct_s"]["mean"] for name, p in report["policies"].items()}
    best = min(means, key=lambda name: means[name])
    assert said.startswith(best)
    tile = page.locator(".st-key-training-finding").get_by_test_id("stMetricValue")
    assert tile.inner_text() == hours_text(means[best])
    assert not report["failed_checks"]
    rows = tools.downloaded(page, "Jobs (CSV)").decode().splitlines()
    assert len(rows) == 1 + sum(len(p["jobs"]) for p in report["policies"].values())
    look_at_tabs(page)

    page.reload()
    tools.wait_idle(page)
    assert page.locator(".st-key-training-elastic-area").get_by_role("heading").inner_text() == said
    scrub_and_follow(page)

    context = tools.new_context(page.context.browser)
    other = context.new_page()
    other.goto(tools.share_link(page))
    tools.wait_titled(other, "Training")
    assert other.get_by_role("spinbutton", name="Relative load").input_value() == "0.5"
    assert run_elastic(other) == said  # somebody else gets the same answer
    context.close()


def scrub_and_follow(page):
    """The grid of GPUs at another minute, by keys; a job and the reasons for its changes."""
    page.get_by_role("tab", name="Nodes", exact=True).click()
    page.locator(NODES).first.wait_for()
    tools.wait_idle(page)
    before = page.get_by_text(re.compile(r"jobs run and \d+ wait after")).first.inner_text()
    page.get_by_role("slider", name="Minute").press("End")
    page.wait_for_function("before => !document.body.innerText.includes(before)", arg=before)
    page.get_by_role("tab", name="Jobs", exact=True).click()
    page.get_by_text("Why its GPUs changed under").wait_for()
    page.locator(".st-key-chart-elastic-job .js-plotly-plot").wait_for()
    tools.wait_idle(page)


@pytest.mark.verify
@pytest.mark.parametrize("page", [("dark", 400)], ids=["dark-400"], indirect=True)
def test_a_demo_is_read_in_the_dark_on_a_telephone(page):
    open_elastic(page, "tuned_by_hand_or_by_pollux", "0.05")
    tools.assert_fits(page)
    assert "mean JCT" in run_elastic(page)
    look_at_tabs(page)
