"""How long the app takes to answer a changed slider, as the browser sees it.

The app runs in a server of its own, in Chromium the five-model scenario is opened, the what-if view
answers all its schedulers, and the slider of the link's background is moved ten times, each time to a
new value. A change counts from the key press until the first table for the new number is drawn: a full
table of all schedulers.

Run it with ``python -m benchmarks.slider_latency``; it needs Playwright and Chromium.
"""

from __future__ import annotations

import re
import statistics
from typing import Any

from benchmarks.app_server import IDLE, open_demo, open_page, watched
from nona.scenario.file import load_scenario
from nona.sources.samples import scenario_path

SCENARIO = "five_models_80_servers"
CHANGES = 10
# Resolves, with milliseconds since the key press, when the answer is no longer dimmed as the former one and
# a frame has been drawn since. (The cells in the document are the grid's copy for screen readers; it lags.)
NEW_TABLE = """() => new Promise((resolve, reject) => { let asked = false; const look = () => {
  const asking = (document.querySelector('.st-key-what-if')?.textContent ?? '').includes('Computing again');
  asked = asked || asking;
  if (asked && !asking) requestAnimationFrame(() => resolve(performance.now() - window.pressed));
  else if (performance.now() - window.pressed > 60000) reject('no new table within a minute');
  else requestAnimationFrame(look); }; look(); })"""
DONE = """() => { const t = (document.querySelector('.st-key-what-if')?.textContent ?? '');
  const a = document.querySelector('[data-testid="stApp"]');
  const asked = /Computing again|Simulating all|Waiting for|stands follows/.test(t);
  return /, 8 replications/.test(t) && !asked && a.dataset.testScriptState === 'notRunning' }"""
CELLS = "() => [...document.querySelectorAll('.st-key-what-if-answer td')].map(c => c.textContent).join('|')"


def open_panel(page: Any, url: str) -> None:
    """Open the scenario, the Simulation page, and its view; wait for the first full answer."""
    title = load_scenario(scenario_path(SCENARIO)).name
    page.goto(url)
    page.wait_for_function(IDLE)
    open_demo(page, title)
    open_page(page, "Simulation")
    page.get_by_test_id("stButtonGroup").get_by_text("What if", exact=True).click()
    page.wait_for_function(DONE, timeout=120_000)


def change(page: Any, key: str) -> float:
    """Move the slider by one step; seconds until the new table is there."""
    slider = page.get_by_role("slider", name="Link background")
    slider.focus()
    old = page.evaluate(CELLS)
    page.evaluate(
        "() => addEventListener('keydown', () => { window.pressed = performance.now() },"
        " {once: true, capture: true})"
    )
    slider.press(key)
    milliseconds = page.evaluate(NEW_TABLE)
    page.wait_for_function(f"old => ({CELLS})() !== old", arg=old)  # it is another table indeed
    page.wait_for_function(DONE, timeout=120_000)
    page.wait_for_timeout(500)
    return float(milliseconds) / 1000


def main() -> None:
    """Measure and print."""
    with watched("Slider latency") as given:
        if given is None:
            return
        browser, url, _ = given
        page = browser.new_page(viewport={"width": 1280, "height": 950})
        page.set_default_timeout(60_000)
        open_panel(page, url)
        engine = page.locator(".st-key-what-if").inner_text()
        change(page, "ArrowRight")  # the first one warms caches
        times = [change(page, "ArrowRight") for _ in range(CHANGES)]
    said = re.findall(r"[\d,]+ jobs per run.*|The .* engine answered.*", engine)
    schedulers = len(load_scenario(scenario_path(SCENARIO)).schedulers)
    print(f"Slider to new table, {SCENARIO}, {schedulers} schedulers: {' '.join(said)}")
    print("  seconds: " + ", ".join(f"{t:.2f}" for t in times))
    print(f"  median {statistics.median(times):.2f} s, worst {max(times):.2f} s")


if __name__ == "__main__":
    main()
