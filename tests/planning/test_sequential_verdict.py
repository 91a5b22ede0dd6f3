"""The sequential test keeps its word where the truth is known: M/M/1, M/M/c and M/D/1 at their very bound."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sizes import examples

from nona.core.errors import SimulationError
from nona.core.queueing import erlang_c
from nona.core.verdict import (
    HitCounts,
    Means,
    estimate_of,
    hit_counts,
    limits,
    looks_within,
    replications_at,
    replications_needed,
    settle,
    spent,
    verdict,
    verdicts,
)

TRIALS, ALPHA = 300, 0.05


def single_line(rng, runs, jobs, load, constant):
    """(runs, jobs) Times in an M/M/1 or M/D/1 queue with mean service 1, by Lindley's recursion."""
    service = np.ones((runs, jobs)) if constant else rng.exponential(1.0, (runs, jobs))
    step = np.zeros((runs, jobs))
    step[:, 1:] = service[:, :-1] - rng.exponential(1 / load, (runs, jobs))[:, 1:]
    walk = step.cumsum(axis=1)
    return walk - np.minimum.accumulate(np.minimum(walk, 0.0), axis=1) + service


def many_servers(rng, runs, jobs, load, servers):
    """(runs, jobs) Times in an M/M/c queue with mean service 1, by Kiefer and Wolfowitz' recursion."""
    gaps = rng.exponential(1 / (load * servers), (runs, jobs))
    service = rng.exponential(1.0, (runs, jobs))
    work, times = np.zeros((runs, servers)), np.zeros((runs, jobs))
    for n in range(jobs):
        work = np.sort(np.maximum(work - gaps[:, n : n + 1], 0.0), axis=1)
        times[:, n] = work[:, 0] + service[:, n]
        work[:, 0] = times[:, n]
    return times


def md1_share(load, bound):
    """P(T ≤ t) in M/D/1 with service 1: Σ_k (1−ρ) e^(−ρ(k−w)) (ρ(k−w))^k / k!, w = t − 1 (Erlang, 1909).

    The terms alternate, so they are added exactly.
    """
    wait = bound - 1
    terms = [
        Fraction(math.exp(-load * (k - wait))) * Fraction(load * (k - wait)) ** k / math.factorial(k)
        for k in range(math.floor(wait) + 1)
    ]
    return float((1 - load) * sum(terms))


def mmc_share(load, servers, bound):
    """P(T ≤ t) in M/M/c with mean service 1: a wait that is 0 or exponential, and a service."""
    waits, speed = erlang_c(servers, load * servers), servers * (1 - load)
    both = (math.exp(-speed * bound) - math.exp(-bound)) / (1 - speed)  # P(service ≤ t < service + wait)
    return 1 - math.exp(-bound) - waits * both


def bound_for(share_within, share, most=25.0):
    low, high = 1.0, most  # far above, the terms of M/D/1 cancel beyond what floats hold
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if share_within(middle) < share else (low, middle)
    return high


def tried(run, share, bound, looks=4):
    """One sequential test of P(T ≤ bound) ≥ share."""
    times = run(replications_at(1))
    for look in range(1, looks + 1):
        if look > 1:
            times = np.vstack([times, run(replications_at(look) - len(times))])
        counts = hit_counts(list(times / bound), share)
        found = verdict([counts], [share], ALPHA, look, looks)
        if found != "open":
            return found
    return "open"


SYSTEMS = {
    "M/M/1 at 0.8": (lambda t: 1 - math.exp(-0.2 * t), 0.95, "mm1", 0.8),
    "M/M/1 at 0.9": (lambda t: 1 - math.exp(-0.1 * t), 0.99, "long", 0.9),
    "M/M/1 at 0.5": (lambda t: 1 - math.exp(-0.5 * t), 0.99, "mm1", 0.5),
    "M/D/1 at 0.8": (lambda t: md1_share(0.8, t), 0.95, "md1", 0.8),
    "M/M/4 at 0.85": (lambda t: mmc_share(0.85, 4, t), 0.95, "mmc", 0.85),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_verdicts_are_wrong_no_more_often_than_stated(name):
    """At the bound itself *keeps* is as often wrong as it ever is: any worse system is kept more rarely."""
    share_within, share, kind, load = SYSTEMS[name]
    most = 60.0 if kind == "long" else 25.0
    bound, rng = bound_for(share_within, share, most), np.random.default_rng(19)
    jobs, warm = (4000, 1500) if kind == "long" else (600, 400)

    def run(runs):
        if kind == "mmc":
            return many_servers(rng, runs, jobs + warm, load, 4)[:, warm:]
        return single_line(rng, runs, jobs + warm, load, kind == "md1")[:, warm:]

    trials = TRIALS // 3 if kind in ("mmc", "long") else TRIALS
    found = [tried(run, share, bound, 4 if kind != "mmc" else 3) for _ in range(trials)]
    allowed = binom.ppf(0.999, trials, ALPHA)
    assert found.count("keeps") <= allowed
    assert found.count("misses") <= allowed


def test_theory_of_the_cases_agrees_with_known_values():
    assert md1_share(0.5, 1.0) == pytest.approx(0.5)  # nobody waits with probability 1 − ρ
    assert mmc_share(0.7, 1, 3.0) == pytest.approx(1 - math.exp(-0.9))
    many = single_line(np.random.default_rng(3), 400, 3000, 0.8, True)[:, 1000:]
    assert float((many <= 4.0).mean()) == pytest.approx(md1_share(0.8, 4.0), abs=0.01)


CLEAR = [
    (0.96, 0.5, 4, 0.94, "keeps"),
    (0.96, 0.5, 4, 0.985, "misses"),
    (0.997, 0.9, 7, 0.99, "keeps"),  # late jobs come in long bursts: only many runs tell
]


@pytest.mark.parametrize(("within", "load", "looks", "allowed", "expected"), CLEAR)
def test_a_clear_case_is_decided(within, load, looks, allowed, expected):
    rng = np.random.default_rng(5)
    bound = -math.log(1 - within) / (1 - load)
    found = [
        tried(lambda runs: single_line(rng, runs, 2500, load, False)[:, 500:], allowed, bound, looks)
        for _ in range(20)
    ]
    assert found.count(expected) >= 19


def test_bursts_of_late_jobs_widen_the_limits_and_no_late_job_is_then_no_certainty():
    """As many late jobs, in one replication of four or evenly: the same share, another certainty."""
    even = limits(HitCounts((1000,) * 4, (990,) * 4), 0.025)
    burst = limits(HitCounts((1000,) * 4, (960, 1000, 1000, 1000)), 0.025)
    assert burst.lower < even.lower
    assert burst.upper > even.upper
    lucky = HitCounts((500,) * 4, (500,) * 4)
    bursty = HitCounts((500,) * 4, (500,) * 4, ((0, 40, 0, 0),))
    assert verdict([lucky], [0.98], ALPHA, 1, 5) == "keeps"
    assert verdict([bursty], [0.98], ALPHA, 1, 5) == "open"


def test_a_mean_is_called_kept_or_missed_wrongly_at_most_as_often_as_allowed_and_decided_where_it_is_clear():
    """Means of 30 exponential times each, of which 1.0 is the true mean."""
    random, looks = np.random.default_rng(5), looks_within(64)
    wrong = {0.999: 0, 1.001: 0}
    for _ in range(400):
        runs = random.exponential(size=(64, 30)).mean(axis=1)
        for bound in wrong:
            found = settle(
                lambda n, runs=runs: Means(tuple(runs[:n])),
                lambda seen, look, of, bound=bound: verdict([seen], [bound], ALPHA, look, of),
                64,
            ).verdict
            wrong[bound] += found == ("keeps" if bound < 1 else "misses")
    assert max(wrong.values()) <= binom.ppf(0.999, 400, ALPHA)
    clear = Means(tuple(runs))
    assert [verdict([clear], [bound], ALPHA, looks, looks) for bound in (0.8, 1.25)] == ["misses", "keeps"]
    near = Means(tuple(runs[:4]))
    more = replications_needed([near], [near.mean * 1.02], ALPHA)
    assert more > 4
    again = Means(near.times_s * (more // 4))
    assert verdict([again], [near.mean * 1.02], ALPHA, looks_within(more), looks_within(more)) == "keeps"
    unfinished = Means((1.0, 1.0, math.inf, 1.0))
    assert verdict([unfinished], [9.0], ALPHA, 1, 5) == "open"


def test_all_targets_must_hold_and_one_missed_is_enough():
    kept, missed, near = (HitCounts((4000,) * 4, (hits,) * 4) for hits in (3990, 3000, 3960))
    found = [verdict([kept, other], [0.99, 0.99], ALPHA, 1, 5) for other in (kept, missed, near)]
    assert found == ["keeps", "misses", "open"]
    assert verdicts([kept, missed, near], [0.99] * 3, ALPHA, 1, 5) == ("keeps", "misses", "open")


def test_what_is_spent_adds_up_to_what_is_allowed():
    for looks in (1, 2, 5, 9):
        each = [spent(ALPHA, look, looks) for look in range(1, looks + 1)]
        assert sum(each) == pytest.approx(ALPHA)
        assert min(each) > 0
    assert [replications_at(look) for look in range(1, looks_within(64) + 1)] == [4, 8, 16, 32, 64]


def test_what_an_open_verdict_would_take_is_enough():
    seen = HitCounts((500,) * 4, (488, 492, 490, 494))
    more = replications_needed([seen], [0.975], ALPHA)
    assert more > 4
    scaled = HitCounts(seen.arrived * (more // 4), seen.hits * (more // 4))
    looks = looks_within(more)
    assert verdict([scaled], [0.975], ALPHA, looks, looks) == "keeps"
    exact, one = HitCounts((500,) * 4, (490,) * 4), HitCounts((10,), (10,))
    assert replications_needed([exact], [0.98], ALPHA) is None
    assert (limits(one, 0.05).lower, replications_needed([one], [0.9], ALPHA)) == (0.0, None)
    with pytest.raises(SimulationError, match="of one length"):
        HitCounts((1, 2), (1,))
    with pytest.raises(SimulationError, match="between 0 and the jobs"):
        HitCounts((1,), (2,))


@examples(200)
@given(
    hits=st.lists(st.integers(120, 150), min_size=2, max_size=16),
    asked=st.floats(0.85, 0.995),
    alpha=st.sampled_from((0.01, 0.05, 0.2)),
    looks=st.integers(1, 4),
)
def test_no_verdict_contradicts_the_interval_beside_it(hits, asked, alpha, looks):
    seen = HitCounts((150,) * len(hits), tuple(hits))
    low, high = estimate_of(seen).ci95
    for look in range(1, looks + 1):
        found = verdict([seen], [asked], alpha, look, looks)
        assert found != "keeps" or low >= asked
        assert found != "misses" or high < asked
        if low < asked <= high:
            assert found == "open"


def test_two_short_runs_without_a_late_job_are_no_verdict_on_99_in_100():
    """As ``nona serverless --nodes-for`` with 2 × 150 calls: a single look, and a wide interval."""
    seen = HitCounts((150, 150), (150, 150))
    assert estimate_of(seen).ci95[0] < 0.99
    assert verdict([seen], [0.99], 0.05, 1, 1) == "open"
