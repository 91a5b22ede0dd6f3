"""Replications until the means are precise enough: when it stops, what it says, and that it covers."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known_sequences import is_nominal
from simulation_cases import make_system, query, scheduler, task_graph
from sizes import examples

from nona.errors import SimulationError
from nona.simulation.intervals import mean_interval
from nona.simulation.replications import run_replications
from nona.simulation.run import RunOptions
from nona.simulation.summary import next_count, precision_of, relative_bound, run_to_precision


class Fake(NamedTuple):
    """As much of a record as the loop looks at."""

    value: float
    replication: int
    state: str = "stable"
    every: int = 1
    query: object = None

    @property
    def completion_time_s(self):
        return np.array([self.value])


class Source:
    """Replications with given means, that remembers what it was asked for."""

    def __init__(self, values, overloaded=()):
        self.values, self.overloaded, self.asked = values, overloaded, []

    def __call__(self, first, count):
        self.asked.append((first, count))
        state = {n: "overloaded" if n in self.overloaded else "stable" for n in self.values}
        return {
            n: tuple(Fake(v[r], r, state[n]) for r in range(first, first + count))
            for n, v in self.values.items()
        }


def noise(seed, cv, n=200):
    return np.random.default_rng(seed).normal(1.0, cv, n)


def test_it_stops_at_the_bound_and_not_before():
    source = Source({"a": noise(1, 0.2), "b": noise(2, 0.1)})
    records, found = run_to_precision(source, 0.05, at_most=200)
    assert found.not_reached == ()
    assert found.bound == pytest.approx(0.05 / 1.05)
    done = [sum(count for _, count in source.asked[: k + 1]) for k in range(len(source.asked))]
    assert done[0] == 10
    assert done[-1] == found.replications == len(records["a"]) == len(records["b"])
    assert [first for first, _ in source.asked] == [0, *done[:-1]]
    assert [r.replication for r in records["a"]] == list(range(done[-1]))
    for n in done:
        reached = all(mean_interval(v[:n]).relative <= found.bound for v in source.values.values())
        assert reached == (n == done[-1])


def test_what_was_not_reached_is_named():
    source = Source({"noisy": noise(3, 2.0), "calm": noise(4, 0.001)})
    records, found = run_to_precision(source, 0.02, at_most=25)
    assert found.not_reached == ("noisy",)
    assert found.replications == len(records["calm"]) == 25
    assert found.relative["noisy"] > found.bound > found.relative["calm"]


def test_overloaded_schedulers_are_not_waited_for():
    source = Source({"bad": noise(5, 3.0), "calm": noise(6, 0.01)}, overloaded=("bad",))
    _, found = run_to_precision(source, 0.05)
    assert source.asked == [(0, 10)]
    assert found.overloaded == ("bad",)
    assert found.not_reached == ()
    assert math.isnan(found.relative["bad"])


def test_a_scheduler_without_a_mean_is_not_precise():
    _, found = run_to_precision(Source({"none": np.full(30, math.nan)}), 0.05, at_most=20)
    assert found.not_reached == ("none",)
    assert found.replications == 20


@pytest.mark.parametrize(("at_least", "at_most", "first"), [(1, 64, 10), (15, 64, 15), (5, 4, 4)])
def test_the_first_look(at_least, at_most, first):
    source = Source({"a": noise(7, 0.001)})
    run_to_precision(source, 0.02, at_least, at_most)
    assert source.asked == [(0, first)]


@given(values=st.lists(st.floats(0.1, 10), min_size=2, max_size=30), most=st.integers(31, 100))
@examples(80)
def test_the_next_look_is_later_and_not_too_late(values, most):
    found = precision_of({"a": values}, 0.05, ())
    if found.not_reached:
        n = next_count(found, most)
        assert len(values) < n <= min(most, max(2 * len(values), len(values) + 1))


def test_the_interval_at_the_end_covers():
    random, experiments = np.random.default_rng(8), 400
    hits, counts = 0, []
    for _ in range(experiments):
        values = random.normal(1.0, 0.13, 100)
        _, found = run_to_precision(Source({"a": values}), 0.05, at_most=100)
        counts.append(found.replications)
        hits += mean_interval(values[: found.replications]).covers(1.0)
        assert found.not_reached == ()
    assert np.mean(counts) > 20
    assert is_nominal(hits, experiments, 0.94), hits  # looking early and often costs about a point


def test_a_bound_below_the_target_keeps_the_error_of_the_truth():
    # |x̄ − μ| ≤ bound·x̄ implies |x̄ − μ| ≤ target·μ
    for target in (0.01, 0.1, 0.5):
        bound = relative_bound(target)
        for mean in (1 / (1 + bound), 1 / (1 - bound)):
            assert abs(mean - 1) <= target * (1 + 1e-12)
    with pytest.raises(SimulationError, match="Precision"):
        relative_bound(0.0)


def _first(now, query, view, tables, uniforms, out):
    out[:] = 0


def test_it_runs_the_replications_that_a_fixed_number_would():
    system = make_system(query(task_graph([1.0]), rate=0.5, scv=1.0))
    chosen = [scheduler(_first)]
    options = RunOptions(jobs=60, warmup=10)

    def run(first, count):
        return run_replications(system, chosen, RunOptions(60, 10, replication=first), count)

    records, found = run_to_precision(run, 0.08, at_most=30)
    wanted = run_replications(system, chosen, options, found.replications)
    assert found.replications > 10
    for name, runs in records.items():
        assert [r.digest() for r in runs] == [r.digest() for r in wanted[name]]
