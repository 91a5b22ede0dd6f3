"""How many updates a second reach the live charts, and what the server spends on them.

The app runs in a server of its own; all schedulers simulate the scenario of eight servers, far more jobs
than the measurement takes, and every update that the charts draw is counted in the browser. The server's
processor time is that of its own process: the worker that simulates is another.

Run it with ``python -m benchmarks.live_charts``; it needs Playwright, Chromium, and Linux's ``/proc``.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from benchmarks.app_server import IDLE, open_page, watched
from nona.scenario.file import load_scenario, scenario_to_mapping
from nona.schedulers.registry import scheduler_names
from nona.sources.samples import scenario_path

SCENARIO = "vision_language_8_servers"
JOBS, WARMUP, REPLICATIONS, SECONDS = 400_000, 2_000, 20, 12.0
CHARTS = "[data-testid=livechart]"
# Counts the updates that were drawn and the frames of the browser, from now on.
WATCH = """root => { window.seen = {frames: 0, first: +root.dataset.updates, begin: performance.now()};
  const tick = () => { window.seen.frames += 1; requestAnimationFrame(tick) }; tick() }"""
TOLD = """root => ({updates: +root.dataset.updates - window.seen.first, frames: window.seen.frames,
  seconds: (performance.now() - window.seen.begin) / 1000})"""


def cpu_s(process: int) -> float:
    """Processor seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def scenario_text() -> str:
    """The scenario with every scheduler and more jobs than the measurement takes; JSON is YAML too."""
    data = scenario_to_mapping(load_scenario(scenario_path(SCENARIO)))
    data["schedulers"] = list(scheduler_names())
    data["simulation"] = {"jobs": JOBS, "warmup": WARMUP, "replications": REPLICATIONS}
    return json.dumps(data)


def start(page: Any, url: str) -> None:
    """Open the scenario's file and start the simulation; wait until every scheduler has a line."""
    page.goto(url)
    page.wait_for_function(IDLE)
    page.get_by_test_id("stSidebar").get_by_role("button", name="Open", exact=True).click()
    upload = {"name": "all.yaml", "mimeType": "application/yaml", "buffer": scenario_text().encode()}
    field = page.get_by_test_id("stPopoverBody").get_by_test_id("stFileUploaderDropzoneInput")
    field.set_input_files(upload)
    page.get_by_test_id("stFileUploaderFile").or_(page.get_by_text("all.yaml")).first.wait_for()
    page.wait_for_timeout(500)
    page.wait_for_function(IDLE)
    page.keyboard.press("Escape")
    page.get_by_test_id("stPopoverBody").wait_for(state="detached")
    open_page(page, "Simulation")
    page.get_by_role("button", name="Run the simulation").click()
    page.locator(CHARTS).wait_for()


def main() -> None:
    """Measure and print."""
    if not Path("/proc/self/stat").exists():
        print("Live charts: skipped, as this machine does not tell the processor time of a process.")
        return
    with watched("Live charts") as given:
        if given is None:
            return
        browser, url, process = given
        page = browser.new_page(viewport={"width": 1280, "height": 950})
        page.set_default_timeout(60_000)
        start(page, url)
        page.wait_for_timeout(4000)
        charts = page.locator(CHARTS).element_handle()
        charts.evaluate(WATCH)
        begin, before = time.perf_counter(), cpu_s(process)
        page.wait_for_timeout(1000 * SECONDS)
        spent, seconds = cpu_s(process) - before, time.perf_counter() - begin
        told, lines = charts.evaluate(TOLD), page.locator(f"{CHARTS} .legend button").count()
        text = page.locator(f"{CHARTS} .told").inner_text()
    print(f"Live charts, {SCENARIO}, {lines} schedulers in each of four charts: {text}")
    rate, frames = told["updates"] / told["seconds"], told["frames"] / told["seconds"]
    print(f"  {rate:.1f} updates/s, {frames:.0f} frames/s")
    share, each = 100 * spent / seconds, 1000 * spent / max(told["updates"], 1)
    print(f"  server {share:.0f} % of one core, {each:.1f} ms per update")


if __name__ == "__main__":
    main()
