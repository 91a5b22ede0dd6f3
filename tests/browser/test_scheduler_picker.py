"""Schedulers are chosen by family, by search, by keyboard alone, on a narrow window too."""

from __future__ import annotations

from typing import Any

import pytest
from browser_tools import assert_fits, open_page, wait_idle

from nona.schedulers.base import FAMILY_TITLES
from nona.schedulers.registry import SCHEDULERS

pytestmark = pytest.mark.browser


def opened(page: Any) -> Any:
    """The choice of the Simulation page, with its list open."""
    open_page(page, "Simulation")
    picker = page.get_by_test_id("schedulerpicker")
    picker.get_by_role("button", name="Choose:").click()
    return picker


@pytest.mark.parametrize("app_page", [("light", 400), ("dark", 1360)], indirect=True)
def test_all_stand_under_their_family_with_view_and_source(app_page: Any) -> None:
    picker = opened(app_page)
    assert_fits(app_page)
    used = {s.family for s in SCHEDULERS.values()}
    for family, title in FAMILY_TITLES.items():
        assert picker.get_by_role("group", name=title).count() == (family in used)
    for s in SCHEDULERS.values():
        assert picker.get_by_role("checkbox", name=s.name, exact=True).count() == 1
    row = picker.locator(".row").filter(has=app_page.get_by_role("checkbox", name="tetris", exact=True))
    assert row.locator(".badge").inner_text() == "N3"
    assert "reservations" in row.locator(".badge").get_attribute("title")
    source = row.get_by_text(SCHEDULERS["tetris"].source)
    assert not source.is_visible()
    row.get_by_text("Source and adaptation").click()
    source.wait_for()
    assert_fits(app_page)


@pytest.mark.parametrize("app_page", [("dark", 400)], indirect=True)
def test_the_keyboard_finds_chooses_and_removes(app_page: Any) -> None:
    page, picker = app_page, opened(app_page)
    page.keyboard.type("ousterhout late binding")
    boxes = picker.get_by_role("checkbox")
    assert [b.get_attribute("aria-label") for b in boxes.all()] == ["sparrow"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    picker.get_by_role("button", name="Remove sparrow").wait_for()
    wait_idle(page)
    page.keyboard.press("Escape")
    assert picker.get_by_role("searchbox").count() == 0
    picker.get_by_role("button", name="Choose:").click()
    assert picker.get_by_role("searchbox").input_value() == "", "the search begins again"
    page.keyboard.type("grandl")
    page.keyboard.press("Enter")  # chooses what was found first
    picker.get_by_role("button", name="Remove tetris").wait_for()
    wait_idle(page)
    picker.get_by_text("What each sees of the network").click()
    picker.get_by_text("N4 also sees the live queue of the link").wait_for()
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.activeElement.shadowRoot.activeElement.className") == "opener"
    open_page(page, "Overview")
    open_page(page, "Simulation")
    picker.get_by_role("button", name="Remove sparrow").click()
    picker.get_by_role("button", name="Remove sparrow").wait_for(state="detached")
    wait_idle(page)
    assert picker.get_by_role("button", name="Remove sparrow").count() == 0


def test_choices_in_quick_succession_are_all_taken(app_page: Any) -> None:
    page, picker = app_page, opened(app_page)
    names = [n for n in SCHEDULERS if not picker.get_by_role("checkbox", name=n, exact=True).is_checked()]
    for name in names:
        picker.get_by_role("checkbox", name=name, exact=True).check()
    wait_idle(page)
    page.get_by_role("button", name="Choose:").wait_for()
    for name in SCHEDULERS:
        picker.get_by_role("button", name=f"Remove {name}", exact=True).wait_for()
    open_page(page, "Overview")
    open_page(page, "Simulation")
    for name in SCHEDULERS:
        picker.get_by_role("button", name=f"Remove {name}", exact=True).wait_for()
