"""Live charts are fed with sums that equal those over the jobs one by one, in whatever pieces they come."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.report.simulations.live import BINS, LiveSeries, Stretches, bin_edge_s
from nona.results.simulation_charts import LiveLine
from nona.simulation.collected import UNKNOWN, Busy, Progress


def progress(arrival: list[float], jct: list[float], query: list[int] | None = None, busy=(0.5, 0.25)):
    at = np.array(arrival)
    classes = np.array(query or [0] * len(at), dtype=np.int64)
    loads = Busy(np.array([busy[0] - 0.1, busy[0] + 0.1]), np.array([busy[1], 0.0])) if busy else UNKNOWN
    return Progress(0.5, classes, at, at + np.array(jct), loads)


@examples(80)
@given(
    st.lists(st.tuples(st.floats(0, 1e4), st.floats(1e-3, 10)), min_size=1, max_size=200),
    st.integers(1, 20).map(lambda n: 2 * n),
    st.integers(1, 7),
)
def test_means_over_stretches_are_those_of_the_values_in_them(jobs, most, pieces) -> None:
    stretches = Stretches(most)
    for part in np.array_split(np.array(jobs), pieces):
        stretches.add(part[:, 0], part[:, 1])
    at, means = stretches.means()
    assert 0 < len(at) <= most
    values = np.array(jobs)
    place = ((values[:, 0] - stretches.begin_s) / stretches.width_s).astype(int).clip(0, most - 1)
    for middle, mean in zip(at, means, strict=True):
        number = round(middle / stretches.width_s - 0.5)
        assert mean == pytest.approx(values[place == number, 1].mean())


def test_the_same_jobs_give_the_same_sums_in_one_piece_and_in_many() -> None:
    rng = np.random.default_rng(5)
    arrival, jct = np.cumsum(rng.exponential(1.0, 400)), rng.exponential(0.03, 400)
    query = rng.integers(0, 2, 400)
    slo = [0.02, None]
    whole, parts = LiveSeries(slo), LiveSeries(slo)
    whole.add("a", 1, progress(arrival.tolist(), jct.tolist(), query.tolist()))
    for k in range(0, 400, 37):
        s = slice(k, k + 37)
        parts.add("a", 1, progress(arrival[s].tolist(), jct[s].tolist(), query[s].tolist()))
    one, many = whole.snapshot()["a"], parts.snapshot()["a"]
    assert one.mean_s == pytest.approx(many.mean_s)
    assert one == many.model_copy(update={"mean_s": one.mean_s})
    assert one.hit_rate == np.mean(jct[query == 0] <= 0.02)
    assert whole.jobs == sum(one.counts) == 400


@examples(80)
@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=50))
def test_every_completion_time_lies_in_its_bin(times: list[float]) -> None:
    live = LiveSeries()
    live.add("a", 0, progress([0.0] * len(times), times))
    found = live.snapshot()["a"]
    below = 0
    for k, number in enumerate(found.counts):
        right = bin_edge_s(found.first + k + 1)
        below += number
        if found.first + k + 1 < BINS:
            exact = sum(t < right * (1 + 1e-9) for t in times), sum(t < right * (1 - 1e-9) for t in times)
            assert exact[1] <= below <= exact[0]
    assert below == len(times)


def test_the_line_is_that_of_the_first_replication_and_loads_are_averaged() -> None:
    live = LiveSeries([1.0])
    live.add("a", 0, progress([5.0, 6.0, 7.0], [0.25] * 3, busy=(0.2, 0.1)))
    live.add("a", 1, progress([5.0, 9.0], [2.0] * 2, busy=(0.4, 0.3)))
    found = live.snapshot()["a"]
    assert found.jct_s == (0.25,) * len(found.t)
    assert found.busy == pytest.approx([0.3, 0.2])
    assert (found.jobs, found.hit_rate) == (5, 0.6)
    assert LiveLine.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_without_an_slo_or_a_load_there_is_none() -> None:
    live = LiveSeries([None])
    live.add("a", 0, progress([1.0], [0.1], busy=None))
    live.add("b", 0, progress([], []))
    assert list(live.snapshot()) == ["a"]
    assert live.snapshot()["a"].hit_rate is None
    assert live.snapshot()["a"].busy is None
    assert live.loads(("link",)) == {}


def test_each_executor_and_link_has_its_load_averaged_over_replications() -> None:
    live = LiveSeries([1.0])
    live.add("a", 0, progress([5.0], [0.25], busy=(0.2, 0.1)))
    live.add("a", 1, progress([5.0], [2.0], busy=(0.4, 0.3)))
    found = live.loads(("core", "server 0 out"))["a"]
    assert found.executors == pytest.approx((0.2, 0.4))
    assert [(x.link, x.utilization) for x in found.each_link] == [("core", 0.2), ("server 0 out", 0.0)]
    assert found.link == pytest.approx(0.2)
