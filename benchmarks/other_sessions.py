"""How long clicks of one session take while another opens a model of 20,000 operators.

The app runs in a server of its own. One window uploads the model on Models, opens Contraction with its tabs,
and has the model costed on another device; meanwhile another session goes back and forth between two pages.
This is measured twice: with a session that speaks Streamlit's protocol and draws nothing, whose click counts
from the request until the server has sent the whole page; and with a second window, whose click counts from
the press until the page stands, so that it holds what two browsers spend on drawing on the same cores.
Printed are seconds at rest and in each phase, and their ratio to those at rest. Before, without a browser,
how long a second thread of one interpreter waits while a model of that size is read, costed and contracted:
as the server does it (no full garbage collections, short turns), and as Python does by itself.

Run it with ``python -m benchmarks.other_sessions [OPERATORS]``; it needs Playwright and Chromium.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from urllib.parse import urlsplit

from benchmarks.app_server import IDLE, watched
from benchmarks.import_growth import model
from benchmarks.page_latency import DRAWN, PREPARE, WAIT
from benchmarks.visitor import Visitor
from nona.graph.readers import read_model
from nona.hardware.executor import executor_class
from nona.study.models import prepare_model
from nona.ui.models.loading import TURN_S, Tidying

OPERATORS, AT_REST, REPEATS, TARGET_S = 20_000, 12, 5, 0.3
BLOCK = 10  # operators; the model is made of whole blocks
PAGES = ("Validation", "Cluster")
Click = Callable[[int], float]  # the seconds of a click; the argument counts them
READY = f"() => window.graph && {DRAWN} && ({IDLE})()"


def page_of(turn: int) -> str:
    """The page that the click of that number asks for."""
    return PAGES[turn % len(PAGES)]


def click(page: Any, turn: int) -> float:
    """Seconds until the page after the next link stands."""
    name = page_of(turn)
    link = page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True)
    page.evaluate("() => { window.pressed = performance.now(); }")
    link.click()
    done = f"() => window.title() === '{name}' && window.state() === 'notRunning'"
    return float(page.evaluate(WAIT, done)) / 1000


def meanwhile(turn: Click, busy: Any, ready: str, most_s: float = 240) -> tuple[list[float], float]:
    """Clicks of another session until ``ready`` holds in ``busy``, and the seconds that took."""
    times: list[float] = []
    begin = time.perf_counter()
    while not busy.evaluate(ready) and time.perf_counter() - begin < most_s:
        times.append(turn(len(times)))
    return times, time.perf_counter() - begin


def phases(busy: Any, data: bytes, operators: int) -> dict[str, tuple[Callable[[], object], str]]:
    """What the busy session does, and what holds in its page when it is done."""
    file = {"name": "residual.onnx", "mimeType": "application/octet-stream", "buffer": data}
    count = f"{operators:,}"

    def upload() -> None:
        busy.get_by_role("button", name="Model: ").click()
        field = busy.get_by_test_id("stFileUploader").filter(has_text="Upload a model")
        field.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(file)

    def open_contraction() -> None:
        nav = busy.get_by_test_id("stSidebarNav")
        nav.get_by_role("link", name="Contraction", exact=True).click()

    def tab(name: str) -> Callable[[], object]:
        return lambda: busy.get_by_role("tab", name=name).click()

    def device() -> None:
        busy.get_by_role("button", name="Times: ").click()
        box = busy.get_by_role("combobox", name="Times on device")
        box.click()
        busy.get_by_role("option", name="t4", exact=True).click()

    drawn = f"() => ({READY})()"
    return {
        "upload and Models": (
            upload,
            f"() => window.text('{count}') && ({READY})()",
        ),
        "Contraction": (open_contraction, f"() => window.title() === 'Contraction' && ({READY})()"),
        "After: tasks": (tab("After: tasks"), drawn),
        "All steps": (
            tab("All steps"),
            f"() => !!document.querySelector('[data-testid=\"stDataFrame\"]') && ({IDLE})()",
        ),
        "another device": (device, f"() => ({IDLE})()"),
    }


def waits(work: Callable[[], object]) -> tuple[float, float]:
    """The longest wait of a thread that wants to run every millisecond while ``work`` runs; seconds of it.

    Both in processor seconds of this process, which other programs on the machine do not lengthen.
    """
    late: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            begin = time.process_time()
            time.sleep(1e-3)
            late.append(time.process_time() - begin)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.process_time()
    work()
    seconds = time.process_time() - begin
    done.set()
    thread.join()
    return max(late), seconds


def interpreter(data: bytes) -> None:
    """Print the waits with and without what the server does against them."""
    device = executor_class("a100-40gb")

    def make() -> object:
        return prepare_model(read_model(data, "residual.onnx"), (device,))

    kept = make()  # what another session has open: full collections walk over it as well
    for name, turn_s, around in (
        ("as Python does", sys.getswitchinterval(), nullcontext),
        ("as the server does", TURN_S, Tidying().working),
    ):
        usual = sys.getswitchinterval()
        sys.setswitchinterval(turn_s)
        with around():
            found = [waits(make) for _ in range(REPEATS)]
        sys.setswitchinterval(usual)
        longest = sorted(wait for wait, _ in found)
        print(
            f"  {name:<20}longest wait of another thread: median {statistics.median(longest):.3f} s, "
            f"worst {longest[-1]:.3f} s; the model takes {statistics.median(s for _, s in found):.2f} s"
        )
    del kept


def main() -> None:
    """Measure and print."""
    operators = int(sys.argv[1]) if len(sys.argv) > 1 else OPERATORS
    data = model(operators)
    print(f"{operators:,} operators are read, costed and contracted")
    interpreter(data)
    with watched("Other sessions") as given:
        if given is None:
            return
        browser, url, _ = given
        visitor = Visitor(urlsplit(url).port or 0)
        print("Clicks of another session, seconds until the server has answered")
        beside(window(browser, url), lambda turn: visitor.open(PAGES[turn % len(PAGES)].lower()), operators)
        visitor.close()
        other = window(browser, url, PAGES[0].lower())
        print("Clicks of another session, seconds until its browser has drawn the page")
        beside(window(browser, url), lambda turn: click(other, turn), operators + BLOCK)


def window(browser: Any, url: str, path: str = "models") -> Any:
    """A session of its own in the browser."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{url}/{path}")
    page.wait_for_function(IDLE)
    page.evaluate(PREPARE)
    return page


def beside(busy: Any, turn: Click, operators: int) -> None:
    """Clicks of another session at rest and in every phase of the busy window.

    The model must not be one that the server has read before: it keeps what it has prepared.
    """
    data = model(operators)
    for number in range(4):  # warms both pages
        turn(number)
    rest = [turn(number) for number in range(AT_REST)]
    show("at rest", rest, rest, 0.0)
    for name, (act, ready) in phases(busy, data, operators).items():
        act()
        busy.wait_for_timeout(20)
        times, seconds = meanwhile(turn, busy, ready)
        show(name, times, rest, seconds)
    busy.context.close()


def show(name: str, times: list[float], rest: list[float], seconds: float) -> None:
    """A row: clicks, median, worst, ratio of the medians, and how long the phase took."""
    if not times:
        print(f"  {name:<20} done before the first click")
        return
    middle, worst = statistics.median(times), max(times)
    over = sum(t > TARGET_S for t in times)
    print(
        f"  {name:<20}{len(times):>4} clicks  median {middle:.3f}  worst {worst:.3f}"
        f"  ratio {middle / statistics.median(rest):.2f}  over {TARGET_S} s: {over}  phase {seconds:.1f} s"
    )


if __name__ == "__main__":
    main()
