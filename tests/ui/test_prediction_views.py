"""The map on the Validation page, and the response with its warning on the Placement page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app_driver import Open, solve_demo, tab

from nona.report.placements.text import response_finding
from nona.report.studies.prediction_map import findings, title
from nona.study.shipped import shipped_map


def shown(at: Any) -> str:
    return "\n".join(m.value.replace("\\", "") for m in at.markdown)


def test_the_map_is_on_the_validation_page_with_its_findings(open_page: Open) -> None:
    at = tab(open_page("12_validation"), "validation-tabs", "Prediction")
    data = shipped_map()
    assert title(data) in shown(at)
    assert findings(data)[0] in shown(at)
    frames = [d.value for d in at.dataframe]
    assert any("Mean within 10 %" in f for f in frames)
    points = next(f for f in frames if "mean simulated" in f)
    assert len(points) == len(data.points)
    at.segmented_control(key="map-measure").set_value("p95_s").run()
    assert title(data, "p95_s") in shown(at)


def test_the_placement_page_shows_percentiles_misses_and_the_warning(open_page: Open) -> None:
    at = solve_demo(open_page, "slides_example")
    state = at.session_state["nona_state"]
    held = state.results["place"]
    response = held.data.nona.response
    assert response_finding(response) in shown(at)
    table = next(d.value for d in at.dataframe if "95th percentile" in d.value)
    assert list(table["95th percentile"]) == ["14 ms"]
    assert not [w for w in at.warning if "simulate" in w.value]
    warned = response.model_copy(update={"warning": "Outside what was tested: simulate."})
    nona = held.data.nona.model_copy(update={"response": warned})
    state.results["place"] = replace(held, data=held.data.model_copy(update={"nona": nona}))
    at.run()
    assert any("Outside what was tested" in w.value for w in at.warning)
