"""A simulation in a browser: live charts, one run on the whole page, a sweep, What if, schedulers."""

import json
import re

import browser_tools as tools
import pytest

from nona.queries.schedulers.base import FAMILY_TITLES
from nona.queries.schedulers.registry import SCHEDULERS, USUAL
from nona.scenario.file import load_scenario, scenario_to_mapping
from nona.scenario.sample_files import scenario_path

# The pixels of each of the four charts, as text.

pytestmark = [pytest.mark.browser, pytest.mark.verify]
PIXELS = "root => [...root.querySelectorAll('figure canvas')].map(c => c.toDataURL())"
TABS = ("Compare", "Distribution", "Where time goes", "Over time", "Confidence")


def test_charts_move_cancel_works_and_a_baseline_stands_beside_the_next_run(page):
    tools.open_page(page, "Simulation")
    tools.fill_number(page, "Jobs measured per run", "3000000")
    page.get_by_role("button", name="Run the simulation").click()
    charts = page.get_by_test_id("livechart")
    page.locator(".st-key-simulate-area").get_by_role("progressbar").wait_for()
    page.wait_for_function(
        "root => root.dataset.updates > 2", arg=charts.element_handle(), timeout=tools.RESULT_MS
    )
    before = charts.evaluate(PIXELS)
    page.wait_for_function(
        f"([root, old]) => ({PIXELS})(root).every((p, k) => p !== old[k] || k === 2)",
        arg=[charts.element_handle(), before],
        timeout=tools.RESULT_MS,
    )
    output = charts.locator("figure canvas").first.get_attribute("aria-label") or ""
    assert re.search(r"Means: .*\d [mµ]?s", output), output
    charts.locator("figure canvas").first.hover()  # one response time is marked in both charts that have it
    charts.locator(".cursor:visible").nth(1).wait_for()
    over_time, distribution = charts.locator(".cursor:visible").all_inner_texts()
    assert re.fullmatch(r"[\d.,]+ [mµ]?s", distribution)
    assert over_time == distribution
    legend = charts.get_by_role("button", name="nona").first
    legend.click()
    charts.locator(".legend button[aria-pressed=false]").wait_for()
    legend.press("s")
    page.wait_for_function(
        "root => root.querySelectorAll('.legend button[aria-pressed=true]').length === 1",
        arg=charts.element_handle(),
    )
    page.get_by_role("button", name="Cancel simulation").click()
    page.get_by_text("The simulation was cancelled").wait_for()
    assert charts.count() == 1  # what was there stays
    # what is known: counts of jobs, or a run where every scheduler had ended a replication by then
    charts.get_by_text(re.compile(r"Measured jobs completed|Run \d+ · version")).wait_for()

    tools.fill_number(page, "Jobs measured per run", "300")
    tools.run_to_the_end(page)
    page.get_by_role("button", name="Pin as baseline").click()
    page.get_by_text("This run is the baseline").wait_for()
    tools.open_page(page, "Scenario")
    tools.fill_number(page, "Servers", "12")
    tools.open_page(page, "Simulation")
    tools.run_to_the_end(page)
    panel = page.locator(".st-key-baseline")
    panel.get_by_text("Servers 8 → 12").wait_for()
    panel.get_by_text("Paired by replication").wait_for()
    tools.assert_fits(page)
    page.set_viewport_size({"width": 400, "height": 900})
    for tab in TABS:
        page.get_by_role("tab", name=tab).click()
        tools.wait_idle(page)
        tools.assert_fits(page)


def test_the_cluster_is_drawn_with_its_loads_during_a_run_and_after_it(page):
    page.set_viewport_size({"width": 1280, "height": 800})
    tools.open_page(page, "Scenario")
    racks = page.locator(".clustermap .unit")
    assert racks.count() == 1
    assert "Server 7" in racks.inner_text()
    page.get_by_role("radio", name="Cards and racks").click()
    tools.wait_idle(page)
    tools.fill_number(page, "Servers per rack", "2")
    tools.fill_number(page, "GPUs each", "4")
    page.locator(".clustermap .server").first.wait_for()  # beyond 24 executors colours stand for numbers
    assert racks.count() == 4
    assert page.locator(".clustermap .server").count() == 8
    assert page.locator(".clustermap .gpu i").count() == 32
    assert "0 % background" in racks.first.inner_text()
    tools.assert_fits(page)
    tools.open_page(page, "Simulation")
    tools.fill_number(page, "Jobs measured per run", "500")
    tools.run_to_the_end(page)
    page.get_by_role("tab", name="Where time goes", exact=True).click()
    racks.first.wait_for()
    tools.wait_idle(page)
    output = racks.first.locator(".head").inner_text()
    share = r"[\d.]+ %"
    assert re.search(rf"{share} busy \({share} to {share}\)", output), output
    output = page.locator(".clustermap .server").first.get_attribute("title") or ""
    assert re.match(rf"Server 0: (GPU {share}, ){{3}}GPU {share} busy; card {share} out", output), output
    racks.first.focus()
    assert "uplink" in (racks.first.get_attribute("aria-label") or "")
    page.get_by_text("Every GPU or slice as a table").click()
    page.get_by_test_id("stDataFrame").first.wait_for()
    tools.assert_fits(page)
    tools.fill_number(page, "Jobs measured per run", "2000000")
    page.get_by_role("button", name="Run the simulation").click()
    live = page.locator(".st-key-live-cluster")
    live.locator(".unit").first.wait_for(timeout=tools.RESULT_MS)
    assert live.locator(".gpu i").count() == 32
    assert "busy" in (live.locator(".unit").first.get_attribute("aria-label") or "")
    page.get_by_role("button", name="Cancel simulation").click()
    page.get_by_text("The simulation was cancelled").wait_for()
    live.wait_for(state="detached")


SERVERS = (8, 12, 9)
MARK = re.compile(r"version ([0-9a-f]{12})")


def open_small(page):
    """The demo of eight servers with schedulers that need no placement, and short runs."""
    data = scenario_to_mapping(load_scenario(scenario_path("vision_language_8_servers")))
    data |= {"schedulers": ["local", "spread", "spark-fair"], "simulation": {"jobs": 3000, "replications": 3}}
    tools.open_file_menu(page)
    field = page.get_by_test_id("stFileUploader").filter(has_text="Scenario (YAML").first
    file = {"name": "small.yaml", "mimeType": "text/plain", "buffer": json.dumps(data).encode()}
    field.get_by_test_id("stFileUploaderDropzoneInput").last.set_input_files(file)
    page.get_by_test_id("stSidebar").get_by_text("Undo").first.wait_for()
    tools.wait_idle(page)


def shown(page):
    """What each part of the page says of the run that it shows, after polls that might still change it."""
    page.wait_for_timeout(400)
    tools.wait_idle(page)
    charts = page.get_by_test_id("livechart")
    return {
        "finding": page.locator(".st-key-finding").inner_text(),
        "mean": page.locator(".st-key-finding").get_by_test_id("stMetricValue").inner_text(),
        "charts": charts.locator(".note").inner_text(),
        "means": charts.locator("canvas[role=img]").first.get_attribute("aria-label"),
        "tab": page.get_by_role("tabpanel").filter(has_text="version").inner_text(),
    }


def assert_one_run(found, number):
    """Every part shows that run; returns its fingerprint and its mean."""
    parts = [found[part] for part in ("finding", "charts", "tab")]
    assert all(f"Run {number} " in part for part in parts), parts
    marks = {MARK.findall(part)[-1] for part in parts}
    assert len(marks) == 1, parts
    best = re.search(r"(\S+) is (?:fastest|lowest)", found["finding"])
    assert best is not None, found["finding"]
    assert f"{best.group(1)} {found['mean']}" in found["means"], found  # the curves are of that run too
    return f"{marks.pop()} {found['mean']}"


def test_runs_in_a_row_and_a_reload_show_one_run_each(page):
    page.set_viewport_size({"width": 1280, "height": 800})
    open_small(page)
    said = []
    for number, servers in enumerate(SERVERS, start=1):
        tools.open_page(page, "Scenario")
        tools.fill_number(page, "Servers", str(servers))
        tools.open_page(page, "Simulation")
        tools.run_to_the_end(page)
        found = shown(page)
        said.append(assert_one_run(found, number))
        assert said[-1].split()[0] == tools.scenario_mark(page)
    assert len(set(said)) == len(SERVERS)
    page.reload()
    tools.wait_idle(page)
    assert assert_one_run(shown(page), len(SERVERS)) == said[-1]
    page.locator("[data-testid=stMain]").evaluate("e => e.scrollTo(0, 0)")
    top = page.get_by_test_id("livechart").locator("figure").first.bounding_box()
    assert top["y"] < 480, top  # below Does it hold? and the finding, yet seen without scrolling
    hidden = page.get_by_role("spinbutton", name="Replications", exact=True)
    assert not hidden.is_visible()  # the settings are one line, which a click opens
    page.locator(".st-key-simulate-controls-line button").first.click()
    hidden.wait_for()


CELLS = "() => [...document.querySelectorAll('.st-key-what-if-answer td')].map(c => c.textContent).join('|')"
# Whether the table was taken off the page at any time since the mark was set on it.
TABLE = ".st-key-what-if-answer [data-testid=stDataFrame]"
MARK_IT = f"() => {{ document.querySelector('{TABLE}').dataset.mark = 'here' }}"
MARKED = f"() => Boolean(document.querySelector('{TABLE}[data-mark=here]'))"
BEFORE = "() => document.querySelector('.st-key-what-if-answer').textContent.includes('mean JCT before')"
TWO_CHARTS = "() => document.querySelectorAll('.st-key-what-if-answer .js-plotly-plot').length === 2"
ANSWERED = """old => { const panel = document.querySelector('.st-key-what-if');
  const cells = [...document.querySelectorAll('.st-key-what-if-answer td')].map(c => c.textContent).join('|');
  return panel && /, 8 replications/.test(panel.textContent) && !panel.textContent.includes('Asking')
    && cells && cells !== old }"""


def press(page, label, key, times=1):
    slider = page.get_by_role("slider", name=label)
    slider.focus()
    for _ in range(times):
        slider.press(key)


def slider_value(page, label):
    return page.get_by_role("slider", name=label).get_attribute("value")


def test_the_answer_follows_a_slider_and_the_scenario_stays_until_apply(page):
    """On at once, a copy until Apply, kept by a reload, one step to undo."""
    tools.open_example(page, "Queries", "slides_example")
    tools.open_page(page, "Simulation")
    tools.enter(page, page.get_by_label("Jobs measured per run", exact=True), "200")
    page.get_by_text("What if?").click()
    page.wait_for_function(ANSWERED, arg="", timeout=tools.RESULT_MS)
    fingerprint = tools.scenario_mark(page)
    tools.wait_idle(page)  # the page is drawn once more when the answer is complete
    old = page.evaluate(CELLS)
    page.evaluate(MARK_IT)
    press(page, "Link background", "ArrowRight", 7)
    page.wait_for_function(BEFORE, timeout=tools.RESULT_MS)
    page.wait_for_function(ANSWERED, arg=old, timeout=tools.RESULT_MS)
    assert page.evaluate(MARKED)  # the same table as before, with new cells
    tools.wait_idle(page)
    page.wait_for_function(TWO_CHARTS)

    page.reload()
    page.wait_for_function(ANSWERED, arg="", timeout=tools.RESULT_MS)
    assert slider_value(page, "Link background") == "7"
    assert page.get_by_label("Jobs measured per run", exact=True).input_value() == "200"
    assert tools.scenario_mark(page) == fingerprint
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("These are the scenario's own numbers").wait_for()
    tools.wait_idle(page)
    assert tools.scenario_mark(page) != fingerprint
    tools.open_page(page, "Scenario")
    assert slider_value(page, "Link busy") == "7"
    page.get_by_role("button", name="Undo").click()
    tools.wait_idle(page)
    assert slider_value(page, "Link busy") == "0"


def picker_of(page):
    """The choice of the Simulation page, with its list open."""
    tools.open_page(page, "Simulation")
    picker = page.get_by_test_id("schedulerpicker")
    picker.get_by_role("button", name="Choose:").click()
    return picker


@pytest.mark.parametrize("page", [("light", 400), ("dark", 1360)], indirect=True)
def test_the_usual_ones_stand_first_and_all_others_under_their_family_with_view_and_source(page):
    picker = picker_of(page)
    tools.assert_fits(page)
    usual = picker.get_by_role("group", name="Schedulers").get_by_role("checkbox")
    assert [box.get_attribute("aria-label") for box in usual.all()] == list(USUAL)
    assert picker.get_by_role("checkbox").count() == len(USUAL)
    picker.get_by_text(f"Research: {len(SCHEDULERS) - len(USUAL)} more").click()
    used = {s.family for s in SCHEDULERS.values() if s.name not in USUAL}
    for family, title in FAMILY_TITLES.items():
        assert picker.get_by_role("group", name=title).count() == (family in used)
    for s in SCHEDULERS.values():
        assert picker.get_by_role("checkbox", name=s.name, exact=True).count() == 1
    row = picker.locator(".row").filter(has=page.get_by_role("checkbox", name="tetris", exact=True))
    assert row.locator(".badge").inner_text() == "N3"
    assert "reservations" in row.locator(".badge").get_attribute("title")
    source = row.get_by_text(SCHEDULERS["tetris"].source)
    assert not source.is_visible()
    row.get_by_text("Source and adaptation").click()
    source.wait_for()
    tools.assert_fits(page)


@pytest.mark.parametrize("page", [("dark", 400)], indirect=True)
def test_the_keyboard_finds_chooses_and_removes(page):
    picker = picker_of(page)
    page.keyboard.type("ousterhout late binding")
    boxes = picker.get_by_role("checkbox")
    assert [b.get_attribute("aria-label") for b in boxes.all()] == ["sparrow"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    picker.get_by_role("button", name="Remove sparrow").wait_for()
    tools.wait_idle(page)
    page.keyboard.press("Escape")
    assert picker.get_by_role("searchbox").count() == 0
    picker.get_by_role("button", name="Choose:").click()
    assert picker.get_by_role("searchbox").input_value() == "", "the search begins again"
    page.keyboard.type("grandl")
    page.keyboard.press("Enter")  # chooses what was found first
    picker.get_by_role("button", name="Remove tetris").wait_for()
    tools.wait_idle(page)
    picker.get_by_text("What each sees of the network").click()
    picker.get_by_text("N4 also sees the live queue of the link").wait_for()
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.activeElement.shadowRoot.activeElement.className") == "opener"
    tools.open_page(page, "Home")
    tools.open_page(page, "Simulation")
    picker.get_by_role("button", name="Remove sparrow").click()
    picker.get_by_role("button", name="Remove sparrow").wait_for(state="detached")
    tools.wait_idle(page)
    assert picker.get_by_role("button", name="Remove sparrow").count() == 0


def test_choices_in_quick_succession_are_all_taken(page):
    picker = picker_of(page)
    picker.get_by_text("Research:").click()
    names = [n for n in SCHEDULERS if not picker.get_by_role("checkbox", name=n, exact=True).is_checked()]
    for name in names:
        picker.get_by_role("checkbox", name=name, exact=True).check()
    tools.wait_idle(page)
    page.get_by_role("button", name="Choose:").wait_for()
    for name in SCHEDULERS:
        picker.get_by_role("button", name=f"Remove {name}", exact=True).wait_for()
    tools.open_page(page, "Home")
    tools.open_page(page, "Simulation")
    for name in SCHEDULERS:
        picker.get_by_role("button", name=f"Remove {name}", exact=True).wait_for()
