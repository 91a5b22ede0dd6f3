"""Saved runs in a real browser: saved, listed, compared, deleted with undo, carried; kill −9 loses none."""

import re

import browser_tools as tools
import pytest
from contrast import texts_of

pytestmark = [pytest.mark.browser, pytest.mark.verify]


def run(page, seed=7):
    """A small simulation."""
    tools.open_page(page, "Simulation")
    tools.fill_number(page, "Jobs measured per run", "200")
    tools.fill_number(page, "Replications", "3")
    tools.fill_number(page, "Seed", str(seed))
    tools.run_to_the_end(page)


def save(page, name, note=""):
    page.get_by_role("button", name="Save this run").click()
    field = page.get_by_role("textbox", name="Name", exact=True)
    field.fill(name)
    field.press("Tab")
    page.get_by_role("textbox", name="Note").fill(note)
    tools.wait_idle(page)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text(f"Saved as “{name}”. Save again").wait_for()
    page.keyboard.press("Escape")
    tools.wait_idle(page)


def tick(page, box):
    """Tick an item with the keyboard."""
    box.focus()
    box.press("Space")
    tools.wait_idle(page)


def test_runs_are_saved_compared_deleted_and_carried(page, tmp_path):
    run(page)
    save(page, "Monday", "of March")
    run(page, seed=8)
    save(page, "Tuesday")

    tools.open_page(page, "Runs")
    assert page.get_by_role("button", name="Compare").is_disabled()
    for name in ("Monday", "Tuesday"):
        tick(page, page.get_by_role("checkbox", name=name, exact=True))
    page.get_by_role("button", name="Compare 2 ticked").click()
    page.get_by_text("seed 7 → 8").wait_for()
    page.locator(".js-plotly-plot").first.wait_for()
    tools.wait_idle(page)
    page.get_by_role("radio", name="SLO hits").click()
    page.locator(".js-plotly-plot .xtitle").filter(has_text="SLO hits, %").wait_for()
    tools.wait_idle(page)
    page.get_by_role("button", name="Back to the list").click()
    tools.wait_idle(page)

    file = tmp_path / "two.nona-saved.zip"
    file.write_bytes(tools.downloaded(page, "Export 2 ticked"))

    page.get_by_role("button", name="Delete").first.click()
    page.get_by_text("“Tuesday” is deleted.").wait_for()
    tools.wait_idle(page)
    assert page.get_by_role("checkbox", name="Tuesday", exact=True).count() == 0
    page.get_by_role("button", name="Undo the deletion").click()
    page.get_by_role("checkbox", name="Tuesday", exact=True).wait_for()

    page.get_by_role("button", name="Import").click()
    page.get_by_test_id("stFileUploaderDropzoneInput").last.set_input_files(file)
    page.get_by_text(re.compile("imported .*: figures as the file states them")).first.wait_for()
    page.keyboard.press("Escape")
    tools.wait_idle(page)
    assert page.get_by_role("checkbox", name="Monday", exact=True).count() == 2

    tools.enter(page, page.get_by_role("textbox", name="Find"), "march")
    assert page.get_by_role("checkbox", name="Tuesday", exact=True).count() == 0
    page.get_by_role("button", name="Open", exact=True).last.click()
    tools.wait_titled(page, "Simulation")
    assert page.get_by_text("Run 3 · Monday").count()


@pytest.mark.parametrize("page", [("dark", 400)], indirect=True)
def test_saved_runs_fit_a_telephone(page):
    run(page)
    save(page, "Monday, when everybody comes back from the holidays at the same time", "a note of some words")
    tools.assert_fits(page)
    tools.open_page(page, "Runs")
    page.get_by_role("button", name="Duplicate").click()
    page.get_by_role("checkbox", name="(copy)").wait_for()
    tools.wait_idle(page)
    tools.assert_fits(page)
    assert [t for t in texts_of(page) if not t.enough] == []
    for box in page.get_by_role("checkbox", name="Monday").all():
        tick(page, box)
    page.get_by_role("button", name="Compare 2 ticked").click()
    page.locator(".js-plotly-plot").first.wait_for()
    tools.wait_idle(page)
    tools.assert_fits(page)
    assert [t for t in texts_of(page) if not t.enough] == []
