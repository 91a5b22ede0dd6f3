"""Names that are Markdown or HTML: every page shows them as text, nowhere as a link, a picture or a tag."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from app_driver import APP, Open, finish, go, tab
from streamlit.testing.v1 import AppTest

from nona.scenario.file import scenario_from_mapping
from nona.scenario.schema import Scenario

EVIL = (
    "[a](http://evil.example)![x](http://evil.example/x.png)"
    "<img src=http://evil.example onerror=1>$x$**b**`c`"
)
DEVICE = EVIL.replace("/", "")  # a device's name has none
# Also addresses: Streamlit links them even where their signs are escaped.
LIVE = re.compile(r"(?<!\\)\]\(http:|(?<!\\)<img|\$x(?<!\\)\$|(?<!\\)\*\*b(?<!\\)\*\*|https?\\?://")
MARKDOWN = ("body", "label", "help", "text", "caption", "captions")
PLAIN_OPTIONS = ("Selectbox", "Multiselect")  # the browser shows their options as they are
PAGES = sorted(path.stem for path in (APP.parent / "pages").glob("*.py"))
Parts = Mapping[str, Any]
SERVERLESS: Parts = MappingProxyType(
    {
        "cluster": {"servers": [{"count": 2, "gpu": "a100-40gb"}]},
        "simulation": {"jobs": 60, "replications": 2},
        "serverless": {
            "models": "tasks",
            "slo_factor": 5,
            "functions": {EVIL: {"gpu": {"per_query": 0.01}, "source": EVIL}},
            "configurations": {"batch": [1, 2], "vcpus": [1], "vgpus": [1, 7]},
            "policies": ["esg", "fixed"],
        },
        "models": {
            EVIL: {
                "nodes": [{"id": f"{EVIL}{i}", "compute_ms": 9, "function": EVIL} for i in range(2)],
                "edges": [{"source": f"{EVIL}0", "target": f"{EVIL}1", "bytes": 1000}],
            }
        },
    }
)
PLAN: Parts = MappingProxyType(
    {
        "simulation": {"jobs": 60, "replications": 2},
        "plan": {
            "offers": [{"gpu": DEVICE, "price": 1}],
            "prices": {"currency": EVIL[:40]},
            "targets": {EVIL: {"p99": "10 s"}},
            "most": 8,
            "replications": 8,
        },
    }
)
TRAINING: Parts = MappingProxyType(
    {
        "cluster": {"servers": [{"count": 2, "gpu": "v100"}, {"count": 2, "gpu": "k80"}]},
        "simulation": {"jobs": 100, "replications": 2},
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
)
NODES = [{"id": f"{EVIL}{i}", "compute_ms": 1.0 + i} for i in range(3)]
EDGES = [{"source": f"{EVIL}0", "target": f"{EVIL}{i}", "bytes": 1000} for i in (1, 2)]


def hostile(parts: Parts = MappingProxyType({})) -> Scenario:
    """A scenario in which every name is hostile, with further ``parts``."""
    return scenario_from_mapping(
        {
            "version": 1,
            "name": EVIL,
            "models": {EVIL: {"nodes": NODES, "edges": EDGES}},
            "cluster": {"servers": [{"count": 2, "gpu": DEVICE}], "devices": {DEVICE: {"base": "t4"}}},
            "workload": [
                {"model": EVIL, "name": EVIL, "rate": "5/s", "slo": "1 s"},
                {"model": EVIL, "rate": "2/s"},
            ],
            "simulation": {"jobs": 100, "replications": 2},
            "schedulers": ["nona", "local"],
            **parts,
        }
    )


def blocks(node: Any) -> Iterator[Any]:
    yield node
    for child in getattr(node, "children", {}).values():
        yield from blocks(child)


def live(at: AppTest) -> list[str]:
    """What the page gives to be drawn as Markdown or HTML and that holds an unescaped part of the name."""
    found = []
    for element in [*blocks(at.main), *blocks(at.sidebar)]:
        kind, proto = type(element).__name__, getattr(element, "proto", None)
        fields = MARKDOWN if kind in PLAIN_OPTIONS else (*MARKDOWN, "options")
        for field in fields:
            held = getattr(proto, field, ())
            texts = [held] if isinstance(held, str) else [getattr(h, "content", h) for h in held]
            found += [f"{kind}.{field}: {t}" for t in texts if isinstance(t, str) and LIVE.search(t)]
    return found


def test_the_search_finds_what_is_not_escaped() -> None:
    at = AppTest.from_string(f"import streamlit as st\nst.caption({EVIL!r})\nst.expander({EVIL!r})").run()
    assert len(live(at)) == 2


@pytest.fixture
def opened(open_page: Open) -> AppTest:
    """The Overview of a session; what it opens is up to the test."""
    return open_page("1_overview")


def take(at: AppTest, scenario: Scenario) -> None:
    """Make it the session's scenario."""
    state = at.session_state["nona_state"]
    state.adopt(scenario)
    state.show_first_model()


@pytest.mark.parametrize("parts", [{}, SERVERLESS, TRAINING], ids=["queries", "serverless", "training"])
def test_every_page_shows_names_as_text(opened: AppTest, parts: Parts) -> None:
    take(opened, hostile(parts))
    assert [found for page in PAGES for found in live(go(opened, page))] == []


class Case(NamedTuple):
    """A job: its page, the tabs there, the one that starts it, and the mode of the page."""

    page: str
    kind: str
    tabs: str
    start: str = ""
    view: str = ""
    parts: Parts = MappingProxyType({})


CASES = (
    Case("6_placement", "place", "placement-tabs"),
    Case("6_placement", "capacity", "placement-tabs", "How many servers"),
    Case("7_simulation", "simulate", "result-tabs"),
    Case("7_simulation", "sweep", "", view="Sweep"),
    Case("8_plan", "plan", "plan-tabs", parts=PLAN),
    Case("9_serverless", "serverless", "serverless-tabs", parts=SERVERLESS),
    Case("9_serverless", "serverless-sharing", "serverless-tabs", "Sharing", parts=SERVERLESS),
    Case("9_serverless", "serverless-nodes", "serverless-tabs", "Nodes", parts=SERVERLESS),
    Case("9_serverless", "serverless-over", "serverless-tabs", "Until what load?", parts=SERVERLESS),
    Case("9_serverless", "serverless-schedulers", "serverless-tabs", "DAG schedulers", parts=SERVERLESS),
    Case("10_training", "training", "training-tabs", parts=TRAINING),
    Case("10_training", "training-one-more", "training-tabs", "One more GPU", parts=TRAINING),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_results_show_names_as_text(opened: AppTest, case: Case) -> None:
    take(opened, hostile(case.parts))
    if case.view:
        opened.session_state["simulation-view"] = case.view
    go(opened, case.page)
    labels = [each.label for each in opened.tabs]
    if case.start:
        tab(opened, case.tabs, case.start)
    opened.button(key=f"run-{case.kind}").click().run()
    finish(opened, case.kind)
    state = opened.session_state["nona_state"]
    assert case.kind in state.results, state.notice
    labels = [each.label for each in opened.tabs] if case.tabs else []
    found = live(opened)
    for label in labels:
        found += live(tab(opened, case.tabs, label))
    assert found == []
