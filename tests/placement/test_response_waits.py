"""Sampled waits against queues whose waits are known, and paths against a plain event loop."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from placement_helpers import query, system
from sizes import examples

from nona.placement.fixed import local_placement
from nona.placement.response.equilibrium import predict_response
from nona.placement.response.resources import Tracks, Visits
from nona.placement.response.sample_paths import Bank, burst_rank, instants, make_path
from nona.placement.response.times import Response
from nona.placement.response.walk import even_draws, shared_s
from nona.system import Arrivals, Stream, System


def one_task(load: float, servers: int = 4, **more: object) -> System:
    """Single tasks of a second each, so that every executor is an M/G/1 queue."""
    background = more.pop("background", Stream())
    assert isinstance(background, Stream)
    return system(query([1.0], [], load * servers, **more), servers=servers, compute=background)


def response_of(made: System, **more: int) -> Response:
    return predict_response(made, local_placement(made).queries, **more)


def waits(load: float, scv: float) -> np.ndarray:
    """Sampled completion times less the mean service (the service draws are not known apart)."""
    return response_of(one_task(load, service_scv=scv), samples=4096).mix.times_s


@pytest.mark.parametrize("load", [0.3, 0.6, 0.85])
@pytest.mark.parametrize("scv", [0.0, 0.5, 1.0, 2.0])
def test_mean_wait_of_one_queue_is_pollaczek_khinchine(load: float, scv: float) -> None:
    wait = waits(load, scv).mean() - 1.0
    assert wait == pytest.approx(load * (1 + scv) / (2 * (1 - load)), rel=0.02)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_the_time_in_an_exponential_queue_is_exponential(load: float) -> None:
    times = waits(load, 1.0)
    for t in (0.5, 1.0, 3.0, 8.0):
        assert (times > t).mean() == pytest.approx(math.exp(-(1 - load) * t), abs=0.025)


def wait_at_most(t: float, load: float) -> float:
    """P(W ≤ t) in M/D/1 with service 1 (A. K. Erlang, 1909)."""
    terms = (
        math.exp(load * (t - k)) * (-load * (t - k)) ** k / math.factorial(k)
        for k in range(math.floor(t) + 1)
    )
    return (1 - load) * sum(terms)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_the_wait_for_equal_services_has_erlangs_distribution(load: float) -> None:
    found = waits(load, 0.0) - 1.0
    for t in (0.0, 0.5, 1.0, 2.5, 4.0):
        assert (found <= t + 1e-9).mean() == pytest.approx(wait_at_most(t, load), abs=0.025)


def test_background_work_counts_as_it_does_in_the_queue() -> None:
    made = one_task(0.3, background=Stream(0.1, 4.0, 1.0))
    expected = (0.3 * 1.0 + 0.1 * 2 * 16.0) / (2 * (1 - 0.7))
    assert response_of(made, samples=4096).mix.mean_s - 1.0 == pytest.approx(expected, rel=0.02)


def test_equal_gaps_on_one_executor_leave_no_wait() -> None:
    made = one_task(0.8, servers=1)
    even = replace(made.queries[0], arrivals=Arrivals("deterministic"))
    found = response_of(system(even, servers=1))
    assert found.mix.times_s == pytest.approx(np.ones_like(found.mix.times_s))


def test_bursts_that_are_thinned_wait_less_but_longer_than_poisson() -> None:
    def mean(servers: int) -> float:
        made = one_task(0.6, servers=servers)
        bursty = replace(made.queries[0], arrivals=Arrivals("gamma", cv=3.0))
        return response_of(system(bursty, servers=servers), samples=512).mix.mean_s

    poisson = 1.0 + 0.6 / (2 * 0.4)
    assert mean(1) > 1.5 * mean(8) > 1.5 * mean(80) > 1.4 * poisson


@examples(25)
@given(seed=st.integers(0, 10**6), own=st.floats(0.0, 5.0))
def test_a_path_answers_what_an_event_loop_does(seed: int, own: float) -> None:
    rng = np.random.default_rng(seed)
    times, works = np.sort(rng.random(20) * 30), rng.exponential(1.0, 20)
    bank = Bank([make_path(times, works, 30.0)])

    def look(t: float) -> tuple[float, float]:
        work, idle = bank.look(np.zeros(1, dtype=np.int64), np.zeros(1), np.array([t]))
        return float(work[0]), float(idle[0])

    begin, end = np.sort(rng.random(2) * 30)
    level, idle = look(begin)
    alone, with_own, now = level, level + own, begin
    for t, w in [*((t, w) for t, w in zip(times, works, strict=True) if begin < t <= end), (end, 0.0)]:
        alone = max(0.0, alone - (t - now)) + w
        with_own = max(0.0, with_own - (t - now)) + w
        now = t
    after, later = look(end)
    assert after == pytest.approx(alone, abs=1e-9)
    assert after + max(own - (later - idle), 0.0) == pytest.approx(with_own, abs=1e-9)


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_a_job_that_comes_back_at_once_meets_what_came_meanwhile(load: float) -> None:
    """ρ(W + s) after a service s: what came while it waited and was served."""
    rng, jobs = np.random.default_rng(7), 20000
    times, works = rng.random(60000) * 60000 / load, np.ones(60000)
    bank, visits = Bank([make_path(times, works, 60000 / load)]), Visits()
    base = bank.places(0, jobs, rng)[None]
    one = np.zeros((1, jobs), dtype=np.int64)
    tracks = Tracks(
        bank=bank,
        factor=np.ones(1),
        visits=visits,
        jobs=np.arange(jobs),
        stay=one,
        row=one,
        base=base,
        place=one,
        anchored=False,
    )
    first = tracks.run(0, np.zeros(jobs), np.full(jobs, 1.0))
    again = tracks.run(0, first + 1e-9, np.full(jobs, 1.0)) - first - 1.0
    wait = bank.mean_s[0]
    assert first.mean() - 1.0 == pytest.approx(wait, rel=0.01)
    assert again.mean() == pytest.approx(load * (wait + 1.0), rel=0.03)
    tracks.close([0])
    _, stay, _, at, work, waited, returned = visits.joined()
    assert len(at) == 2 * jobs
    assert returned.sum() == jobs
    assert (work == 1.0).all()
    assert waited[returned].mean() == pytest.approx(again.mean(), rel=1e-6)
    assert (stay == 0).all()


def test_a_path_goes_round_in_a_circle() -> None:
    rng = np.random.default_rng(3)
    times, works = rng.random(50) * 20, rng.exponential(0.3, 50)
    bank, row = Bank([make_path(times, works, 20.0)]), np.zeros(1, dtype=np.int64)
    for t in (0.3, 7.7, 19.9):
        once, again = (bank.look(row, np.array([base]), np.array([t])) for base in (0.0, 1.0))
        assert once[0] == pytest.approx(again[0])
        assert again[1] - once[1] == pytest.approx(bank.idle_total_s)


@pytest.mark.parametrize("load", [0.3, 0.7])
@pytest.mark.parametrize("size", [0.01, 1.0, 50.0])
def test_a_shared_link_stretches_a_transfer_by_its_load(load: float, size: float) -> None:
    taken = shared_s(np.full(20000, size), load, 1.0, np.random.default_rng(5))
    assert taken.mean() == pytest.approx(size / (1 - load), rel=0.05)
    y = (1 - load) * size
    variance = 2 * load * (y - 1 + math.exp(-y)) / (1 - load) ** 4
    assert taken.std() <= 1.1 * math.sqrt(variance) + 1e-12


@pytest.mark.parametrize("scv", [0.1, 1.0, 4.0])
def test_even_draws_have_their_moments(scv: float) -> None:
    drawn = even_draws(scv, 2000, np.random.default_rng(1))
    assert drawn.mean() == pytest.approx(1.0, rel=0.01)
    assert drawn.var() == pytest.approx(scv, rel=0.06)


@pytest.mark.parametrize(
    "arrivals",
    [
        Arrivals("poisson"),
        Arrivals("gamma", cv=3.0),
        Arrivals("gamma", cv=0.0),
        Arrivals("deterministic"),
        Arrivals("mmpp", burst_mean_s=2.0),
        Arrivals("trace", times_s=(0.0, 0.1, 0.2, 3.0)),
    ],
    ids=lambda a: f"{a.process}-{a.cv:g}",
)
def test_arrivals_keep_their_rate(arrivals: Arrivals) -> None:
    times = instants(arrivals, 5.0, 4000.0, np.random.default_rng(2))
    assert len(times) == pytest.approx(20000, rel=0.05)
    assert (np.diff(times) >= 0).all()
    assert times[0] >= 0
    assert times[-1] < 4000.0


def test_ranks_in_bursts_are_even_and_follow_the_crowd() -> None:
    times = np.concatenate([np.arange(10.0), 20 + np.arange(10) / 100])
    rank = burst_rank(times, 0.5)
    assert np.sort(rank) == pytest.approx((np.arange(20) + 0.5) / 20)
    assert rank[10:].mean() > rank[:10].mean()
