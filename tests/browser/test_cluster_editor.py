"""The MIG layout editor in a real browser: by mouse, by keyboard, at two widths."""

import pytest
from browser_tools import open_page, wait_idle

# Where each instance begins, and its profile; null while the editor is not drawn.

pytestmark = [pytest.mark.browser, pytest.mark.verify]
INSTANCES = """() => {
  const root = [...document.querySelectorAll('*')].map(e => e.shadowRoot).filter(Boolean)
    .find(r => r.querySelector('.migview'));
  return root ? [...root.querySelectorAll('.board .placed')].map(b => [+b.dataset.start,
    b.title.split(':')[0]]) : null }"""
FITS = """() => [document.documentElement, document.querySelector('[data-testid=stMain]')]
  .every(e => e.scrollWidth <= e.clientWidth)"""


def until(page, wanted):
    """Wait until the board holds these instances, as Python has confirmed them."""
    page.wait_for_function(
        f"wanted => JSON.stringify(({INSTANCES})()) === JSON.stringify(wanted)", arg=[list(w) for w in wanted]
    )
    wait_idle(page)


def slice_at(page, start):
    return page.get_by_test_id("migview").locator(f".board button[data-start='{start}']")


def test_a_layout_is_edited_by_mouse_and_by_keyboard(page):
    page.set_viewport_size({"width": 1280, "height": 900})
    open_page(page, "Scenario")
    shared = page.get_by_role("combobox", name="Shared as").first
    shared.scroll_into_view_if_needed()  # a list closes when the page moves under it
    wait_idle(page)
    shared.click()
    page.get_by_role("option", name="MIG slices", exact=True).click()
    until(page, [(0, "3g.20gb"), (4, "3g.20gb")])
    assert page.evaluate(FITS)

    slice_at(page, 4).click()  # a click removes
    until(page, [(0, "3g.20gb")])
    slice_at(page, 4).click()  # a click on an empty slice tells what may start there
    editor = page.get_by_test_id("migview")
    legal = editor.locator(".options button b").all_inner_texts()
    assert legal == ["3g.20gb", "2g.10gb", "1g.10gb", "1g.5gb", "1g.5gb+me"]
    editor.get_by_text("Why not the other 2").click()
    assert "it may start at memory slice 0 only" in editor.locator(".panel ul").inner_text()
    editor.locator("button[data-profile='2g.10gb']").click()
    until(page, [(0, "3g.20gb"), (4, "2g.10gb")])

    slice_at(page, 4).focus()
    page.keyboard.press("ArrowRight")  # to slice 6, empty
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")  # the second profile that may start there
    page.keyboard.press("Enter")
    until(page, [(0, "3g.20gb"), (4, "2g.10gb"), (6, "1g.5gb")])
    page.keyboard.press("Home")
    page.keyboard.press("Delete")
    until(page, [(4, "2g.10gb"), (6, "1g.5gb")])
    assert page.get_by_test_id("stMetric").filter(has_text="Executors").inner_text().split()[-1] == "16"
    names = [b.get_attribute("aria-label") for b in editor.locator(".board button").all()]
    assert all(names)
    assert "2g.10gb on memory slices 4 to 5" in " ".join(n or "" for n in names)

    page.set_viewport_size({"width": 400, "height": 850})
    wait_idle(page)
    page.wait_for_function(FITS)
    slice_at(page, 6).scroll_into_view_if_needed()
    page.reload()
    until(page, [(4, "2g.10gb"), (6, "1g.5gb")])  # the places are kept
