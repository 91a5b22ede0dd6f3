"""In a real browser: links open elsewhere, sessions are apart, nothing typed is lost, reports stand alone."""

import json
import re

import browser_tools as tools
import pytest

pytestmark = pytest.mark.browser
NAME = "[data-testid=stSidebar] input[aria-label=Scenario]"


def scenario_field(page):
    return page.get_by_role("textbox", name="Scenario", exact=True)


def workspace_cookie(page):
    return next(c for c in page.context.cookies() if c["name"].startswith("nona_workspace_"))


def test_a_link_opens_the_page_with_the_scenario_for_somebody_else(page, app_url):
    tools.fill_text(page, "Scenario", "Sent <b>by</b> link")
    tools.open_page(page, "Scenario")
    tools.fill_text(page, "Capacity", "40 Gbit/s")
    link = tools.share_link(page)
    assert link.startswith(f"{app_url}/scenario?s=1.")
    assert "workspace" not in link
    context = tools.new_context(page.context.browser, viewport={"width": 1280, "height": 900})
    other = context.new_page()
    other.goto(link)
    tools.wait_titled(other, "Scenario")
    assert scenario_field(other).input_value() == "Sent <b>by</b> link"
    assert other.get_by_role("textbox", name="Capacity", exact=True).input_value() == "40 Gbit/s"
    assert "s=1." not in other.url
    # They are two sessions: what one changes the other does not see.
    tools.fill_text(other, "Scenario", "Mine now")
    page.keyboard.press("Escape")
    page.get_by_role("textbox", name="Capacity", exact=True).fill("50 Gbit/s")  # and no Enter
    page.reload()
    tools.wait_idle(page)
    page.wait_for_function("() => document.querySelector('[aria-label=Capacity]').value === '50 Gbit/s'")
    tools.wait_idle(page)
    page.reload()  # it was handed on, so that it is the scenario's now
    tools.wait_idle(page)
    assert page.get_by_role("textbox", name="Capacity", exact=True).input_value() == "50 Gbit/s"
    assert scenario_field(page).input_value() == "Sent <b>by</b> link"
    own, foreign = (workspace_cookie(p) for p in (page, other))
    assert own["value"] != foreign["value"]
    assert (own["httpOnly"], own["sameSite"]) == (True, "Lax")
    # An address of an earlier version opens nothing of others, and no address names a session.
    other.goto(f"{app_url}/cluster?workspace={own['value']}")
    tools.wait_titled(other, "Scenario")
    assert scenario_field(other).input_value() == "Mine now"
    assert "workspace" not in other.url
    other.goto(f"{app_url}/guide?term=SCV")
    tools.wait_titled(other, "Help")
    assert other.url.endswith("/help?term=SCV")
    assert own["value"] not in page.content() + page.url + page.evaluate("document.cookie")
    # A second tab of the same browser has the same workspace.
    second = context.new_page()
    second.goto(app_url)
    second.wait_for_function(f"() => document.querySelector('{NAME}')?.value === 'Mine now'")
    second.close()
    # Own work is only replaced when that is wanted, and comes back.
    other.goto(link)
    for button, name in (("Open it", "Sent <b>by</b> link"), ("Undo", "Mine now")):
        other.get_by_role("button", name=button).click()
        other.wait_for_function(f"() => document.querySelector('{NAME}').value === {json.dumps(name)}")
    context.close()


@pytest.mark.verify
def test_the_report_opens_by_itself(page, tmp_path):
    tools.open_page(page, "Simulation")
    for label, value in (("Jobs measured per run", "200"), ("Replications", "2")):
        tools.enter(page, page.get_by_label(label, exact=True), value)
    page.get_by_role("button", name="Run the simulation").click()
    path = tmp_path / "report.html"
    path.write_bytes(tools.downloaded(page, "HTML report"))
    context = tools.new_context(page.context.browser, offline=True, color_scheme="dark")
    alone = context.new_page()
    asked, wrong = [], []
    alone.on("request", lambda request: asked.append(request.url))
    alone.on("console", lambda message: wrong.append(message.text))
    alone.on("pageerror", lambda error: wrong.append(str(error)))
    alone.goto(path.as_uri())
    charts = alone.locator("figure > .chart")  # Plotly has pictures of its own in them
    assert charts.count() >= 5
    assert charts.locator(".plot-container").count() == charts.count()
    assert (asked, wrong) == ([path.as_uri()], [])
    assert alone.get_by_role("heading", level=1).inner_text() == "My scenario"
    assert alone.get_by_role("row", name=re.compile("^nona")).count() >= 1
    alone.set_viewport_size({"width": 400, "height": 800})
    for place in ("main", "header", "section >> nth=0", "figure >> nth=0"):
        box = alone.locator(place).bounding_box()
        assert box["x"] + box["width"] <= 400, place
    context.close()


@pytest.mark.verify
def test_the_side_bar_opens_and_closes_by_keyboard_on_a_small_screen(page):
    page.set_viewport_size({"width": 400, "height": 800})
    page.reload()
    tools.wait_idle(page)
    bar = page.get_by_test_id("stSidebar")
    field = scenario_field(page)
    field.wait_for(state="hidden")
    for _ in range(4):
        page.keyboard.press("Tab")
        focused = page.evaluate("() => document.activeElement.closest('[data-testid]')?.dataset.testid")
        assert bar.locator(":focus").count() == 0, "the focus is where nobody sees it"
        if focused == "stExpandSidebarButton":
            break
    page.keyboard.press("Enter")
    field.wait_for(state="visible")
    tools.wait_idle(page)
    page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").focus()
    page.keyboard.press("Enter")
    field.wait_for(state="hidden")


def field_with(page, label, value):
    """The text field of that label once it shows the value."""
    field = page.get_by_role("textbox", name=label, exact=True)
    return field.and_(page.locator(f"input[value='{value}']"))


@pytest.mark.verify
def test_two_tabs_show_the_same_scenario_and_keep_both_edits(page, app_url):
    tools.open_page(page, "Scenario")
    other = page.context.new_page()
    other.goto(f"{app_url}/cluster")
    tools.wait_titled(other, "Scenario")
    other.get_by_text("This scenario is open in another tab too").wait_for()
    tools.fill_text(page, "Capacity", "40 Gbit/s")
    # The other tab does not know yet; what is typed there is kept, and then it shows both.
    tools.fill_text(other, "Latency", "7 us")
    field_with(other, "Capacity", "40 Gbit/s").wait_for()
    tools.fill_text(page, "Scenario", "From the left")
    field_with(page, "Latency", "7 us").wait_for()
    page.reload()
    field_with(page, "Capacity", "40 Gbit/s").wait_for()
    field_with(page, "Latency", "7 us").wait_for()
    other.close()


@pytest.mark.verify
def test_a_choice_stands_as_it_was_left_when_its_page_is_opened_again(page):
    """Also in the browser's own picture of it, which a second run of the script does not set back."""
    tools.open_page(page, "Models")
    chosen = page.get_by_test_id("stButtonGroup").locator("button[aria-checked=true]")
    page.get_by_test_id("stButtonGroup").get_by_text("Tasks", exact=True).click()
    tools.wait_idle(page)
    tools.open_page(page, "Evidence")
    tools.open_page(page, "Models")
    assert chosen.all_inner_texts() == ["Tasks"]
