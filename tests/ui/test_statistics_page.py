"""How sure the answers are, on the Simulation page: differences, withheld percentiles, precision, warm-up."""

from __future__ import annotations

from typing import Any

from app_driver import Open, finish

PAGE = "7_simulation"


def state_of(at: Any) -> Any:
    return at.session_state["nona_state"]


def open_tab(at: Any, name: str) -> None:
    at.session_state["result-tabs"] = name
    at.run()
    assert not at.exception, at.exception


def test_differences_warmup_and_precision_on_the_page(open_page: Open) -> None:
    at = open_page(PAGE)
    state = state_of(at)
    state.edit(("schedulers",), ["local", "spread"])
    state.edit(("simulation", "jobs"), 150)
    at.run()
    next(s for s in at.selectbox if s.label == "Warm-up").select("MSER-5, on pilot runs").run()
    next(t for t in at.text_input if t.label == "Precision of the means").set_value("30 %").run()
    next(n for n in at.number_input if n.label == "Replications at most").set_value(12).run()
    spec = state.scenario.simulation
    assert (spec.warmup, spec.precision, spec.max_replications) == ("mser", 0.3, 12)
    at.button(key="run-simulate").click().run()
    finish(at, "simulate")
    report = state.results["simulate"].data.report
    assert report.precision.replications in (10, 11, 12)
    notes = next(c.value for c in at.caption if "Withheld" in c.value)
    assert "by MSER\\-5" in notes
    assert f"after {report.precision.replications} replications" in notes
    assert "p99 needs 1,000" in notes
    at.toggle(key="all-columns-results").set_value(True).run()
    results = next(d.value for d in at.dataframe if "mean JCT" in d.value)
    assert list(results["p99"]) == ["–", "–"]
    open_tab(at, "Over time")
    assert any(m.value.replace("\\", "").startswith("**Warm-up: ") for m in at.markdown)
    open_tab(at, "Compare")
    table = next(d.value for d in at.dataframe if "verdict" in d.value)
    assert list(table["scheduler"]) == ["spread"]
    assert list(table.columns)[:2] == ["scheduler", "verdict"], "what a narrow window shows first"
    slower = table["verdict"][0]
    next(s for s in at.selectbox if s.label == "Baseline scheduler").select("spread").run()
    table = next(d.value for d in at.dataframe if "verdict" in d.value)
    assert list(table["scheduler"]) == ["local"]
    opposite = {"slower": "faster", "faster": "slower"}
    assert table["verdict"][0] == opposite.get(slower, slower)


def test_a_bad_precision_is_told_beside_its_field(open_page: Open) -> None:
    at = open_page(PAGE)
    field = next(t for t in at.text_input if t.label == "Precision of the means")
    field.set_value("3").run()
    assert any("0.5" in e.value for e in at.error)
    assert state_of(at).scenario.simulation.precision is None
