"""The response of a placement: exact where all is idle, right for forks, monotone, and as simulated."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from placement_helpers import query, random_system, slides, system
from sizes import examples

from nona.errors import PlacementError
from nona.placement.fixed import local_placement, spread_placement
from nona.placement.prediction import predict
from nona.placement.response.equilibrium import predict_response
from nona.placement.response.times import Response
from nona.schedulers.registry import get_scheduler
from nona.schedulers.sampling_tables import build_tables
from nona.simulation.intervals import mean_interval
from nona.simulation.run import RunOptions, simulate_run
from nona.system import Arrivals, Stream, System
from nona.topology import make_topology


def wide(seed: int, **more: object) -> System:
    """Random fork-joins on a link that can carry them all."""
    return random_system(seed, capacity=2e4, **more)


def spread(made: System, **more: int) -> Response:
    return predict_response(made, spread_placement(made).queries, **more)


def test_an_idle_system_takes_what_the_slides_say() -> None:
    made = system(replace(slides(1.0), arrivals=Arrivals("deterministic")), servers=3)
    assert predict_response(made, local_placement(made).queries).mix.times_s == pytest.approx(0.022)
    assert spread(made).mix.times_s == pytest.approx(0.032)


@pytest.mark.parametrize("seed", range(4))
def test_an_idle_system_takes_what_the_simulator_says(seed: int) -> None:
    """One job at a time: every job takes the same, to the last digit but rounding."""
    busy = wide(seed, latency_s=1e-4)
    for q in busy.queries:
        idle = replace(busy, queries=(replace(q, rate=1.0, arrivals=Arrivals("deterministic")),))
        for placed in (local_placement(idle).queries, spread_placement(idle).queries):
            prepared = build_tables(idle, placed)
            run = simulate_run(idle, get_scheduler("nona"), prepared, RunOptions(jobs=20, warmup=0))
            found = predict_response(idle, placed, samples=64).mix
            assert found.times_s == pytest.approx(run.completion_time_s.mean(), rel=1e-9)
            assert found.error_s == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("load", [0.4, 0.8])
def test_a_fork_takes_the_longer_of_two_random_waits(load: float) -> None:
    """Two sources and two ends on servers of their own: max of two exponential times, 1.5/(μ − λ)."""
    servers = 200
    fork = query([1.0, 1.0], [], load * servers / 2, service_scv=1.0)
    made = system(fork, servers=servers)
    times = spread(made, samples=4096).mix
    assert times.mean_s == pytest.approx(1.5 / (1 - load), rel=0.03)
    for level in (0.5, 0.95):
        exact = -math.log(1 - math.sqrt(level)) / (1 - load)
        assert times.quantile_s(level) == pytest.approx(exact, rel=0.06)
    assert predict(made, spread_placement(made).queries).jct_s < 0.75 * times.mean_s


@examples(8)
@given(seed=st.integers(0, 1000), low=st.floats(0.1, 0.4), step=st.floats(0.15, 0.4))
def test_more_load_takes_longer(seed: int, low: float, step: float) -> None:
    def mean(load: float) -> float:
        return spread(wide(seed, load=load), samples=512).mix.mean_s

    assert mean(low) < mean(low + step)


CASES = {
    "spread": lambda: wide(1, load=0.6, network=0.3),
    "few servers": lambda: wide(2, load=0.6, servers=3),
    "draws": lambda: _with(wide(3, load=0.5), service_scv=0.5),
    "bursts": lambda: _with(wide(4, load=0.4), arrivals=Arrivals("gamma", cv=2.0)),
    "two classes": lambda: wide(5, load=0.3, classes=2),
    "shared link": lambda: wide(6, load=0.4, network=0.4, discipline="processor-sharing"),
    "cards and racks": lambda: _racks(wide(7, load=0.4, network=0.2)),
}


def _with(made: System, **changes: object) -> System:
    return replace(made, queries=tuple(replace(q, **changes) for q in made.queries))


def _racks(made: System) -> System:
    links = make_topology(made.servers, made.capacity, made.capacity / 4, 4, made.capacity / 2)
    return replace(made, topology=links)


@pytest.mark.parametrize("name", CASES)
def test_the_response_is_as_simulated(name: str) -> None:
    """Mean within 10 % and 95th percentile within 15 % of the ends of the simulation's interval."""
    made = CASES[name]()
    placed = spread_placement(made).queries
    prepared, scheduler = build_tables(made, placed), get_scheduler("nona")
    runs = [
        simulate_run(made, scheduler, prepared, RunOptions(jobs=2500, replication=r)).completion_time_s
        for r in range(4)
    ]
    found = predict_response(made, placed).mix
    for bound, predicted, values in (
        (0.10, found.mean_s, [np.nanmean(r) for r in runs]),
        (0.15, found.quantile_s(0.95), [np.nanquantile(r, 0.95) for r in runs]),
    ):
        seen = mean_interval(values)
        assert (1 - bound) * seen.low <= predicted <= (1 + bound) * seen.high


def test_the_same_seed_gives_the_same_numbers() -> None:
    made = wide(8)
    a, b, c = spread(made), spread(made), spread(made, seed=1)
    assert (a.mix.times_s == b.mix.times_s).all()
    assert a.mix.mean_s != c.mix.mean_s
    assert a.mix.mean_s == pytest.approx(c.mix.mean_s, abs=6 * (a.mix.error_s + c.mix.error_s))


def test_quantiles_misses_and_the_mix_fit_together() -> None:
    made = wide(9)
    found = spread(made)
    median = [q.quantile_s(0.5) for q in found.queries]
    assert found.miss(median) == pytest.approx([0.5, 0.5], abs=0.01)
    assert found.miss([None, 0.0]) == (None, 1.0)
    weights = np.array([q.rate for q in made.queries]) / made.total_rate
    assert found.mix.mean_s == pytest.approx(weights @ [q.mean_s for q in found.queries])


def test_shares_send_jobs_to_the_class_they_name() -> None:
    made = wide(10, load=0.1, classes=2)
    quick = predict_response(made, local_placement(made).queries, shares=np.array([[1.0, 0.0]] * 2))
    slow = predict_response(made, local_placement(made).queries, shares=np.array([[0.0, 1.0]] * 2))
    assert slow.mix.mean_s > 1.5 * quick.mix.mean_s
    assert quick.compute_utilization[1] == 0.0


def test_an_overloaded_link_is_waited_for_without_end() -> None:
    made = random_system(11, load=0.5, capacity=1.0)
    found = spread(made)
    assert found.link_utilization > 1
    assert found.mix.mean_s == math.inf
    assert math.isfinite(predict_response(made, local_placement(made).queries).mix.mean_s)


def test_what_cannot_be_predicted_is_refused_in_one_line() -> None:
    made = random_system(12)
    placed = local_placement(made).queries
    with pytest.raises(PlacementError, match="samples=3 must be at least 64"):
        predict_response(made, placed, samples=3)
    with pytest.raises(PlacementError, match="must lie between 0 and 1"):
        predict_response(made, placed).mix.quantile_s(1.5)
    full = replace(made, background_compute=Stream(200.0, 0.01))
    with pytest.raises(PlacementError):
        predict_response(full, placed)
