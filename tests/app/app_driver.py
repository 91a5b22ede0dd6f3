"""The app under Streamlit's own test runner, always through app.py as a browser would."""

from __future__ import annotations

import json
import time
from pathlib import Path

from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.testing.v1 import AppTest

from nona.app.session.state import AppState
from nona.app.session.workspace import jobs
from nona.scenario.sample_files import scenario_families
from tests.core.filled import changed

APP = Path(__file__).resolve().parents[2] / "app.py"


def new_session():
    """The app as a new visitor would find it, before anything has run."""
    return AppTest.from_file(str(APP), default_timeout=300)


def state_of(at) -> AppState:
    """The session's state."""
    return at.session_state["nona_state"]


def go(at, *names):
    """Switch to pages, one after the other; nothing may break on the way."""
    for name in names:
        at.switch_page(f"pages/{name}.py").run()
    return at


def put(at, key, value):
    """Open one of a page's tabs, or set what else the browser keeps, and draw the page."""
    at.session_state[key] = value
    return at.run()


def edit(at, path, value):
    """Edit the scenario as a field would, and draw the page."""
    state_of(at).edit(path, value)
    return at.run()


def upload_model(at, name, data):
    """Upload a model file behind the button that names the model; nothing may break on the way."""
    put(at, "model-open", True)
    return at.file_uploader(key="model-file").upload(name, data).run()


def choose_schedulers(at, *names):
    """Choose schedulers of the scenario, as the page does with what the browser sends."""
    assert at.session_state["nona_state"].edit(("schedulers",), list(names))
    return at.run()


def pickers(at):
    """What each choice of schedulers on the page was given, by its label."""
    drawn = [c.proto for c in at.get("bidi_component")]
    sent = [json.loads(p.json) for p in drawn if p.component_name.endswith("nona_schedulerpicker")]
    return {data["label"]: data for data in sent}


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
    job = jobs().get(state_of(at).jobs[kind])

    def ended():
        job.mark_watched()
        return not job.unfinished

    assert job is None or until(ended, seconds), f"{kind}: not done after {seconds:g} s; {job.text}"
    return at.run()


def open_demo(open_page, name):
    """The page of the example ``name`` opened."""
    at = open_page("home")
    family = next(family for family, names in scenario_families().items() if name in names)
    return put(at, "examples", family).button(key=f"open-{name}").click().run()


def solve_demo(open_page, name):
    """The Placement page with the solved placement of the demo scenario ``name``."""
    at = go(open_demo(open_page, name), "placement")
    run(at, "place")
    return at


def adopt(at, name_="slides_example", /, **changes):
    """Make a shipped scenario the session's own; the slides' example is small and placed by formula."""
    if name_ == "slides_example":
        small = {"simulation": {"jobs": 60, "replications": 3}, "objective": "formula"}
        changes = {**small, "schedulers": ["nona", "local", "spread"], **changes}
    state_of(at).adopt(changed(name_, **changes))
    return at.run()


def run(at, kind):
    """Press the button that starts the work, wait for its end; what came of it."""
    at.button(key=f"run-{kind}").click().run()
    finish(at, kind)
    found = state_of(at).results.get(kind)
    return found and found.data


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
    """The first table with that column, as it is shown."""
    return shown(next(d for d in at.dataframe if column in d.value))


def shown(dataframe):
    """A table's texts, of numbers without one the numbers themselves."""
    texts = dataframe.proto.arrow_data.styler.display_values
    if not texts:
        return dataframe.value
    frame = convert_arrow_bytes_to_pandas_df(texts).set_axis(dataframe.value.columns, axis=1)
    return frame.set_axis(dataframe.value.index)
