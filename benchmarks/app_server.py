"""A server of the app for benchmarks that look at it through a browser."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FLAGS = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
IDLE = """() => { const a = document.querySelector('[data-testid="stApp"]');
  return a && a.dataset.testScriptState === 'notRunning' && a.dataset.testConnectionState === 'CONNECTED'
    && !document.querySelector('[data-testid="stSkeleton"], [data-stale="true"]') }"""


@contextmanager
def server(**environment: str) -> Iterator[tuple[str, int]]:
    """The address of a server that runs the app, and the number of its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [*command, "--server.headless", "true"],
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
        )
        url = f"http://127.0.0.1:{port}"
        try:
            while not _healthy(url):
                if process.poll() is not None:
                    raise RuntimeError("the server ended before it answered")
                time.sleep(0.1)
            yield url, process.pid
        finally:
            process.terminate()
            process.wait(20)


@contextmanager
def watched(what: str) -> Iterator[tuple[Any, str, int] | None]:
    """A browser, the address of a server of the app, the number of its process.

    ``None`` where Playwright is not installed, which is said of ``what``.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print(f"{what}: skipped, as Playwright is not installed.")
        yield None
        return
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with server() as (url, process), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser, url, process
        browser.close()


def open_page(page: Any, name: str) -> None:
    """Go to a page by its link in the side bar, and wait until it stands."""
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True).click()
    page.get_by_role("heading", name=name, exact=True, level=1).wait_for()
    page.wait_for_function(IDLE)


def open_demo(page: Any, title: str) -> None:
    """Open a demo scenario; a select box shuts when the page still scrolls under it."""
    box = page.get_by_role("combobox", name="Demo scenario").first
    box.scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    box.click()
    page.get_by_role("option", name=title, exact=True).click()
    page.wait_for_function(IDLE)
    page.get_by_role("button", name="Open this scenario").click()
    page.wait_for_function(IDLE)


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(url + "/_stcore/health", timeout=1) as answer:
            return bool(answer.read() == b"ok")
    except OSError:
        return False
