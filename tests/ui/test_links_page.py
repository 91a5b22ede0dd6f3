"""Cards and racks in the browser: chosen, edited, refused, drawn."""

from __future__ import annotations

from app_driver import Open

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
    table = next(d.value for d in at.dataframe if "how many" in d.value)
    assert table["link"].tolist() == ["server out", "rack up", "core", "rack down", "server in"]
    assert table["how many"].tolist() == ["8", "4", "1", "4", "8"]
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
