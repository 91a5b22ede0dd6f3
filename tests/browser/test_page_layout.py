"""The layout of the pages: text that can be read, the strip, terms, the demo, the focus, a narrow window."""

import re

import browser_tools as tools
import pytest
from contrast import texts_of

from nona.app.session.page_list import PAGES

pytestmark = pytest.mark.browser
TITLES = [page.title for page in PAGES.values()]
narrow = pytest.mark.parametrize("page", [("light", 400)], indirect=True)


# Controls and pictures that a screen reader would pass over without a word, in shadow trees too.
UNNAMED = """() => {
  const all = [], walk = (root) => { for (const e of root.querySelectorAll('*')) {
    all.push(e); if (e.shadowRoot) walk(e.shadowRoot); } };
  walk(document.querySelector('[data-testid="stApp"]'));
  const text = (e) => (e.textContent || '').trim(), find = (id) => document.getElementById(id);
  const named = (e) => e.getAttribute('aria-label') || e.title || text(e) || e.placeholder
    || (e.getAttribute('aria-labelledby') || '').split(' ').some((id) => text(find(id) || e))
    || (e.labels && [...e.labels].some(text));
  const kinds = 'button, a[href], input, select, textarea, [role=button], [role=slider], [role=img]';
  const shown = (e) => e.getClientRects().length && e.type !== 'hidden' && !e.closest('[aria-hidden=true]');
  const silent = all.filter((e) => e.matches(kinds) && shown(e) && !named(e));
  return silent.map((e) => e.outerHTML.slice(0, 160)); }"""


@pytest.mark.parametrize("page", [("light", 1280)], indirect=True)
def test_every_page_fits_can_be_read_and_names_its_controls(page):
    """At a desk by day, and on a telephone by night."""
    for title in TITLES:
        page.set_viewport_size({"width": 1280, "height": 3000})
        page.emulate_media(color_scheme="light")
        tools.open_page(page, title)
        assert page.title() == f"{title} · Nona Planner"
        assert page.get_by_test_id("stException").count() == 0
        if title == "Simulation":
            tools.fill_number(page, "Jobs measured per run", "400")
            tools.run_to_the_end(page)
            tools.unfold_settings(page)
            picker = page.get_by_test_id("schedulerpicker").first
            picker.get_by_role("button", name="Choose:").click()
            picker.get_by_text("Source and adaptation").first.click()
            picker.get_by_text("Network view").first.wait_for()
            tools.wait_idle(page)
        by_day = page.evaluate(BACKGROUND)
        look_at(page, title)
        page.set_viewport_size({"width": 400, "height": 3000})
        page.emulate_media(color_scheme="dark")
        page.wait_for_function(f"by_day => ({BACKGROUND})() !== by_day", arg=by_day)
        tools.wait_idle(page)
        look_at(page, title)


# Whether of the terms below the page only those are shown whose word is on it, and each of these is.
TERMS = """() => { const line = document.querySelector('.st-key-page-terms');
  if (!line) return true;
  const texts = (e) => e === line ? [] : e.nodeType === Node.TEXT_NODE ? [e.data]
    : [...e.childNodes, ...(e.shadowRoot?.childNodes ?? [])].flatMap(texts);
  const main = document.querySelector('[data-testid=stMain]');
  const said = texts(main).map((text) => ` ${text}`).join('').toLowerCase();
  return [...line.querySelectorAll('a')].every((a) => { const word = a.textContent.toLowerCase();
    return a.getClientRects().length ? said.includes(word) : !said.includes(` ${word}`); }); }"""
BACKGROUND = "() => getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"


def look_at(page, title):
    """All of a page can be read, its controls have names, and nothing is wider than the window."""
    page.wait_for_function(TERMS)
    found = texts_of(page)
    assert len(found) > 15
    assert [f"{title}: {t.text!r} {t.ratio:.2f} {t.colours}" for t in found if not t.enough] == []
    assert page.evaluate(UNNAMED) == []
    page.keyboard.press("Escape")
    tools.assert_fits(page)
    tools.shot(page, f"page-{title.lower()}-{page.viewport_size['width']}")


def wait_for_keys(page, place):
    """Until the demo's keys are heard on a step: what listens is loaded after the page is drawn."""
    page.locator(f"body[data-demo-keys='{place}']").wait_for(state="attached")
    tools.wait_idle(page, 60_000)


@pytest.mark.verify
def test_the_strip_leads_to_every_part_and_names_the_last_run(page):
    page.set_viewport_size({"width": 1280, "height": 800})
    assert page.locator(".st-key-strip").count() == 0, "Home tells nothing of a scenario"
    tools.open_page(page, "Plan")
    strip = page.locator(".st-key-strip")
    assert strip.bounding_box()["height"] < 40, "one line at 1280"
    assert "SLO hits" not in strip.inner_text()
    strip.get_by_role("link", name=re.compile(r"\d schedulers?$")).click()
    tools.wait_titled(page, "Simulation")
    tools.fill_number(page, "Jobs measured per run", "200")
    tools.run_to_the_end(page)
    tools.open_page(page, "Plan")
    strip.get_by_role("link", name=re.compile(r"^[a-z-]+: \d.* SLO hits$")).wait_for()
    tools.open_page(page, "Scenario")
    tools.fill_number(page, "Servers", "9")
    tools.open_page(page, "Plan")
    strip.get_by_role("link", name="9 servers").wait_for()
    strip.get_by_role("link", name=re.compile(r"SLO hits \(earlier scenario\)")).wait_for()


@pytest.mark.verify
def test_the_demo_goes_by_keys_survives_a_reload_and_gives_everything_back(page, app_url):
    tools.open_page(page, "Scenario")
    tools.fill_number(page, "Servers", "6")
    tools.open_page(page, "Home")
    page.get_by_role("button", name="Start the demo").click()
    bar, sidebar = page.locator(".st-key-demo-bar"), page.get_by_test_id("stSidebar")
    wait_for_keys(page, "1.1")
    assert not sidebar.is_visible()
    page.keyboard.press("ArrowRight")
    page.get_by_role("heading", name="Placement", exact=True, level=1).wait_for()
    page.get_by_test_id("stMetric").first.wait_for(timeout=tools.RESULT_MS)
    assert page.get_by_role("button", name="Solve the placement").count() == 0
    tools.wait_idle(page)
    page.reload()
    bar.get_by_text("step 2 of").wait_for()
    wait_for_keys(page, "1.2")
    tools.assert_fits(page)
    page.keyboard.press("ArrowLeft")
    bar.get_by_text("step 1 of").wait_for()
    wait_for_keys(page, "1.1")
    page.keyboard.press("Escape")
    bar.wait_for(state="detached")
    tools.wait_idle(page)
    tools.open_page(page, "Scenario")
    assert page.get_by_role("spinbutton", name="Servers", exact=True).first.input_value() == "6"
    page.get_by_role("button", name="Undo").click()
    tools.wait_idle(page)
    assert page.get_by_role("spinbutton", name="Servers", exact=True).first.input_value() == "8"
    page.goto(f"{app_url}/?demo=3")
    bar.get_by_text("What does my cluster need?").wait_for()
    tools.wait_idle(page)
    assert page.get_by_role("heading", level=1).inner_text() == "Scenario"


@pytest.mark.verify
def test_keys_pressed_while_the_page_loads_leave_text_and_page_at_the_same_step(page, app_url):
    sent = []
    page.on("websocket", lambda ws: ws.on("framesent", lambda data: sent.append(data)))
    page.goto(f"{app_url}/?demo=3")
    bar = page.locator(".st-key-demo-bar")
    wait_for_keys(page, "3.1")
    for place in ("3.2", "3.3", "4.1"):  # the last is the first of the next question, on another page
        step = place[-1]
        page.evaluate(
            "() => { for (let i = 0; i < 2; i++) setTimeout(() => document.body.dispatchEvent("
            "new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true, composed: true})), 12 * i) }"
        )
        bar.get_by_text(f"step {step} of").wait_for()
        wait_for_keys(page, place)
        page.wait_for_timeout(600)
        assert f"step {step} of" in bar.inner_text()
    bar.get_by_text("Question 4 of").wait_for()
    assert page.get_by_role("heading", level=1).inner_text() == "Plan"
    assert sum(b"next 3.1" in data for data in sent if isinstance(data, bytes)) == 1


@pytest.mark.verify
def test_a_question_of_the_demo_is_chosen_from_a_menu_that_closes(page, app_url):
    page.goto(f"{app_url}/?demo=1")
    bar = page.locator(".st-key-demo-bar")
    wait_for_keys(page, "1.1")
    tools.wait_idle(page)
    bar.get_by_role("button", name="Questions").click()
    menu = page.get_by_test_id("stMenuButtonBody")
    menu.get_by_text("What should we buy, and when does it break?").click()
    bar.get_by_text("Question 4 of").wait_for()
    wait_for_keys(page, "4.1")
    assert menu.count() == 0
    buttons = bar.get_by_role("button").all()
    assert len({round(b.bounding_box()["y"]) for b in buttons}) == 1, "the buttons stand in one row"


def focused(page):
    return str(page.evaluate("() => (document.activeElement.textContent || '').trim()"))


@pytest.mark.verify
def test_the_focus_stays_with_what_was_pressed(page):
    tools.open_page(page, "Scenario")
    add = page.get_by_role("button", name="Add a server group")
    add.focus()
    page.keyboard.press("Enter")
    page.get_by_test_id("stToast").get_by_text("server group").wait_for()
    tools.wait_idle(page)
    assert "Add a server group" in focused(page)
    tools.open_page(page, "Simulation")
    tools.fill_number(page, "Jobs measured per run", "200")
    page.get_by_role("button", name="Run the simulation").focus()
    page.keyboard.press("Enter")
    tools.wait_for_the_end(page, "simulation")
    page.wait_for_function("() => document.activeElement.textContent.includes('Run the simulation')")
    link = page.get_by_test_id("stSidebarNav").get_by_role("link", name="Scenario")
    link.focus()
    page.keyboard.press("Shift+Tab")
    outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


@pytest.mark.verify
def test_a_popover_opens_where_it_fits_and_a_link_can_be_copied(page):
    page.set_viewport_size({"width": 1280, "height": 800})
    tools.open_file_menu(page)
    body = page.get_by_test_id("stPopoverBody")
    # The link can be copied without a pointer over it: hidden buttons have no role.
    page.locator(".st-key-share-link").get_by_role("button", name="Copy to clipboard").wait_for()
    page.wait_for_timeout(500)
    box = body.bounding_box()
    assert 0 <= box["y"] <= 800 - box["height"]
    assert box["height"] > 120
    page.keyboard.press("Escape")
    body.wait_for(state="detached")


@pytest.mark.verify
@narrow
def test_a_narrow_window_shows_the_page_and_the_open_tab(page):
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Evidence").click()
    page.get_by_role("heading", name="Evidence", exact=True, level=1).wait_for()
    page.get_by_test_id("stExpandSidebarButton").wait_for()  # the side bar closed by itself
    tools.wait_idle(page)
    page.get_by_role("tab", name="Published claims").click()
    tools.wait_idle(page)
    page.reload()
    tools.wait_idle(page)
    box = page.get_by_role("tab", name="Published claims").bounding_box()
    assert 0 <= box["x"] <= 400 - box["width"]
    tools.assert_fits(page)
    tools.open_page(page, "Simulation")
    tools.fill_number(page, "Jobs measured per run", "200")
    tools.run_to_the_end(page)
    number = page.locator(".st-key-finding [data-testid=stMetricValue]").bounding_box()
    said = page.locator(".st-key-finding [data-testid=stHeading]").first.bounding_box()
    assert 0 <= said["y"] - number["y"] - number["height"] < 16, "no gap below the number"


@pytest.mark.verify
@narrow
def test_on_a_telephone_facts_have_a_dot_between_and_no_tab_is_cut(page):
    tools.open_page(page, "Simulation")
    dots = page.evaluate(
        "() => [...document.querySelectorAll('.st-key-strip > *')]"
        ".map(e => getComputedStyle(e, '::after').content.includes('·'))"
    )
    assert len(dots) > 3
    assert dots == [True] * (len(dots) - 1) + [False]
    tools.open_page(page, "Evidence")
    for tab in page.get_by_role("tab").all():
        box = tab.bounding_box()
        assert 0 <= box["x"] <= 400 - box["width"], tab.inner_text()
    tools.assert_fits(page)


@pytest.mark.verify
@pytest.mark.parametrize("page", [("light", 1280), ("dark", 400)], indirect=True)
def test_why_the_network_matters(page):
    story = page.get_by_test_id("story")
    times = story.locator("section strong")
    load = story.get_by_role("slider", name="Share of the link that others use")
    page.wait_for_function(
        "() => [...document.querySelectorAll('*')].map(e => e.shadowRoot).filter(Boolean)"
        ".some(r => r.querySelector('.story .dot'))"
    )
    assert times.all_inner_texts() == ["22 ms", "32 ms", "14 ms"]
    tools.assert_fits(page)
    load.fill("17")
    story.get_by_text("no longer pays").wait_for()
    assert times.all_inner_texts()[0] == times.all_inner_texts()[2] == "22 ms"
    story.get_by_role("button", name="Play one query").click()
    story.get_by_role("button", name="Pause").wait_for()
    story.get_by_role("button", name="Play one query").wait_for()  # it has come to its end
    load.fill("12")
    story.get_by_text(re.compile("60 % busy")).wait_for()
    tools.wait_idle(page)
    page.get_by_role("button", name="Open this example").click()
    tools.wait_titled(page, "Placement")
    tools.assert_fits(page)
