"""Browser tests: the app in a server of its own, Chromium or Chrome, and no way out to the network."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import begun
import pytest
from browser_tools import ARTIFACTS, ROOT, new_context, wait_idle

from nona.app.session.opening import VARIABLE

# Without nona-live, which rehearses for seconds before each run.
BEGUN = {**begun.BEGUN, "schedulers": ["nona", "least-loaded", "spark-fair", "local", "spread"]}
READY_S = 300  # a slow machine is no error
FLAGS = [
    *("--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run"),
    *("--disable-component-update", "--disable-domain-reliability", "--disable-sync"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


def _missing(why):
    if os.environ.get("NONA_REQUIRE_BROWSER") == "1":
        pytest.fail(f"browser tests are required here, but {why}", pytrace=False)
    pytest.skip(f"browser tests skipped: {why}")


def _browser_path():
    """The machine's Chromium or Chrome; Playwright's own (fetched if need be) is ``None``."""
    named = os.environ.get("CHROMIUM")
    if named and not shutil.which(named):
        _missing(f"CHROMIUM={named} is not a program")
    usual = ("chromium", "chromium-browser", "google-chrome")
    found = named or next(filter(None, map(shutil.which, usual)), None)
    if found:
        return found
    try:
        command = [sys.executable, "-m", "playwright", "install", "chromium"]
        subprocess.run(command, check=True, capture_output=True, timeout=180)
    except (subprocess.SubprocessError, OSError):
        _missing("no chromium or google-chrome is installed and none could be fetched")
    return None


@pytest.fixture(scope="session")
def app_url(tmp_path_factory):
    """The address of a server that runs the app; its log must stay free of tracebacks."""
    port = free_port()
    log = tmp_path_factory.mktemp("server") / "server.log"
    server = start_server(port, log)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
    text = log.read_text()
    assert not re.search(r"Traceback|Uncaught app", text), text


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def start_server(port, log):
    """A server that is ready; what it keeps lies beside its log."""
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    first = log.with_name("begun.yaml")
    first.write_text(json.dumps(BEGUN), encoding="utf-8")
    environment = {**os.environ, "NONA_DATA_DIR": str(log.parent / "data"), VARIABLE: str(first)}
    command += ["--server.headless", "true"]
    with log.open("a") as out:
        kept = {"stdout": out, "stderr": subprocess.STDOUT}
        server = subprocess.Popen(command, cwd=ROOT, env=environment, **kept)
    try:
        _wait_for(f"http://127.0.0.1:{port}", server, log)
    except BaseException:
        server.kill()
        raise
    return server


class OwnApp:
    """A server that a test may kill, and a page of a browser on it."""

    def __init__(self, context, folder):
        self.context, self.folder = context, folder
        self.log, self.port = folder / "server.log", free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.server = start_server(self.port, self.log)
        self.page = context.new_page()

    def kill(self):
        """Kill −9."""
        self.server.kill()
        self.server.wait()

    def kill_and_start_again(self):
        """Kill −9, then another server at the same address and on the same folder."""
        self.kill()
        self.server = start_server(self.port, self.log)


@pytest.fixture
def own_app(chromium, tmp_path):
    """The app in a server of the test's own, its page opened; the log must stay free of tracebacks."""
    context = new_context(chromium, reduced_motion="reduce")
    own = OwnApp(context, tmp_path)
    try:
        own.page.goto(own.url)
        wait_idle(own.page)
        yield own
    finally:
        own.kill()
        context.close()
    assert "Traceback" not in own.log.read_text()


def _wait_for(url, server, log):
    end = time.monotonic() + READY_S
    while time.monotonic() < end:
        if server.poll() is not None:
            pytest.fail("the server died:\n" + log.read_text())
        try:
            with urllib.request.urlopen(url + "/_stcore/health", timeout=1) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"the server was not ready in {READY_S} s:\n" + log.read_text())


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests."""
    playwright = pytest.importorskip("playwright.sync_api", reason="browser tests skipped: no playwright")
    path = _browser_path()
    with playwright.sync_playwright() as pw:
        browser = pw.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def _is_error(message):
    """Streamlit's own search for the server below a page's path ends in a 404, which is no error."""
    probed = str(message.location.get("url", "")).endswith(("/_stcore/host-config", "/_stcore/health"))
    return bool(message.type == "error" and not probed)


@pytest.fixture(scope="session")
def app_context(chromium):
    """One context for all tests: what a page has fetched and compiled serves those after it.

    No request is routed, which would turn that cache off.
    """
    context = new_context(chromium, reduced_motion="reduce", accept_downloads=True)
    context.tracing.start()
    yield context
    context.close()


@pytest.fixture
def page(app_context, app_url, request):
    """A page of the app in a session of its own; fails on console errors and on requests to elsewhere.

    The parameter is a colour scheme, or a scheme with a width of the window. What happens is recorded,
    to be replayed with ``playwright show-trace``.
    """
    given = getattr(request, "param", "light")
    scheme, width = (given, 1360) if isinstance(given, str) else given
    outside, problems = [], []
    own = (app_url, app_url.replace("http", "ws"), "data:", "blob:")
    app_context.clear_cookies()
    app_context.tracing.start_chunk(title=request.node.name)
    page = app_context.new_page()
    page.set_viewport_size({"width": width, "height": 950})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.on("request", lambda asked: asked.url.startswith(own) or outside.append(asked.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda m: problems.append(f"{m.text} {m.location}") if _is_error(m) else None)
    page.goto(app_url)
    wait_idle(page)
    yield page
    ARTIFACTS.mkdir(exist_ok=True)
    name = re.sub("[^a-z0-9]+", "-", request.node.name)
    page.screenshot(path=ARTIFACTS / f"{name}-end.png")
    app_context.tracing.stop_chunk(path=ARTIFACTS / f"{name}.zip")
    page.evaluate("() => localStorage.clear()")
    for opened in app_context.pages:
        opened.close()
    assert not outside, outside
    assert not problems, problems
