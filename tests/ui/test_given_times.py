"""Given times on the pages: the device that they hold for, factors for others, and a warning without one."""

from __future__ import annotations

from typing import Any

from app_driver import Open, go

FLOW = {"nodes": [{"id": "a", "compute_ms": 10.0, "kind": "MatMul"}, {"id": "b", "compute_ms": 5.0}]}


def state_of(at: Any) -> Any:
    return at.session_state["nona_state"]


def texts(elements: Any) -> str:
    return " ".join(e.value for e in elements).replace("\\", "")


def shown(at: Any, model: str) -> None:
    """Show a model on the page."""
    state_of(at).model = model
    at.run()


def field(elements: Any, start: str) -> Any:
    return next(e for e in elements if e.label.startswith(start))


def test_the_device_of_given_times_is_told_and_can_be_changed(open_page: Open) -> None:
    at = open_page("2_models")
    shown(at, "ensemble")
    field(at.selectbox, "Times on device").select("t4").run()
    assert "given on a100-40gb, modelled on t4" in texts(at.caption)
    field(at.text_input, "Time on t4").set_value("4").run()
    assert state_of(at).scenario.cost.given["ensemble"].factors == {"t4": 4.0}
    assert not at.exception
    assert "100 % given" in texts(at.caption)  # the factor is the user's own
    field(at.text_input, "Time on t4").set_value("many").run()
    assert "cost.given.ensemble.factors.t4" in texts(at.error)
    field(at.text_input, "Time on t4").set_value("").run()
    assert not at.error
    assert state_of(at).scenario.cost.given == {}
    shown(at, "slides_example")
    assert "given for any device, by definition" in texts(at.caption)
    shown(at, "resnet18")
    assert not any(e.label.startswith("Given times") for e in at.expander)


def test_times_without_a_device_are_warned_about_until_it_is_named(open_page: Open) -> None:
    at = open_page("2_models")
    state = state_of(at)
    state.edit(("models",), {"flow": FLOW})
    state.edit(("workload",), [{"model": "flow", "rate": "10/s"}, {"model": "ensemble", "rate": "1/s"}])
    state.edit(("cluster", "servers", 0, "mig"), "3g.20gb, 3g.20gb")
    go(at, "4_cluster")
    warned = texts(at.warning)
    assert "flow: 100 % of its time is the same on every GPU and slice" in warned
    assert "ensemble" not in warned
    assert "ensemble: its times are given on a100-40gb, modelled on a100-40gb/3g.20gb" in texts(at.caption)
    go(at, "2_models")
    shown(at, "flow")
    field(at.selectbox, "The times hold on").select("a100-40gb").run()
    assert state.scenario.cost.given["flow"].device == "a100-40gb"
    go(at, "4_cluster")
    assert "flow: 100 %" not in texts(at.warning)
    assert "flow: its times are given on a100-40gb, modelled on" in texts(at.caption)
