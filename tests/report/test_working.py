"""The working: every line, recomputed from its inputs, equals what the prediction itself says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from nona.placement.fixed import local_placement, spread_placement
from nona.placement.result import Placement
from nona.placement.sampled.judge import certificate_of
from nona.placement.solve import solve
from nona.report.placements.text import congestion_finding
from nona.report.placements.working import working
from nona.results.placement import CongestionCurve, Working
from nona.scenario.file import load_scenario, scenario_from_mapping
from nona.scenario.schema import Scenario
from nona.sources.samples import scenario_path
from nona.study.link_load import background_of, congestion_curve, with_background
from nona.study.preparation import prepare
from nona.study.simulation import place
from nona.system import System

MIX = {
    "version": 1,
    "cluster": {"servers": [{"count": 4}, {"count": 2, "mig": "3g.20gb, 3g.20gb"}]},
    "background": {"compute": {"utilization": 0.1}, "network": {"utilization": 0.3}},
    "workload": [
        {"model": "googlenet", "rate": "400/s", "service_scv": 0.5},
        {"model": "slides_example", "rate": "20/s"},
    ],
}


def systems() -> dict[str, Scenario]:
    shared = {**MIX, "cluster": {**MIX["cluster"], "network": {"discipline": "processor-sharing"}}}  # type: ignore[dict-item]
    return {
        "slides": load_scenario(scenario_path("slides_example")),
        "mix": scenario_from_mapping(MIX),
        "shared": scenario_from_mapping(shared),
        "racks": load_scenario(scenario_path("racks_and_nics")).model_copy(update={"objective": "formula"}),
    }


@pytest.fixture(scope="module", params=["slides", "mix", "shared", "racks"])
def solved(request: pytest.FixtureRequest) -> tuple[System, Placement, tuple[str, ...]]:
    scenario = systems()[request.param]
    study = prepare(scenario)
    return study.system, place(study), scenario.labels


def values(found: Working) -> dict[str, float]:
    """Key → value; what has no finite value is infinite."""
    return {line.key: math.inf if line.value is None else line.value for line in found.lines}


def test_every_line_equals_the_solvers_own_value(solved: tuple[System, Placement, tuple[str, ...]]) -> None:
    system, placement, names = solved
    found, p = working(system, placement, names), placement.prediction
    told = values(found)
    assert told["link_utilization"] == pytest.approx(p.network_utilization, rel=1e-12)
    if system.discipline == "fifo":
        assert told["link_wait"] == pytest.approx(p.network_wait_s, rel=1e-12)
    else:
        assert told["link_wait"] == pytest.approx(p.network_utilization / (1 - p.network_utilization))
    for link in p.links if len(p.links) > 1 else ():
        assert told[f"link_utilization:{link.name}"] == pytest.approx(link.utilization, rel=1e-12)
        assert told[f"link_wait:{link.name}"] == pytest.approx(link.wait_s, rel=1e-12)
    assert told["server_wait"] == pytest.approx(p.server_wait_s, rel=1e-12)
    per_class = [told[f"utilization:{k}"] for k in system.class_names]
    assert np.dot(per_class, system.class_weights) == pytest.approx(p.compute_utilization, rel=1e-12)
    assert told["objective"] == pytest.approx(p.jct_s, rel=1e-12)
    assert told["gap"] == pytest.approx(certificate_of(placement).gap, rel=1e-6, abs=1e-12)
    assert told["price"] == pytest.approx(p.congestion_price_s_per_byte, rel=1e-9)
    for name, predicted in zip(names, p.queries, strict=True):
        model = found.models[name]
        assert model.lines[0].value == pytest.approx(predicted.jct_s, rel=1e-12)
        for subgraph in model.subgraphs:
            assert sum(c.probability for c in subgraph.configurations) == pytest.approx(1)


@pytest.mark.parametrize("fixed", [local_placement, spread_placement])
def test_fixed_placements_add_up_too(fixed: Any, solved: tuple[System, Placement, tuple[str, ...]]) -> None:
    system, _, names = solved
    placement = fixed(system)
    told = values(working(system, placement, names))
    assert told["objective"] == pytest.approx(placement.objective_s, rel=1e-12)
    assert told["server_wait"] == pytest.approx(placement.prediction.server_wait_s, rel=1e-12)
    assert "gap" not in told
    if fixed is local_placement:
        assert told["price"] == 0.0


def test_formulas_are_filled_with_numbers(solved: tuple[System, Placement, tuple[str, ...]]) -> None:
    found = working(*solved)
    for line in found.lines:
        assert "=" in line.filled
        assert any(c.isdigit() for c in line.filled)
        assert line.filled.count("{") == line.filled.count("}")
        assert "nan" not in line.filled


def test_congestion_rises_to_where_splitting_stops_paying() -> None:
    study = prepare(systems()["slides"])
    optimum = solve(study.system)
    curve = congestion_curve(study.system, points=6)
    assert curve.points[0].background == curve.now == background_of(study.system)
    assert curve.points[0].nona_s == pytest.approx(optimum.objective_s, rel=2e-3)
    for point in curve.points:
        again = with_background(study.system, point.background)
        assert background_of(again) == pytest.approx(point.background)
        assert point.local_s == pytest.approx(local_placement(again).objective_s)
        assert point.nona_s is not None
        assert point.local_s is not None
        assert point.nona_s <= point.local_s * (1 + 2e-3)
    nona = [p.nona_s for p in curve.points if p.nona_s is not None]
    assert nona == sorted(nona)
    assert curve.stops is None or curve.now <= curve.stops <= 1


def test_a_system_that_never_splits_says_so_at_once() -> None:
    scenario = scenario_from_mapping({**MIX, "workload": [{"model": "vgg16", "rate": "20/s"}]})
    study = prepare(scenario)
    curve = congestion_curve(study.system, points=3)
    assert curve.stops == curve.now


def test_the_finding_says_where_splitting_stops_paying() -> None:
    found = CongestionCurve(points=(), now=0.3, stops=0.96)
    assert "stops paying when the background uses 96" in congestion_finding(found)
    assert "to saturation" in congestion_finding(found.model_copy(update={"stops": None}))
    assert "does not pay" in congestion_finding(found.model_copy(update={"stops": 0.3}))
