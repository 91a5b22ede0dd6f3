"""The app under Streamlit's own test runner, always through app.py as a browser would."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.sources.samples import scenario_path
from nona.ui.session.state import AppState
from nona.ui.session.workspace import jobs

APP = Path(__file__).resolve().parents[2] / "app.py"
Open = Callable[[str], AppTest]


def new_session():
    """The app as a new visitor would find it, before anything has run."""
    return AppTest.from_file(str(APP), default_timeout=300)


def state_of(at):
    """The session's state."""
    state: AppState = at.session_state["nona_state"]
    return state


def go(at, name):
    """Switch to a page; nothing may break on the way."""
    at.switch_page(f"pages/{name}.py").run()
    return at


def tab(at, key, label):
    """Open one of a page's tabs."""
    at.session_state[key] = label
    at.run()
    return at


def upload_model(at, name, data):
    """Upload a model file behind the button that names the model; nothing may break on the way."""
    at.session_state["model-open"] = True
    at.run()
    at.file_uploader(key="model-file").upload(name, data).run()
    return at


def choose_schedulers(at, *names):
    """Choose schedulers of the scenario, as the page does with what the browser sends."""
    assert at.session_state["nona_state"].edit(("schedulers",), list(names))
    return at.run()


def pickers(at):
    """What each choice of schedulers on the page was given, by its label."""
    sent = [json.loads(c.proto.json) for c in at.get("bidi_component") if _is_picker(c)]
    return {data["label"]: data for data in sent}


def _is_picker(component):
    return str(component.proto.component_name).endswith("nona_schedulerpicker")


def end_jobs():
    """End what a test left running.

    Its workers are asked to stop and not killed: others would take seconds to start.
    """
    registry = jobs()
    for job_id in list(registry._jobs):
        registry.supersede(job_id)


def metrics(at):
    """Label → value of every tile on the page."""
    return {m.label: m.value for m in at.metric}


def job_of(at, kind):
    """The session's job of that kind."""
    job = jobs().get(state_of(at).jobs[kind])
    assert job is not None
    return job


def until(condition, seconds=300):
    """Wait until a condition holds; returns whether it did in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


def finish(at, kind, seconds=300):
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
    return at


def open_demo(open_page, name):
    """The Overview with the demo scenario ``name`` opened."""
    at = open_page("1_overview")
    at.selectbox(key="demo").select(name).run()
    return at.button(key="open-demo").click().run()


def solve_demo(open_page, name):
    """The Placement page with the solved placement of the demo scenario ``name``."""
    at = go(open_demo(open_page, name), "6_placement")
    run(at, "place")
    return at


def adopt(at, name="slides_example", **changes):
    """Make a shipped scenario the session's own; the slides' example is small and placed by formula."""
    data = scenario_to_mapping(load_scenario(scenario_path(name)))
    if name == "slides_example":
        data |= {"simulation": {"jobs": 60, "replications": 3}, "objective": "formula"}
        data |= {"schedulers": ["nona", "local", "spread"]}
    state_of(at).adopt(scenario_from_mapping(data | changes))
    at.run()
    return at


def run(at, kind):
    """Press the button that starts the work, wait for its end; what came of it."""
    at.button(key=f"run-{kind}").click().run()
    finish(at, kind)
    result = state_of(at).results.get(kind)
    return None if result is None else result.data


def said(elements):
    """What these elements say, without the signs that keep Markdown from reading them."""
    return "\n".join(str(e.value) for e in elements).replace("\\", "").replace("\N{NO-BREAK SPACE}", " ")


def named(elements, label):
    """The element whose label begins so."""
    return next(e for e in elements if e.label.startswith(label))


def sent(at, part):
    """What the page's component that knows of ``part`` was given."""
    data = (json.loads(c.proto.json) for c in at.get("bidi_component"))
    return next(d for d in data if part in d)


def table(at, column):
    """The first table with that column."""
    return next(d.value for d in at.dataframe if column in d.value)
