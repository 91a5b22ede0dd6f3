"""The response of a placement by sampled jobs: known waits and paths, and simulation."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from placement_helpers import query, random_system, system
from sizes import examples, first

from nona.errors import PlacementError
from nona.placement.fixed import local_placement, spread_placement
from nona.placement.messages import Candidates
from nona.placement.model import build_model
from nona.placement.prediction import predict
from nona.placement.response import sample_paths
from nona.placement.response.equilibrium import predict_response
from nona.placement.response.resources import Tracks, Visits
from nona.placement.response.walk import even_draws, shared_s
from nona.placement.solver.solution import placements
from nona.schedulers.registry import get_scheduler
from nona.schedulers.sampling_tables import build_tables
from nona.simulation.run import RunOptions, simulate_run
from nona.statistics import mean_interval
from nona.study.placing import place_system
from nona.system import Arrivals, Stream
from nona.topology import make_topology


def wide(seed, **more):
    """Random fork-joins on a link that can carry them all."""
    return random_system(seed, capacity=2e4, **more)


def spread(made, **more):
    return predict_response(made, spread_placement(made).queries, **more)


def simulated(made, placed, jobs):
    nona, tables = get_scheduler("nona"), build_tables(made, placed)
    sizes = [RunOptions(jobs=jobs, replication=r) for r in range(4)]
    return [simulate_run(made, nona, tables, size).completion_time_s for size in sizes]


@pytest.mark.parametrize("seed", first(1, range(4)))
def test_an_idle_system_takes_what_the_simulator_says(seed):
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
def test_a_fork_takes_the_longer_of_two_random_waits(load):
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
def test_more_load_takes_longer(seed, low, step):
    def mean(load):
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


def _with(made, **changes):
    return replace(made, queries=tuple(replace(q, **changes) for q in made.queries))


def _racks(made):
    links = make_topology(made.servers, made.capacity, made.capacity / 4, 4, made.capacity / 2)
    return replace(made, topology=links)


@pytest.mark.parametrize("name", CASES)
def test_the_response_is_as_simulated(name):
    """Mean within 10 % and 95th percentile within 15 % of the ends of the simulation's interval."""
    made = CASES[name]()
    placed = spread_placement(made).queries
    runs = simulated(made, placed, 2500)
    found = predict_response(made, placed).mix
    for bound, predicted, values in (
        (0.10, found.mean_s, [np.nanmean(r) for r in runs]),
        (0.15, found.quantile_s(0.95), [np.nanquantile(r, 0.95) for r in runs]),
    ):
        seen = mean_interval(values)
        assert (1 - bound) * seen.low <= predicted <= (1 + bound) * seen.high


def test_the_same_seed_gives_the_same_numbers():
    made = wide(8)
    a, b, c = spread(made), spread(made), spread(made, seed=1)
    assert (a.mix.times_s == b.mix.times_s).all()
    assert a.mix.mean_s != c.mix.mean_s
    assert a.mix.mean_s == pytest.approx(c.mix.mean_s, abs=6 * (a.mix.error_s + c.mix.error_s))


def test_quantiles_misses_and_the_mix_fit_together():
    made = wide(9)
    found = spread(made)
    median = [q.quantile_s(0.5) for q in found.queries]
    assert found.miss(median) == pytest.approx([0.5, 0.5], abs=0.01)
    assert found.miss([None, 0.0]) == (None, 1.0)
    weights = np.array([q.rate for q in made.queries]) / made.total_rate
    assert found.mix.mean_s == pytest.approx(weights @ [q.mean_s for q in found.queries])


def test_shares_send_jobs_to_the_class_they_name():
    made = wide(10, load=0.1, classes=2)
    quick = predict_response(made, local_placement(made).queries, shares=np.array([[1.0, 0.0]] * 2))
    slow = predict_response(made, local_placement(made).queries, shares=np.array([[0.0, 1.0]] * 2))
    assert slow.mix.mean_s > 1.5 * quick.mix.mean_s
    assert quick.compute_utilization[1] == 0.0


def test_an_overloaded_link_is_waited_for_without_end():
    made = random_system(11, load=0.5, capacity=1.0)
    found = spread(made)
    assert found.link_utilization > 1
    assert found.mix.mean_s == math.inf
    assert math.isfinite(predict_response(made, local_placement(made).queries).mix.mean_s)


def test_what_cannot_be_predicted_is_refused_in_one_line():
    made = random_system(12)
    placed = local_placement(made).queries
    with pytest.raises(PlacementError, match="samples=3 must be at least 64"):
        predict_response(made, placed, samples=3)
    with pytest.raises(PlacementError, match="must lie between 0 and 1"):
        predict_response(made, placed).mix.quantile_s(1.5)
    full = replace(made, background_compute=Stream(200.0, 0.01))
    with pytest.raises(PlacementError):
        predict_response(full, placed)


def one_task(load, servers=4, **more):
    """Single tasks of a second each, so that every executor is an M/G/1 queue."""
    background = more.pop("background", Stream())
    return system(query([1.0], [], load * servers, **more), servers=servers, compute=background)


def response_of(made, **more):
    return predict_response(made, local_placement(made).queries, **more)


def waits(load, scv):
    """Sampled completion times less the mean service (the service draws are not known apart)."""
    return response_of(one_task(load, service_scv=scv), samples=4096).mix.times_s


@pytest.mark.parametrize("load", [0.3, 0.6, 0.85])
@pytest.mark.parametrize("scv", [0.0, 0.5, 1.0, 2.0])
def test_mean_wait_of_one_queue_is_pollaczek_khinchine(load, scv):
    wait = waits(load, scv).mean() - 1.0
    assert wait == pytest.approx(load * (1 + scv) / (2 * (1 - load)), rel=0.02)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_the_time_in_an_exponential_queue_is_exponential(load):
    times = waits(load, 1.0)
    for t in (0.5, 1.0, 3.0, 8.0):
        assert (times > t).mean() == pytest.approx(math.exp(-(1 - load) * t), abs=0.025)


def wait_at_most(t, load):
    """P(W ≤ t) in M/D/1 with service 1 (A. K. Erlang, 1909)."""
    terms = (
        math.exp(load * (t - k)) * (-load * (t - k)) ** k / math.factorial(k)
        for k in range(math.floor(t) + 1)
    )
    return (1 - load) * sum(terms)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_the_wait_for_equal_services_has_erlangs_distribution(load):
    found = waits(load, 0.0) - 1.0
    for t in (0.0, 0.5, 1.0, 2.5, 4.0):
        assert (found <= t + 1e-9).mean() == pytest.approx(wait_at_most(t, load), abs=0.025)


def test_background_work_counts_as_it_does_in_the_queue():
    made = one_task(0.3, background=Stream(0.1, 4.0, 1.0))
    expected = (0.3 * 1.0 + 0.1 * 2 * 16.0) / (2 * (1 - 0.7))
    assert response_of(made, samples=4096).mix.mean_s - 1.0 == pytest.approx(expected, rel=0.02)


def test_equal_gaps_on_one_executor_leave_no_wait():
    made = one_task(0.8, servers=1)
    even = replace(made.queries[0], arrivals=Arrivals("deterministic"))
    found = response_of(system(even, servers=1))
    assert found.mix.times_s == pytest.approx(np.ones_like(found.mix.times_s))


def test_bursts_that_are_thinned_wait_less_but_longer_than_poisson():
    def mean(servers):
        made = one_task(0.6, servers=servers)
        bursty = replace(made.queries[0], arrivals=Arrivals("gamma", cv=3.0))
        return response_of(system(bursty, servers=servers), samples=512).mix.mean_s

    poisson = 1.0 + 0.6 / (2 * 0.4)
    assert mean(1) > 1.5 * mean(8) > 1.5 * mean(80) > 1.4 * poisson


@examples(25)
@given(seed=st.integers(0, 10**6), own=st.floats(0.0, 5.0))
def test_a_path_answers_what_an_event_loop_does(seed, own):
    rng = np.random.default_rng(seed)
    times, works = np.sort(rng.random(20) * 30), rng.exponential(1.0, 20)
    bank = sample_paths.Bank([sample_paths.make_path(times, works, 30.0)])

    def look(t):
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
def test_a_job_that_comes_back_at_once_meets_what_came_meanwhile(load):
    """ρ(W + s) after a service s: what came while it waited and was served."""
    rng, jobs = np.random.default_rng(7), 20000
    times, works = rng.random(60000) * 60000 / load, np.ones(60000)
    bank, visits = sample_paths.Bank([sample_paths.make_path(times, works, 60000 / load)]), Visits()
    base = bank.places(0, jobs, rng)[None]
    one = np.zeros((1, jobs), dtype=np.int64)
    of = {"stay": one, "row": one, "base": base, "place": one, "anchored": False}
    tracks = Tracks(bank=bank, factor=np.ones(1), visits=visits, jobs=np.arange(jobs), **of)
    first = tracks.run(0, np.zeros(jobs), np.full(jobs, 1.0))
    again = tracks.run(0, first + 1e-9, np.full(jobs, 1.0)) - first - 1.0
    wait = bank.mean_s[0]
    assert first.mean() - 1.0 == pytest.approx(wait, rel=0.01)
    assert again.mean() == pytest.approx(load * (wait + 1.0), rel=0.03)
    tracks.close([0])
    _, stay, _, at, work, waited, returned, _ = visits.joined()
    assert len(at) == 2 * jobs
    assert returned.sum() == jobs
    assert (work == 1.0).all()
    assert waited[returned].mean() == pytest.approx(again.mean(), rel=1e-6)
    assert (stay == 0).all()


def test_a_path_goes_round_in_a_circle():
    rng = np.random.default_rng(3)
    times, works = rng.random(50) * 20, rng.exponential(0.3, 50)
    bank, row = sample_paths.Bank([sample_paths.make_path(times, works, 20.0)]), np.zeros(1, dtype=np.int64)
    for t in (0.3, 7.7, 19.9):
        once, again = (bank.look(row, np.array([base]), np.array([t])) for base in (0.0, 1.0))
        assert once[0] == pytest.approx(again[0])
        assert again[1] - once[1] == pytest.approx(bank.idle_total_s)


@pytest.mark.parametrize("load", [0.3, 0.7])
@pytest.mark.parametrize("size", [0.01, 1.0, 50.0])
def test_a_shared_link_stretches_a_transfer_by_its_load(load, size):
    taken = shared_s(np.full(20000, size), load, 1.0, np.random.default_rng(5))
    assert taken.mean() == pytest.approx(size / (1 - load), rel=0.05)
    y = (1 - load) * size
    variance = 2 * load * (y - 1 + math.exp(-y)) / (1 - load) ** 4
    assert taken.std() <= 1.1 * math.sqrt(variance) + 1e-12


@pytest.mark.parametrize("scv", [0.1, 1.0, 4.0])
def test_even_draws_have_their_moments(scv):
    drawn = even_draws(scv, 2000, np.random.default_rng(1))
    assert drawn.mean() == pytest.approx(1.0, rel=0.01)
    assert drawn.var() == pytest.approx(scv, rel=0.06)


@pytest.mark.parametrize(
    "arrivals",
    [
        *(Arrivals("poisson"), Arrivals("gamma", cv=3.0), Arrivals("gamma", cv=0.0)),
        *(Arrivals("deterministic"), Arrivals("mmpp", burst_mean_s=2.0)),
        Arrivals("trace", times_s=(0.0, 0.1, 0.2, 3.0)),
    ],
    ids=lambda a: f"{a.process}-{a.cv:g}",
)
def test_arrivals_keep_their_rate(arrivals):
    times = sample_paths.instants(arrivals, 5.0, 4000.0, np.random.default_rng(2))
    assert len(times) == pytest.approx(20000, rel=0.05)
    assert (np.diff(times) >= 0).all()
    assert times[0] >= 0
    assert times[-1] < 4000.0


def test_ranks_in_bursts_are_even_and_follow_the_crowd():
    times = np.concatenate([np.arange(10.0), 20 + np.arange(10) / 100])
    rank = sample_paths.burst_rank(times, 0.5)
    assert np.sort(rank) == pytest.approx((np.arange(20) + 0.5) / 20)
    assert rank[10:].mean() > rank[:10].mean()


few = st.sampled_from([-np.inf, -1.5, -0.0, 0.0, 2.0, 3.0])
some = st.floats(allow_nan=False)
pairs = st.lists(st.tuples(st.integers(0, 1 << 17) | st.integers(0, 3), few | some), max_size=60)


@given(pairs, st.sampled_from([1, 1, 1, 400]), st.booleans())
def test_orders_are_those_of_stable_sorts(rows, times, distinct):
    """Also for many, with few values or all of them different."""
    count = np.array([c for c, _ in rows] * times, dtype=np.int64)
    values = np.array([v for _, v in rows] * times)
    if distinct:
        values = values + np.random.default_rng(5).random(len(values))
    assert sample_paths.in_order(values).tolist() == np.argsort(values, kind="stable").tolist()
    assert sample_paths.by_count_then(count, values).tolist() == np.lexsort((values, count)).tolist()


def late_input(load):
    """A short task, then a long one that also needs what another source makes."""
    servers, times = 8, [0.01, 0.3, 2.0]
    work = query(times, [(0, 2, 1.0), (1, 2, 1.0)], load * servers / sum(times))
    return system(work, servers=servers, capacity=1e9)


def source_away(made):
    labels = np.array([[0, 0, 0], [0, 1, 0]])

    def rows(shape, link):
        return Candidates(shape, labels[:, : shape.m + 1], link)

    model = build_model(made, rows)
    return placements(model, [[np.array([0.0, 1.0]) for _ in row] for row in model.candidates])


def simulated_s(made, placed):
    """Mean completion time and its standard error."""
    means = np.array([np.nanmean(r) for r in simulated(made, placed, 4000)])
    return float(means.mean()), float(means.std(ddof=1) / 2.0)


def test_the_default_placement_is_not_misled_by_such_a_response():
    """Sampled jobs prefer to send the source away; simulated beside it, local is quicker, and is chosen."""
    made = late_input(0.8)
    assert predict_response(made, source_away(made)).mix.mean_s < local_placement(made).objective_s
    mean, error = simulated_s(made, place_system(made).queries)
    local, local_error = simulated_s(made, local_placement(made).queries)
    assert mean <= local + 3.0 * (error + local_error)
