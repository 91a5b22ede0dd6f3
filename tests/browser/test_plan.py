"""A plan in a browser: asked, found, read, opened; a reload and kill −9 lose nothing; it fits a telephone."""

import pytest
from browser_tools import assert_fits, enter, fill_number, open_page, wait_for_the_end, wait_idle, wait_titled
from contrast import texts_of

pytestmark = pytest.mark.browser


def ask(page):
    """A question about the session's own scenario that is answered in seconds."""
    open_page(page, "Plan")
    page.get_by_role("button", name="Plan for this workload").click()
    page.get_by_role("button", name="Find the plan").wait_for()
    wait_idle(page)
    enter(page, page.get_by_role("textbox", name="Growth"), "8%/month")
    search_settings(page)
    fill_number(page, "Jobs of a run", "500")


def search_settings(page):
    """Open how the plan is searched, where it is not open already."""
    part = page.locator("details").filter(has_text="How the plan is searched")
    part.wait_for()
    if part.get_attribute("open") is None:  # also while it still moves, in which its fields are not visible
        part.locator("summary").click()
    page.get_by_role("spinbutton", name="Jobs of a run", exact=True).wait_for()
    wait_idle(page)


def find(page):
    page.get_by_role("button", name="Find the plan").click()
    wait_for_the_end(page, "plan")
    page.get_by_role("heading", name="Buy ").wait_for()
    wait_idle(page)


@pytest.mark.verify
def test_a_plan_is_found_read_and_opened(page):
    ask(page)
    find(page)
    headline = page.get_by_role("heading", name="Buy ").inner_text()
    page.get_by_text("which growth passes in").first.wait_for()
    for tab, word in (
        ("More traffic", "Shown up to"),
        ("Failures", "Work in progress on the lost servers"),
        ("Costs", "Check prices before you buy"),
        ("Week", "The traffic is steady"),
        ("Evidence", "options were simulated"),
    ):
        page.get_by_role("tab", name=tab).click()
        page.get_by_text(word).first.wait_for()
        wait_idle(page)
    assert [t for t in texts_of(page) if not t.enough] == []

    page.reload()
    page.get_by_role("heading", name="Buy ").wait_for()
    wait_idle(page)
    assert page.get_by_role("heading", name="Buy ").inner_text() == headline

    page.get_by_role("button", name="Open it as the scenario").click()
    wait_titled(page, "Simulation")
    open_page(page, "Plan")
    page.get_by_text("The scenario has changed since").wait_for()  # the answer stays, marked
    assert page.get_by_role("heading", name="Buy ").inner_text() == headline


@pytest.mark.verify
@pytest.mark.parametrize("page", [("dark", 400)], indirect=True)
def test_a_plan_fits_a_telephone(page):
    ask(page)
    assert_fits(page)
    find(page)
    assert_fits(page)
    assert [t for t in texts_of(page) if not t.enough] == []
