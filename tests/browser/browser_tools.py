"""Small steps that every browser test takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ARTIFACTS = ROOT / "test-artifacts"
IDLE = """() => { const a = document.querySelector('[data-testid="stApp"]');
  return a && a.dataset.testScriptState === 'notRunning' && a.dataset.testConnectionState === 'CONNECTED'
    && !document.querySelector('[data-testid="stSkeleton"], [data-stale="true"]') }"""


def wait_idle(page: Any, timeout: float = 30_000) -> None:
    """Until the script has run and everything is drawn."""
    page.wait_for_function(IDLE, timeout=timeout)


def open_page(page: Any, name: str) -> None:
    """Go to a page by its link in the side bar, and wait for its title."""
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True).click()
    page.get_by_role("heading", name=name, exact=True, level=1).wait_for()
    wait_idle(page)


def shot(page: Any, name: str) -> None:
    """Keep a picture of the window."""
    ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTIFACTS / f"{name}.png")
