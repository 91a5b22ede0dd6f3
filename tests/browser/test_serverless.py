"""A person's way through the Serverless page: a demo, a small run, its results, the search step by step."""

import re

import pytest
from browser_tools import assert_fits, fill_number, open_page, wait_for_the_end, wait_idle

pytestmark = pytest.mark.browser


@pytest.mark.verify
@pytest.mark.parametrize("page", [("dark", 400)], ids=["dark-400"], indirect=True)
def test_a_demo_is_run_and_explained(page):
    open_page(page, "Serverless")
    page.get_by_role("button", name="Open this example").first.click()
    wait_idle(page)
    fill_number(page, "Calls measured per run", "150")
    fill_number(page, "Replications", "2")
    page.get_by_role("button", name="Run the policies").click()
    wait_for_the_end(page, "serverless run", live=".drawing .invoker")
    finding = page.locator(".st-key-serverless-area").get_by_role("heading")
    finding.get_by_text(re.compile("per 1,000 calls")).wait_for()
    said = finding.inner_text()
    page.locator(".js-plotly-plot").first.wait_for()
    assert_fits(page)
    page.reload()
    finding.get_by_text(said).wait_for()
    wait_idle(page)
    page.get_by_role("tab", name="Search", exact=True).click()
    search = page.get_by_test_id("searchview")
    search.locator("g.n").first.wait_for()
    steps = search.get_by_role("slider", name="Step of the search")
    search.get_by_role("button", name="Step forward").click()
    search.get_by_text(re.compile("^Step 2 of")).wait_for()
    steps.fill(steps.get_attribute("max"))
    assert search.locator("g.n.best").count() >= 1
    assert search.get_by_role("button", name="Step forward").is_disabled()
    assert_fits(page)
    search.scroll_into_view_if_needed()
