"""The queueing prediction against the simulation, on the shipped scenarios.

Where at least 0.4 of the sub-graphs run locally, or nothing is split at all, the prediction is within
10 % (plus the simulation's own 99.9 % half-width); spreading everything is known to be predicted low.
"""

from __future__ import annotations

import pytest

from nona.scenario.file import load_scenario
from nona.sources.samples import scenario_path
from nona.study.sweep_numbers import with_value
from nona.study.sweeps import SweptPoint, sweep

PATH = "background.network.utilization"


def points(name: str, levels: tuple[float, ...], schedulers: tuple[str, ...], jobs: int) -> list[SweptPoint]:
    scenario = load_scenario(scenario_path(name))
    scenario = with_value(with_value(scenario, "simulation.jobs", jobs), "simulation.replications", 3)
    return list(sweep(scenario, PATH, levels, schedulers))


@pytest.mark.parametrize("level", [0.0, 0.5, 0.9])
def test_five_models_of_the_paper_on_80_servers(level: float) -> None:
    for point in points("five_models_80_servers", (level,), ("nona", "local"), jobs=4000):
        mean = point.summary.jct.mean
        assert point.summary.state == "stable"
        assert point.predicted_s is not None
        assert abs(point.predicted_s - mean.mean) <= 0.1 * mean.mean + 2 * mean.half_width, point


def test_splitting_retreats_and_spreading_overloads_as_the_link_fills() -> None:
    idle, full = (
        {p.scheduler: p for p in points("background_sweep", (level,), ("nona", "local", "spread"), jobs=1500)}
        for level in (0.0, 0.9)
    )
    assert idle["nona"].predicted_s < idle["local"].predicted_s
    assert idle["nona"].predicted_s < full["nona"].predicted_s <= full["local"].predicted_s
    assert full["spread"].predicted_s is None
    assert full["spread"].summary.state == "overloaded"
    assert idle["spread"].error is not None


def test_a_sweep_reaches_any_place_of_the_scenario() -> None:
    scenario = load_scenario(scenario_path("slides_example"))
    scenario = with_value(with_value(scenario, "simulation.jobs", 50), "simulation.replications", 1)
    values = (8e9 / 8, 8e10 / 8)
    slow, fast = sweep(scenario, "cluster.network.capacity", values, ("spread",))
    assert slow.summary.jct.p50.mean == pytest.approx(32e-3)
    assert fast.summary.jct.p50.mean < slow.summary.jct.p50.mean
    assert (slow.value, fast.value) == values
