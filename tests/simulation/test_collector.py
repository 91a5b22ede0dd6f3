"""The collector: chunking does not matter, nothing is lost, and what it keeps is bounded."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from simulation_cases import make_system, query, task_graph
from sizes import examples

from nona.errors import SimulationError
from nona.simulation.collected import PARTS, Collected, Collector
from nona.simulation.records import pieces
from nona.simulation.sizes import RunSize
from nona.system import System

ONE = task_graph([1.0])


class Jobs(NamedTuple):
    """A run: what each job brings, and how it is measured."""

    query: np.ndarray
    arrival_s: np.ndarray
    completion_s: np.ndarray
    parts_s: np.ndarray
    size: RunSize


def two_classes() -> System:
    return make_system(replace(query(ONE, 1.0, name="a"), slo_s=1.5), query(ONE, 1.0, name="b"))


@st.composite
def runs(draw: st.DrawFn) -> Jobs:
    n = draw(st.integers(1, 120))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    first = draw(st.integers(0, n - 1))
    arrival = np.sort(rng.integers(0, 40, n) / 4 if draw(st.booleans()) else rng.uniform(0, 10, n))
    completion = arrival + rng.choice([0.0, 0.5, 1.5, 30.0], n) * rng.uniform(0.5, 1.5, n)
    completion[rng.random(n) < draw(st.sampled_from([0.0, 0.1]))] = math.nan
    jobs = draw(st.integers(1, n - first))
    size = RunSize(first, jobs, 0, True, 3, 10, 1.0, draw(st.integers(1, 40)))
    return Jobs(rng.integers(0, 2, n), arrival, completion, rng.uniform(0, 1, (n, len(PARTS))), size)


def all_at_once(jobs: Jobs) -> Collected:
    collector = Collector(two_classes(), jobs.size)
    collector.arrivals(0, jobs.query, jobs.arrival_s)
    done = np.flatnonzero(~np.isnan(jobs.completion_s))
    collector.completions(done, jobs.completion_s[done], jobs.parts_s[done])
    return collector.finish()


def in_pieces(jobs: Jobs, rng: np.random.Generator, watched: bool = False) -> Collector:
    """Arrivals and completions in random chunks; each completion some time after its arrival."""
    collector = Collector(two_classes(), jobs.size, watched)
    handed, waiting = 0, np.flatnonzero(~np.isnan(jobs.completion_s))
    while handed < len(jobs.query) or len(waiting):
        upto = handed + int(rng.integers(0, 20))
        collector.arrivals(handed, jobs.query[handed:upto], jobs.arrival_s[handed:upto])
        handed = min(upto, len(jobs.query))
        ready = waiting[(waiting < handed) & (rng.random(len(waiting)) < 0.6)]
        rng.shuffle(ready)
        collector.completions(ready, jobs.completion_s[ready], jobs.parts_s[ready])
        waiting = np.setdiff1d(waiting, ready)
    return collector


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nona.simulation.collected.BLOCK", 16)


def content(collected: Collected) -> list[bytes]:
    return list(pieces(collected))


checked = examples(
    80,  # the fixture sets one block size for all examples
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@checked
@given(runs(), st.integers(0, 10_000))
def test_chunking_does_not_matter(jobs: Jobs, seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert content(in_pieces(jobs, rng).finish()) == content(all_at_once(jobs))


@checked
@given(runs())
def test_the_outcome_is_that_of_all_jobs_at_once(jobs: Jobs) -> None:
    found, size = all_at_once(jobs), jobs.size
    measured = slice(size.first, size.last + 1)
    jct = (jobs.completion_s - jobs.arrival_s)[measured]
    of, tally = jobs.query[measured], found.tally
    assert len(found.query) <= size.record_jobs
    every = math.ceil(size.jobs / size.record_jobs)
    for name in ("query", "arrival_s", "completion_s"):
        np.testing.assert_array_equal(getattr(found, name), getattr(jobs, name)[measured][::every])
    done = ~np.isnan(jobs.completion_s)
    expected_parts = np.where(done[:, None], jobs.parts_s, np.nan)[measured]
    np.testing.assert_array_equal(found.parts_s, expected_parts[::every])
    assert tally.arrived.tolist() == [int((of == q).sum()) for q in (0, 1)]
    assert tally.completed.tolist() == [int((~np.isnan(jct[of == q])).sum()) for q in (0, 1)]
    assert tally.hits.tolist() == [int((jct[of == 0] <= 1.5).sum()), 0]
    for q in (0, 1):
        np.testing.assert_allclose(tally.total_s[q], np.nansum(jct[of == q]), rtol=1e-12)
        np.testing.assert_allclose(tally.squares_s2[q], np.nansum(jct[of == q] ** 2), rtol=1e-12)
        np.testing.assert_allclose(tally.parts_s[q], np.nansum(expected_parts[of == q], axis=0), rtol=1e-12)
    assert (found.arrived, found.completed, found.filled) == (len(done), done.sum(), done.sum())
    start, stop = jobs.arrival_s[size.first], jobs.arrival_s[size.last]
    inside = np.minimum(np.where(done, jobs.completion_s, np.inf), stop) - np.maximum(jobs.arrival_s, start)
    np.testing.assert_allclose(found.inside_s, inside[inside > 0].sum(), rtol=1e-12)
    assert found.window_s == (start, stop)
    np.testing.assert_array_equal(found.traced_arrival_s, jobs.arrival_s[found.traced])


@checked
@given(runs(), st.integers(0, 10_000))
def test_progress_hands_out_every_measured_completion_once(jobs: Jobs, seed: int) -> None:
    collector = in_pieces(jobs, np.random.default_rng(seed), watched=True)
    size, progress = jobs.size, collector.progress()
    measured = jobs.completion_s[size.first : size.last + 1]
    expected = np.sort(measured[~np.isnan(measured)])
    np.testing.assert_array_equal(np.sort(progress.completion_s), expected)
    assert (progress.completion_s >= progress.arrival_s).all()
    assert progress.fraction <= 1
    assert len(collector.progress().query) == 0


def test_what_is_kept_follows_the_jobs_in_flight_and_the_rows_recorded() -> None:
    """100,000 jobs, some fifty at a time in the system: a handful of blocks, 500 rows."""
    n, ahead = 100_000, 50
    size = RunSize(1000, n - 1000, 0, True, 0, 10, 1.0, record_jobs=500)
    collector = Collector(two_classes(), size)
    most = 0
    for begin in range(0, n, 40):
        numbers = np.arange(begin, begin + 40)
        collector.arrivals(begin, numbers % 2, numbers.astype(float))
        done = numbers[numbers >= ahead] - ahead
        collector.completions(done, done + float(ahead), np.zeros((len(done), len(PARTS))))
        most = max(most, len(collector.blocks))
    found = collector.finish()
    assert most <= (ahead + 40) // 16 + 2
    assert len(found.query) == 500
    assert found.tally.completed.sum() == n - 1000 - ahead
    assert sum(len(s.counts) for s in found.tally.sketches) < 10


def test_an_early_completion_is_counted() -> None:
    collector = Collector(two_classes(), RunSize(0, 2, 0, True, 0, 10, 1.0))
    collector.arrivals(0, np.array([0, 1]), np.array([1.0, 2.0]))
    collector.completions(np.array([0, 1]), np.array([0.5, 2.0]), np.zeros((2, len(PARTS))))
    assert collector.finish().early == 1


def test_jobs_left_out_or_complete_too_soon_are_refused() -> None:
    collector = Collector(two_classes(), RunSize(0, 2, 0, True, 0, 10, 1.0))
    collector.arrivals(0, np.array([0]), np.array([1.0]))
    with pytest.raises(SimulationError, match="arrivals from job 5"):
        collector.arrivals(5, np.array([0]), np.array([2.0]))
    with pytest.raises(SimulationError, match="before its arrival"):
        collector.completions(np.array([1]), np.array([3.0]), np.zeros((1, len(PARTS))))
