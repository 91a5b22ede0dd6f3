"""Every page, fresh and with every result: no hostile name is live, controls and charts say what they are."""

from typing import NamedTuple

import pytest
from app_driver import APP, go, new_session, put, run, state_of
from page_checks import EVIL, live, silent

from nona.app.session.kept import is_kept
from nona.app.session.page_list import PAGES as LISTED
from nona.app.widgets.terms import ON_PAGES, term
from nona.scenario.file import scenario_from_mapping

PAGES = sorted(path.stem for path in (APP.parent / "pages").glob("*.py"))
DEVICE = EVIL.replace("/", "")  # a device's name has none
NODES = [{"id": f"{EVIL}{i}", "compute_ms": 1.0 + i} for i in range(3)]
EDGES = [{"source": f"{EVIL}0", "target": f"{EVIL}{i}", "bytes": 1000} for i in (1, 2)]
RACKS = {"size": 2, "uplink": "20 Gbit/s"}
# All that pages show only in some scenarios: slices, shares, racks, bursts, the expert's table.
QUERIES = {
    "models": {EVIL: {"nodes": NODES, "edges": EDGES}},
    "cluster": {
        "servers": [{"count": 2, "gpu": DEVICE}, {"count": 2, "mig": "3g.20gb, 3g.20gb"}],
        "devices": {DEVICE: {"base": "t4"}},
        "network": {"capacity": "40 Gbit/s", "nic": "10 Gbit/s", "racks": RACKS},
    },
    "workload": [
        {"model": EVIL, "name": EVIL, "rate": "5/s", "slo": "1 s", "arrivals": {"process": "gamma"}},
        {"model": EVIL, "rate": "2/s", "arrivals": {"process": "mmpp"}},
    ],
    "schedulers": ["nona", "local", "expert"],
    "objective": "formula",
}
# How jobs arrive stands on the page of the workload; what is predicted of bursts takes long.
ROWS = [{k: v for k, v in row.items() if k != "arrivals"} for row in QUERIES["workload"]]
STEADY = {**QUERIES, "workload": ROWS}
FEW = {
    **STEADY,
    "cluster": {"servers": [{"count": 2, "gpu": DEVICE, "mps": 2}], "devices": {DEVICE: {"base": "t4"}}},
    "schedulers": ["local", "spread"],
}
SERVERLESS = {
    **QUERIES,
    "cluster": {"servers": [{"count": 2, "gpu": "a100-40gb"}]},
    "serverless": {
        "models": "tasks",
        "slo_factor": 5,
        "functions": {EVIL: {"gpu": {"per_query": 0.01}, "source": EVIL}},
        "configurations": {"batch": [1, 2], "vcpus": [1], "vgpus": [1, 7]},
        "policies": ["esg", "fixed"],
        "sharing": {"mode": "mps"},
    },
    "models": {
        EVIL: {
            "nodes": [{"id": f"{EVIL}{i}", "compute_ms": 9, "function": EVIL} for i in range(2)],
            "edges": [{"source": f"{EVIL}0", "target": f"{EVIL}1", "bytes": 1000}],
        }
    },
    "schedulers": ["nona", "local"],
}
PLAN = {
    **QUERIES,
    "plan": {
        "offers": [{"gpu": DEVICE, "price": 1}, {"gpu": "a30", "mig": "2g.12gb, 2g.12gb"}],
        "growth": "8%/month",
        "hit": 0.5,
        "mixed": False,
        "schedulers": ["local"],
        "prices": {"currency": EVIL[:40]},
        "targets": {EVIL: {"p99": "10 s"}},
        "most": 8,
        "replications": 8,
    },
}
TRAINING = {
    "cluster": {"servers": [{"count": 2, "gpu": "v100"}, {"count": 2, "gpu": "k80"}]},
    "training": {
        "jobs": [
            {"name": f"{EVIL}{i}", "steps": 1e5, "model": "A3C", "entity": EVIL, "region": f"{EVIL}{i}"}
            for i in range(2)
        ],
        "entities": {EVIL: {}},
        "regions": {"groups": {f"{EVIL}{i}": [i] for i in range(2)}},
        "estimates": {},
        "policies": ["max-min-fairness", "fifo"],
    },
}


def opened(parts):
    """A session whose scenario has hostile names everywhere."""
    at = new_session().run()
    small = {"jobs": 60, "replications": 2}
    state_of(at).adopt(scenario_from_mapping({"version": 1, "name": EVIL, "simulation": small, **parts}))
    state_of(at).show_first_model()
    state_of(at).kept["working-on"] = True
    return at


def wrong(at):
    return live(at) + silent(at)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_of_a_fresh_session_opens_and_explains_itself(page):
    at = go(new_session().run(), page)
    assert at.title[0].value
    assert silent(at) == []
    if page == "evidence":
        tabs = [tab.label for tab in at.tabs]
        assert {"Times", "Published claims"} <= set(tabs)
        assert [w for name in tabs for w in silent(put(at, "evidence-tabs", name))] == []
    buttons = [e.key for kind in ("button", "download_button", "file_uploader") for e in at.get(kind)]
    assert not [key for key in buttons if key and is_kept(key)], "no button is ever put back"
    title = LISTED[page].title
    said = " ".join(c.value for c in at.caption)
    assert all(term(known) in said for known in ON_PAGES.get(title, ()))


@pytest.mark.parametrize("parts", [QUERIES, SERVERLESS, TRAINING], ids=["queries", "serverless", "training"])
def test_every_page_shows_names_as_text(open_page, parts):
    at = opened(parts)
    assert [found for page in PAGES for found in wrong(go(at, page))] == []
    assert wrong(put(go(at, "simulation"), "simulation-view", "Sweep")) == []


class Case(NamedTuple):
    """A job: its page, the tabs there, the one that starts it, and the mode of the page."""

    page: str
    kind: str
    tabs: str
    start: str = ""
    view: str = ""
    parts: dict = STEADY


CASES = (
    Case("placement", "place", "place-tabs"),
    Case("simulation", "simulate", "simulate-tabs"),
    Case("simulation", "sweep", "", view="Sweep", parts=FEW),
    Case("plan", "plan", "plan-tabs", parts=PLAN),
    Case("serverless", "serverless", "serverless-tabs", parts=SERVERLESS),
    Case("serverless", "serverless-sharing", "serverless-tabs", "Sharing", parts=SERVERLESS),
    Case("serverless", "serverless-nodes", "serverless-tabs", "Nodes", parts=SERVERLESS),
    Case("serverless", "serverless-over", "serverless-tabs", "Up to what load?", parts=SERVERLESS),
    Case("training", "training", "training-tabs", parts=TRAINING),
    Case("training", "training-one-more", "training-tabs", "One more GPU", parts=TRAINING),
)
LONG = (
    "serverless-over",
    "serverless-nodes",
    "serverless-sharing",
    "training-one-more",
    "sweep",
)


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=[pytest.mark.verify] * (c.kind in LONG), id=c.kind) for c in CASES]
)
def test_results_show_names_as_text_and_explain_themselves(open_page, case):
    at = opened(case.parts)
    if case.view:
        at.session_state["simulation-view"] = case.view
    go(at, case.page)
    if case.start:
        run(at, {"placement": "place", "training": "training"}.get(case.page, "serverless"))
        put(at, case.tabs, case.start)
    assert run(at, case.kind) is not None, state_of(at).notice
    found = wrong(at)
    labels = [each.label for each in at.tabs] if case.tabs else []
    for label in labels:
        found += wrong(put(at, case.tabs, label))
        assert [t.label for t in at.tabs if t.children] == [label], "only the open tab is drawn"
    assert found == []
