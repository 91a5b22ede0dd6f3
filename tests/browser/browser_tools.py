"""Small steps that every browser test takes."""

import re
from pathlib import Path

import pytest

from nona.scenario.file import parse_scenario, scenario_hash

ROOT = Path(__file__).resolve().parents[2]
ARTIFACTS = ROOT / "test-artifacts"
# How long a test waits for what comes at once, and for the end of a run; a slow machine is no error.
SOON_MS, RESULT_MS = 60_000, 300_000
LIST_MS = 15_000  # a list of options is there by then, or was shut
REST_MS = 120  # a click reaches the server a moment after it is made: only idleness that lasts counts
# Marks when the page last sent something to the server, and when something last came.
SOCKET = """() => { const send = WebSocket.prototype.send, seen = new WeakSet();
  window.sentAt = window.cameAt = 0;
  WebSocket.prototype.send = function (...what) {
    if (!seen.has(this)) {
      seen.add(this);
      this.addEventListener('message', () => { window.cameAt = performance.now() });
    }
    window.sentAt = performance.now();
    return send.apply(this, what) } }"""
UNANSWERED_MS = 10_000  # what is not answered by then asks for no answer
IDLE = """([rest, unanswered]) => { const a = document.querySelector('[data-testid="stApp"]');
  const answered = !(window.sentAt > window.cameAt) || performance.now() - window.sentAt > unanswered;
  const idle = a && answered && a.dataset.testScriptState === 'notRunning'
    && a.dataset.testConnectionState === 'CONNECTED'
    && !document.querySelector('[data-testid="stSkeleton"], [data-stale="true"]');
  if (!idle || !window.idleFrom) window.idleFrom = performance.now();
  return idle && performance.now() - window.idleFrom >= rest }"""


def new_context(browser, **options):
    """A context of the browser whose pages wait as long as all others, and can tell when they are idle."""
    context = browser.new_context(**{"viewport": {"width": 1360, "height": 950}, **options})
    context.set_default_timeout(SOON_MS)
    context.add_init_script(f"({SOCKET})()")
    return context


def wait_idle(page, timeout=SOON_MS):
    """Until the server has answered, the script has run, and everything is drawn."""
    page.evaluate("() => { window.idleFrom = 0 }")
    page.wait_for_function(IDLE, arg=[REST_MS, UNANSWERED_MS], timeout=timeout)


def open_page(page, name, idle=True):
    """Go to a page by its link in the side bar, opened first where it is folded away; wait for its title.

    Without ``idle`` it goes on at once: a page that shows a run live may never rest.
    """
    link = page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True)
    unfold = page.get_by_test_id("stExpandSidebarButton")
    unfold.evaluate_all("buttons => buttons.forEach(b => b.click())")  # at once: it may be gone by itself
    link.click()
    page.get_by_role("heading", name=name, exact=True, level=1).wait_for()
    if page.viewport_size["width"] < 768:
        page.get_by_test_id("stExpandSidebarButton").wait_for()  # it folds away by itself
    if idle:
        wait_idle(page)


def wait_titled(page, name):
    """Until the page of that title is drawn."""
    page.get_by_role("heading", name=name, exact=True, level=1).wait_for()
    wait_idle(page)


def fill_text(page, label, text):
    """Type into a text field and hand it on."""
    enter(page, page.get_by_role("textbox", name=label, exact=True), text)


def enter(page, field, text):
    """Type into this field and hand it on."""
    field.fill(text)
    field.press("Enter")
    wait_idle(page)


def downloaded(page, button):
    """What a download button gives, also one in the page's menu of downloads."""
    wanted = page.get_by_role("button", name=button, exact=True)
    if button.startswith("Save as "):
        open_file_menu(page)
    elif not wanted.count():
        page.get_by_role("button", name="Downloads").click(timeout=RESULT_MS)
    with page.expect_download() as download:
        wanted.click()
    page.keyboard.press("Escape")
    wait_idle(page)
    return Path(download.value.path()).read_bytes()


def assert_fits(page):
    """Nothing is wider than the window, but what scrolls by itself."""
    wide = page.evaluate(
        "() => { const m = document.querySelector('[data-testid=\"stMain\"]');"
        " return [document.documentElement.scrollWidth - innerWidth, m.scrollWidth - m.clientWidth] }"
    )
    assert max(wide) <= 1, wide


def choose(page, label, option):
    """Pick an option of a select box."""
    pick_option(page, label, option, option)


def pick_option(page, label, typed, name):
    """Type into a select box and pick; a script that ends meanwhile shuts the list, so it is opened again.

    A long list is drawn in part, so the option is looked for first.
    """
    timed_out = pytest.importorskip("playwright.sync_api").TimeoutError
    box = page.get_by_role("combobox", name=label).first
    option = page.get_by_role("option", name=name, exact=True)
    for left in range(3, -1, -1):
        box.scroll_into_view_if_needed()
        page.wait_for_timeout(300)
        box.click()
        box.press_sequentially(typed)
        try:
            option.click(timeout=LIST_MS)
            break
        except timed_out:
            if not left:
                raise
            page.keyboard.press("Escape")
            wait_idle(page)
    wait_idle(page)


def open_models(page):
    """Unfold the upload of models."""
    page.get_by_role("button", name="Upload", exact=True).first.click()
    page.get_by_test_id("stFileUploader").filter(has_text="Upload a model").wait_for()
    wait_idle(page)


def pick_model(page, name):
    """Pick a model on page Models."""
    pick_option(page, "Model", f"{name} ", re.compile(f"^{re.escape(name)} ·"))


def upload_model(page, name, data):
    """Upload a model file behind the button that names the model; the page may still be reading it."""
    open_models(page)
    field = page.get_by_test_id("stFileUploader").filter(has_text="Upload a model")
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": data}
    field.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(file)


def open_example(page, family, name):
    """Open a shipped scenario from Home."""
    page.get_by_role("tab", name=family, exact=True).click()
    page.locator(f".st-key-open-{name} button:visible").first.click()
    wait_idle(page)


def shot(page, name):
    """Keep a picture of the window."""
    ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTIFACTS / f"{name}.png")


def unfold_settings(page):
    """Open the line into which a page's settings fold once something was run."""
    page.locator("[class*=-controls-line] button:visible").first.click()
    wait_idle(page)


def fill_number(page, label, value):
    """Type a number into its field, which may be folded away, and hand it on."""
    field = page.get_by_role("spinbutton", name=label, exact=True).first
    if not field.count() or not field.is_visible():
        unfold_settings(page)
    enter(page, field, value)


def run_to_the_end(page):
    """Run the simulation and wait until its result stands."""
    page.get_by_role("button", name="Run the simulation").click()
    wait_for_the_end(page, "simulation")


def wait_for_the_end(page, of, live=None):
    """Until the work has begun (and something of it is seen live), and has ended."""
    cancel = page.get_by_role("button", name=f"Cancel {of}")
    cancel.wait_for()
    if live:
        page.locator(live).first.wait_for()
    cancel.wait_for(state="detached", timeout=RESULT_MS)
    wait_idle(page)


def open_file_menu(page):
    """Open the menu in the side bar with all that is done with the scenario as a file."""
    page.get_by_test_id("stSidebar").get_by_role("button", name="File", exact=True).click()
    page.get_by_role("button", name="New scenario").wait_for()
    wait_idle(page)


def scenario_mark(page):
    """The version of the scenario as it is."""
    return scenario_hash(parse_scenario(downloaded(page, "Save as YAML").decode()))


def share_link(page):
    """The address in the side bar that carries the scenario."""
    open_file_menu(page)
    code = page.get_by_test_id("stCode").filter(has_text="s=1.")
    code.wait_for()
    page.wait_for_function("e => /s=1\\.[\\w-]{40,}/.test(e.textContent)", arg=code.element_handle())
    return str(code.inner_text()).replace("\n", "").strip()
