"""Every control says its effect, every chart and table says in words what it shows; on every page.

Buttons are excepted where they have a label: it is the effect. Text, tiles and links are no controls.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from app_driver import APP, finish, go, new_session, tab
from streamlit.testing.v1 import AppTest

import nona.ui.pages.placement as placement
import nona.ui.pages.plan as plan
import nona.ui.pages.serverless as serverless
import nona.ui.pages.simulation_result as simulation
import nona.ui.pages.training as training
import nona.ui.pages.validation as validation
from nona.ui.pages.placement import Working
from nona.ui.session.workspace import jobs

PAGES = sorted(p.stem for p in (APP.parent / "pages").glob("*.py"))
TEXT = {"title", "header", "subheader", "caption", "markdown", "metric", "page_link", "latex", "heading"}
BUTTONS = {"button", "download_button", "link_button"}


def elements(block: Any) -> Iterator[Any]:
    """Every element of a page, in order."""
    for child in block.children.values():
        if getattr(child, "children", None):
            yield from elements(child)
        elif getattr(child, "proto", None) is not None:
            yield child


def fields(element: Any) -> set[str]:
    descriptor = getattr(element.proto, "DESCRIPTOR", None)
    return {f.name for f in descriptor.fields} if descriptor else set()


def silent(at: AppTest) -> list[str]:
    """Controls without help, and charts or tables without words."""
    found = []
    for element in [*elements(at.main), *elements(at.sidebar)]:
        known, label = fields(element), str(getattr(element.proto, "label", ""))
        says = element.type in TEXT or (element.type in BUTTONS and bool(label.strip()))
        if "help" in known and not says and not element.proto.help:
            found.append(f"no help: {element.type} {label!r}")
        if "alt" in known and not element.proto.alt:
            found.append(f"no alt: {element.type} {getattr(element.proto, 'id', '')[-60:]}")
    return found


TABS = {
    "6_placement": {"placement-tabs": list(placement.TABS)},
    "7_simulation": {"result-tabs": list(simulation.TABS)},
    "8_plan": {"plan-tabs": list(plan.TABS)},
    "9_serverless": {"serverless-tabs": list(serverless.TABS)},
    "10_training": {"training-tabs": list(training.TABS)},
    "12_validation": {"validation-tabs": list(validation.TABS)},
}


def fill(at: AppTest) -> None:
    """Bring out what pages show only in some scenarios: slices, racks, bursts, drawn services, devices."""
    state = at.session_state["nona_state"]
    assert state.edit(("cluster", "devices"), {"mine": {"base": "t4"}})
    groups = [{"count": 4, "mig": "3g.20gb, 3g.20gb"}, {"count": 4, "mps": 2}]
    state.replace_list(("cluster", "servers"), groups)
    network = {"capacity": "40 Gbit/s", "nic": "10 Gbit/s", "racks": {"size": 4, "uplink": "20 Gbit/s"}}
    assert state.edit(("cluster", "network"), network)
    rows = [
        {"model": "googlenet", "rate": "100/s", "slo": "8 ms", "arrivals": {"process": process}}
        for process in ("gamma", "mmpp")
    ]
    state.replace_list(("workload",), rows)
    state.replace_list(("schedulers",), ["nona", "local", "expert"])
    assert state.edit(("simulation", "jobs"), 60)
    assert state.edit(("simulation", "replications"), 2)
    part = {"policies": ["esg", "fixed"], "sharing": {"mode": "mps"}, "slo_factor": 2.0}
    assert state.edit(("serverless",), part)
    state.choices.keep(Working(True))
    offers = [{"gpu": "l4"}, {"gpu": "a30", "mig": "2g.12gb, 2g.12gb"}]
    question = {"offers": offers, "links": [{"capacity": "40 Gbit/s"}], "growth": "8%/month", "hit": 0.5}
    assert state.edit(("plan",), {**question, "mixed": False, "replications": 8, "schedulers": ["local"]})


@pytest.fixture(scope="module")
def filled() -> Iterator[AppTest]:
    """A session with a scenario that uses everything, and the results of all its jobs."""
    at = new_session().run()
    fill(at)
    for page, kind in (
        ("6_placement", "place"),
        ("7_simulation", "simulate"),
        ("8_plan", "plan"),
        ("9_serverless", "serverless"),
    ):
        run(at, page, kind)
    yield at
    jobs().close()


@pytest.fixture(scope="module")
def trained() -> Iterator[AppTest]:
    """A session with training jobs, which take whole GPUs, and what became of them."""
    at = new_session().run()
    state = at.session_state["nona_state"]
    long = [{"name": n, "steps": 2000, "throughputs": {"a100-40gb": 5}} for n in ("one", "two")]
    assert state.edit(("training",), {"jobs": long, "policies": ["fifo", "isolated"]})
    run(at, "10_training", "training")
    yield at
    jobs().close()


def run(at: AppTest, page: str, kind: str) -> None:
    go(at, page)
    at.button(key=f"run-{kind}").click().run()
    finish(at, kind)
    assert kind in at.session_state["nona_state"].results


@pytest.mark.parametrize("page", PAGES)
def test_every_control_and_chart_of_a_fresh_session_explains_itself(page: str) -> None:
    at = go(new_session().run(), page)
    seen = [e.type for e in elements(at.main)]
    assert seen
    assert silent(at) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_control_and_chart_explains_itself_with_results(
    page: str, request: pytest.FixtureRequest
) -> None:
    at = go(request.getfixturevalue("trained" if page == "10_training" else "filled"), page)
    assert silent(at) == []
    for key, names in TABS.get(page, {}).items():
        for name in names:
            assert silent(tab(at, key, name)) == []
    if page in ("6_placement", "7_simulation"):
        assert [e for e in elements(at.main) if "alt" in fields(e)]


def test_the_walk_sees_what_is_missing(tmp_path: Path) -> None:
    page = tmp_path / "page.py"
    page.write_text(
        "import streamlit as st\n"
        "with st.container(), st.expander('x'):\n"
        "    st.slider('bare', 0, 1)\n"
        "    st.slider('told', 0, 1, help='moves')\n"
        "    st.dataframe({'a': [1]})\n"
        "    st.button('Go')\n",
        encoding="utf-8",
    )
    found = silent(AppTest.from_file(str(page)).run())
    assert len(found) == 2
    assert found[0] == "no help: slider 'bare'"
    assert found[1].startswith("no alt: ")
