"""Cards and racks in the browser: chosen, edited, refused, drawn."""

from __future__ import annotations

import pytest
from app_driver import Open, solve_demo, tab

from nona.report.placements.figures import link_waits_figure
from nona.report.placements.text import link_finding
from nona.results.placement import PredictedLink
from nona.ui.session.state import AppState


def state_of(at: object) -> AppState:
    return at.session_state["nona_state"]  # type: ignore[attr-defined, no-any-return]


def field(at: object, label: str) -> object:
    return next(t for t in at.text_input if t.label == label)  # type: ignore[attr-defined]


def choose(at: object, links: str) -> None:
    at.segmented_control[0].set_value(links).run()  # type: ignore[attr-defined]
    assert not at.exception, at.exception  # type: ignore[attr-defined]


def test_cards_and_racks_reach_the_scenario_and_leave_it(open_page: Open) -> None:
    at = open_page("4_cluster")
    assert state_of(at).scenario.cluster.network.nic is None
    next(s for s in at.selectbox if s.label == "Discipline").set_value("shared equally").run()
    choose(at, "Cards and racks")
    network = state_of(at).scenario.cluster.network
    assert (network.nic, network.discipline) == (10e9 / 8, "fifo")
    assert network.racks is not None
    assert not [s for s in at.selectbox if s.label == "Discipline"]
    field(at, "Uplink of each rack").set_value("16 Gbit/s").run()  # type: ignore[attr-defined]
    next(n for n in at.number_input if n.label == "Servers per rack").set_value(2).run()
    racks = state_of(at).scenario.cluster.network.racks
    assert racks is not None
    assert (racks.size, racks.uplink) == (2, 2e9)
    table = next(d.value for d in at.dataframe if "number" in d.value)
    assert table["link"].tolist() == ["server out", "rack up", "core", "rack down", "server in"]
    assert table["number"].tolist() == ["8", "4", "1", "4", "8"]
    choose(at, "Cards")
    network = state_of(at).scenario.cluster.network
    assert (network.nic, network.racks) == (10e9 / 8, None)
    choose(at, "One link")
    assert state_of(at).scenario.cluster.network.nic is None


def test_a_wrong_card_is_refused_beside_its_field(open_page: Open) -> None:
    at = open_page("4_cluster")
    choose(at, "Cards")
    field(at, "Card of each server").set_value("10 apples").run()  # type: ignore[attr-defined]
    assert state_of(at).scenario.cluster.network.nic == 10e9 / 8
    assert any("is not a bandwidth" in e.value for e in at.error)


def test_placement_over_cards_and_racks_shows_where_messages_wait(open_page: Open) -> None:
    at = solve_demo(open_page, "racks_and_nics")
    tab(at, "placement-tabs", "Servers and links")
    links = state_of(at).results["place"].data.nona.predicted.links
    shown = "\n".join(m.value.replace("\\", "") for m in at.markdown)
    assert link_finding(links) in shown
    table = next(d.value for d in at.dataframe if "crossed by" in d.value)
    assert table["link"].tolist() == ["server out", "rack up", "core", "rack down", "server in"]
    bars = link_waits_figure(links).data[0].x
    assert sum(bars) == pytest.approx(1e3 * state_of(at).results["place"].data.nona.predicted.network_wait_s)


def test_one_link_has_no_section_of_its_own(open_page: Open) -> None:
    at = solve_demo(open_page, "slides_example")
    tab(at, "placement-tabs", "Servers and links")
    assert "Where messages wait" not in [s.value for s in at.subheader]
    (link,) = state_of(at).results["place"].data.nona.predicted.links
    assert (link.kind, link.share) == ("link", 1.0)


def test_finding_of_an_overloaded_link() -> None:
    core = PredictedLink(
        name="core", kind="core", links=1, share=1.0, capacity=1.0, utilization=1.2, wait_s=None
    )
    assert link_finding([core]).startswith("Bottleneck: core, 120.0 % busy: overloaded")
    idle = core.model_copy(update={"utilization": 0.0, "wait_s": 0.0})
    assert link_finding([idle]).endswith("messages do not wait")
