"""The app under Streamlit's own test runner, always through app.py as a browser would."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from nona.ui.session.workspace import jobs

APP = Path(__file__).resolve().parents[2] / "app.py"
Open = Callable[[str], AppTest]


def new_session() -> AppTest:
    """The app as a new visitor would find it, before anything has run."""
    return AppTest.from_file(str(APP), default_timeout=60)


def go(at: AppTest, name: str) -> AppTest:
    """Switch to a page; nothing may break on the way."""
    at.switch_page(f"pages/{name}.py").run()
    assert not at.exception, at.exception
    return at


def tab(at: AppTest, key: str, label: str) -> AppTest:
    """Open one of a page's tabs."""
    at.session_state[key] = label
    at.run()
    assert not at.exception, at.exception
    return at


def upload_model(at: AppTest, name: str, data: bytes) -> AppTest:
    """Upload a model file behind the button that names the model; nothing may break on the way."""
    at.session_state["model-open"] = True
    at.run()
    at.file_uploader(key="model-file").upload(name, data).run()
    assert not at.exception, at.exception
    return at


def metrics(at: AppTest) -> dict[str, str]:
    """Label → value of every tile on the page."""
    return {m.label: m.value for m in at.metric}


def until(condition: Callable[[], bool], seconds: float = 60) -> bool:
    """Wait until a condition holds; returns whether it did in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


def finish(at: AppTest, kind: str, seconds: float = 300) -> AppTest:
    """Wait for the session's job of that kind, then draw the page again.

    The wait ends with the job; its limit is for a job that never ends, not for a slow machine.
    """
    job = jobs().get(at.session_state["nona_state"].jobs[kind])
    end = time.monotonic() + seconds
    while job is not None and job.unfinished and time.monotonic() < end:
        job.touch()
        time.sleep(0.05)
    assert job is None or not job.unfinished, f"{kind}: not done after {seconds:g} s; {job.text}"
    at.run()
    assert not at.exception, at.exception
    return at


def open_demo(open_page: Open, name: str) -> AppTest:
    """The Overview with the demo scenario ``name`` opened."""
    at = open_page("1_overview")
    at.selectbox(key="demo").select(name).run()
    return at.button(key="open-demo").click().run()


def solve_demo(open_page: Open, name: str) -> AppTest:
    """The Placement page with the solved placement of the demo scenario ``name``."""
    at = go(open_demo(open_page, name), "6_placement")
    at.button(key="run-place").click().run()
    return finish(at, "place")
