"""Names that are Markdown or HTML: every page shows them as text, nowhere as a link, a picture or a tag."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

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
LIVE = re.compile(r"(?<!\\)\]\(http:|(?<!\\)<img|\$x(?<!\\)\$|(?<!\\)\*\*b(?<!\\)\*\*")
MARKDOWN = ("body", "label", "help", "text", "caption", "captions")
PLAIN_OPTIONS = ("Selectbox", "Multiselect")  # the browser shows their options as they are
PAGES = sorted(path.stem for path in (APP.parent / "pages").glob("*.py"))
NODES = [{"id": f"{EVIL}{i}", "compute_ms": 1.0 + i} for i in range(3)]
EDGES = [{"source": f"{EVIL}0", "target": f"{EVIL}{i}", "bytes": 1000} for i in (1, 2)]


def hostile() -> Scenario:
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
    at = open_page("1_overview")
    state = at.session_state["nona_state"]
    state.adopt(hostile())
    state.show_first_model()
    return at


def test_every_page_shows_names_as_text(opened: AppTest) -> None:
    assert [found for page in PAGES for found in live(go(opened, page))] == []


@pytest.mark.parametrize(
    ("page", "kind", "tabs"),
    [("6_placement", "place", "placement-tabs"), ("7_simulation", "simulate", "result-tabs")],
)
def test_results_show_names_as_text(opened: AppTest, page: str, kind: str, tabs: str) -> None:
    go(opened, page)
    opened.button(key=f"run-{kind}").click().run()
    finish(opened, kind)
    assert kind in opened.session_state["nona_state"].results
    labels = [each.label for each in opened.tabs]
    assert labels
    found = live(opened)
    for label in labels:
        found += live(tab(opened, tabs, label))
    assert found == []
