"""How long a cold page and every click on a warm one take in the browser, at about 1,000 operators.

The app runs in a server of its own. A model of residual blocks is uploaded in Chromium, and then pages
are changed, tabs and nodes clicked, steps played, names searched for and modules opened. A click counts
from the press of the mouse or key until what it asked for is drawn, as seen by the page itself, frame
by frame. A cold page is one in a new window with an empty cache, from the address to the drawn graph.

Run it with ``python -m benchmarks.page_latency [OPERATORS]``; it needs Playwright and Chromium.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.app_server import IDLE, watched
from benchmarks.import_growth import model

OPERATORS, REPEATS, COLD = 1000, 7, 3
COLD_S, CLICK_S = 3.0, 0.3
# Notes every press, and finds the graph in its shadow tree.
PREPARE = """() => {
  for (const kind of ['pointerdown', 'keydown'])
    addEventListener(kind, () => { window.pressed = performance.now(); }, {capture: true});
  window.graph = () => { for (const e of document.querySelectorAll('[data-testid="stMain"] div')) {
    const g = e.shadowRoot && e.shadowRoot.querySelector('.dagview'); if (g) return g; } return null; };
  window.state = () => document.querySelector('[data-testid="stApp"]').dataset.testScriptState;
  window.title = () => (document.querySelector('h1') || {}).textContent || '';
  window.text = (s) => document.querySelector('[data-testid="stMain"]').textContent.includes(s);
  window.within = (s, t) => { const e = window.graph() && window.graph().querySelector(s);
    return !!e && e.textContent.includes(t); };
}"""
# Resolves with the milliseconds since the press once the condition holds and a frame was drawn since.
WAIT = """condition => new Promise((resolve, reject) => { const holds = eval(condition); const look = () => {
  if (holds()) requestAnimationFrame(() => resolve(performance.now() - window.pressed));
  else if (performance.now() - window.pressed > 30000) reject(condition);
  else requestAnimationFrame(look); }; look(); })"""
DRAWN = "window.graph() && window.graph().querySelectorAll('g[data-id]').length > 0"


def clicked(page: Any, act: Callable[[], object], condition: str) -> float:
    """Seconds from the press that ``act`` makes until ``condition`` holds in the page."""
    page.evaluate("() => { window.pressed = performance.now(); }")
    act()
    seconds = float(page.evaluate(WAIT, f"() => {condition}")) / 1000
    page.wait_for_function(IDLE)
    page.wait_for_timeout(150)
    return seconds


def upload(page: Any, data: bytes, operators: int) -> None:
    """Upload the model on the Models page and wait until it is drawn."""
    page.get_by_role("button", name="Model: ").click()
    field = page.get_by_test_id("stFileUploader").filter(has_text="Upload a model")
    file = {"name": "residual.onnx", "mimeType": "application/octet-stream", "buffer": data}
    field.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(file)
    page.get_by_test_id("stMetricValue").get_by_text(f"{operators:,}", exact=True).wait_for(timeout=60_000)
    page.wait_for_function(IDLE)


def cold(browser: Any, url: str, path: str, token: str) -> float:
    """Seconds from a new window to a drawn graph."""
    context = browser.new_context(viewport={"width": 1280, "height": 950}, reduced_motion="reduce")
    page = context.new_page()
    page.add_init_script(f"addEventListener('DOMContentLoaded', {PREPARE})")
    begin = time.perf_counter()
    page.goto(f"{url}/{path}?{token}")
    page.wait_for_function(
        f"() => window.graph && {DRAWN} && window.state() === 'notRunning'", timeout=60_000
    )
    seconds = time.perf_counter() - begin
    context.close()
    return seconds


def rounds(page: Any) -> dict[str, list[float]]:
    """Seconds of every kind of click, ``REPEATS`` times each."""
    found: dict[str, list[float]] = {}

    def note(name: str, act: Callable[[], object], condition: str) -> None:
        found.setdefault(name, []).append(clicked(page, act, condition))

    def go(name: str) -> Callable[[], object]:
        return lambda: page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True).click()

    for turn in range(REPEATS):
        for name, extra in (("Models", f" && {DRAWN}"), ("Contraction", f" && {DRAWN}"), ("Cluster", "")):
            note(
                f"page: {name}",
                go(name),
                f"window.title() === '{name}' && window.state() === 'notRunning'{extra}",
            )
        go("Models")()
        page.wait_for_function(f"() => window.title() === 'Models' && {DRAWN}")
        page.wait_for_function(IDLE)
        nodes = page.locator("g[data-id]")
        place = 3 + 2 * turn
        own = nodes.nth(place).get_attribute("data-id")
        node = own.removeprefix("block:").replace("/", ".") if own.startswith("block:") else own
        note("node click", nodes.nth(place).click, f"window.text({node!r} + ' ·')")
        for tab, shown in (("Operators", '[data-testid="stDataFrame"]'), ("Graph", "")):
            condition = f"document.querySelector({shown!r})" if shown else DRAWN
            note(f"tab: {tab}", page.get_by_role("tab", name=tab, exact=True).click, condition)
        field = page.get_by_label("Find an operator by name or kind")
        note("search", partial(field.fill, "sigmoid"), "window.within('.matches', ' of ')")
        field.press("Escape")
        note(
            "Collapse all",
            page.get_by_role("button", name="Collapse all").click,
            "!window.graph().classList.contains('busy')",
        )
        note(
            "Expand all",
            page.get_by_role("button", name="Expand all").click,
            "!window.graph().classList.contains('busy')",
        )
        go("Contraction")()
        page.wait_for_function(f"() => window.title() === 'Contraction' && {DRAWN}")
        page.wait_for_function(IDLE)
        note(
            "step forward",
            page.get_by_role("button", name="Step forward").click,
            "window.within('output', 'step 1 /')",
        )
        note(
            "last step",
            lambda: (page.locator("svg.canvas").focus(), page.keyboard.press("End")),
            "!window.within('output', 'step 1 /')",
        )
        note(
            "tab: After: tasks",
            page.get_by_role("tab", name="After: tasks").click,
            f"{DRAWN} && !window.within('output', 'step 1')",
        )
        note(
            "tab: Left to distribute",
            page.get_by_role("tab", name="Left to distribute").click,
            "document.querySelector('[data-testid=\"stDataFrame\"]')",
        )
        page.get_by_role("tab", name="Step by step").click()
        page.wait_for_function(IDLE)
    return found


def table(found: dict[str, list[float]], target_s: float) -> None:
    """Print a row for each kind: median, worst, and whether the median keeps to the target."""
    for name, times in found.items():
        middle, worst = statistics.median(times), max(times)
        kept = "" if middle <= target_s else f"   over {target_s:g} s"
        print(f"  {name:<26}{middle:>8.3f} s{worst:>9.3f} s{kept}")


def main() -> None:
    """Measure and print."""
    operators = int(sys.argv[1]) if len(sys.argv) > 1 else OPERATORS
    data = model(operators)
    with watched("Page latency") as given:
        if given is None:
            return
        browser, url, _ = given
        page = browser.new_page(viewport={"width": 1280, "height": 950}, reduced_motion="reduce")
        page.set_default_timeout(30_000)
        page.goto(f"{url}/models")
        page.wait_for_function(IDLE)
        begin = time.perf_counter()
        upload(page, data, operators)
        uploaded = time.perf_counter() - begin
        page.evaluate(PREPARE)
        token = page.url.split("?")[-1]
        clicks = rounds(page)
        page.close()
        starts = {
            f"cold page: {p}": [cold(browser, url, p, token) for _ in range(COLD)]
            for p in ("models", "contraction")
        }
    print(f"{operators:,} operators; upload to drawn graph {uploaded:.2f} s")
    print(f"  {'':<26}{'median':>10}{'worst of':>11} {REPEATS} (cold pages: {COLD})")
    table(starts, COLD_S)
    table(clicks, CLICK_S)


if __name__ == "__main__":
    main()
