"""What is typed or chosen anywhere is found again: after a walk over all pages, and after a reload."""

from typing import Any

import pytest
from app_driver import APP, adopt, changed, go, new_session, put, run, state_of
from sizes import first

from nona.app.session.kept import LONGEST, MOST, remember
from nona.app.session.share import Shared, pack
from nona.app.session.state import AppState
from nona.app.session.workspace import jobs

PAGES = [p.stem for p in sorted((APP.parent / "pages").glob("*.py"))]
EVERY_DAY = ("models", "placement", "runs", "scenario")
KINDS = (
    *("text_input", "text_area", "number_input", "selectbox", "multiselect", "slider", "select_slider"),
    *("toggle", "checkbox", "radio", "button_group"),
)
# Without its part the page only offers to add it.
PARTS = {
    "serverless": ("serverless", {"slo_factor": 1.0}),
    "plan": ("plan", {"offers": ["l4"]}),
    "training": ("training", {"generate": {"jobs": 9}}),
}


def prepared():
    """A session in which every page has something to show."""
    at = adopt(new_session().run(), schedulers=["least-loaded", "random", "expert"])
    for page, kind in (("placement", "place"), ("simulation", "simulate")):
        run(go(at, page), kind)
    return at


@pytest.fixture(scope="module")
def session():
    yield prepared()
    jobs().close()


def widgets(at):
    """All fields of the page: by key where it is their own, else by kind and label."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        for number, w in enumerate(at.get(kind)):
            label = f"{kind} {w.label} {number}" if not w.key or any(c.isdigit() for c in w.key) else w.key
            found[label] = w
    return found


def other_value(w):
    """A valid value that is not the present one; ``None`` if there is none."""
    kind = w.type
    if isinstance(w.value, list):
        return list(w.value)[:-1] or None
    if kind in ("selectbox", "radio", "select_slider", "button_group"):
        options = [o for o in w.options if o != w.value]
        return options[0] if options and isinstance(options[0], str) else None
    if kind in ("toggle", "checkbox"):
        return not w.value
    if kind in ("slider", "number_input"):
        step = getattr(w, "step", None) or 1
        if w.value is None:  # an empty field
            return w.min + step
        return w.value + step if w.max is None or w.value + step <= w.max else w.value - step
    return "40 us"


def shown(at):
    return {name: w.value for name, w in widgets(at).items()}


def reloaded(at):
    fresh = new_session()
    fresh.session_state["nona_token"] = at.session_state["nona_token"]
    return fresh.run()


def save_a_run(at):
    """Without a saved item there is nothing to find and nothing to tick."""
    assert state_of(at).edit(("simulation", "jobs"), 60)
    run(go(at, "simulation"), "simulate")
    name = f"save-name-{state_of(at).runs.kept[-1].number}"
    at.text_input(key=name).set_value("40 us")  # what the test looks for on the page
    at.button(key="save-simulation").click().run()


@pytest.mark.parametrize("page", first(len(EVERY_DAY), sorted(PAGES, key=lambda page: page not in EVERY_DAY)))
def test_every_field_of_a_page_keeps_its_value(session, page, tmp_path, monkeypatch):
    monkeypatch.setenv("NONA_STORE", str(tmp_path))
    if page in PARTS:
        part, value = PARTS[page]
        assert state_of(session).edit((part,), value)
    if page == "runs":
        session = prepared()  # what the other pages' tests typed need not run
        save_a_run(session)
    at = go(session, page)
    if page == "evidence":
        put(at, "evidence-tabs", "Simulator")  # the tab with a choice of its own that is kept
    changed = {}
    for name in list(widgets(at)):
        w = widgets(at).get(name)
        value = None if w is None or w.disabled else other_value(w)
        if value is None:
            continue
        w.set_value(value).run()
        after = widgets(at).get(name)
        if after is not None:
            changed[name] = after.value
    before = shown(at)
    own = page not in ("home", "imported")  # "imported" without files: its fields come with their questions
    assert len(changed) >= 1 + own  # the scenario's name, and something of the page's own
    for other in (PAGES[0], PAGES[3], page):
        go(at, other)
    assert shown(at) == before
    assert shown(go(reloaded(at), page)) == before


def test_a_link_brings_choices_along_and_nothing_else_and_what_is_kept_is_bounded(monkeypatch):
    no = {"run-simulate": True, "nona_state": "x", "device-name": "typed", "effort": "no"}
    given = {"result-model": "all", **no}
    at = new_session()
    at.query_params["s"] = pack(Shared(changed(), given))
    at.run()
    assert state_of(at).kept["result-model"] == "all"
    assert not {"run-simulate", "nona_state", "device-name"} & state_of(at).kept.keys()
    for page in ("simulation", "evidence"):
        go(at, page)  # a choice that is none falls back on the default
    state, held = AppState(), {f"symbol:{i}": i for i in range(MOST + 50)}
    held["guide-find"] = "x" * (LONGEST + 1)
    monkeypatch.setattr("nona.app.session.kept.st", type("Web", (), {"session_state": held}))
    remember(state)
    assert len(state.kept) == MOST
    assert "guide-find" not in state.kept
