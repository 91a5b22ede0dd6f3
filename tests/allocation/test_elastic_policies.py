"""Workers handed out one by one, against hand computations and all other ways."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.allocation.whole_workers import LEAST, fairest_goodputs, marginal_gains, one_each

RATES = st.lists(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.5]), min_size=2, max_size=2), min_size=1, max_size=4
)


def test_one_worker_for_each_job_comes_first() -> None:
    """Three jobs, two types: the second finds its fastest type taken, the third finds none."""
    rates = np.array([[2.0, 1.0], [2.0, 1.0], [5.0, 5.0]])
    assert one_each(rates, np.array([1, 1])).tolist() == [[1, 0], [0, 1], [0, 0]]


def test_gains_by_hand() -> None:
    """8 steps at 2/s and 2 at 1/s, one type of 4 workers. One each leaves 2. Gains: 8/2 − 8/4 = 2 against
    2 − 1 = 1: the first; then 8/4 − 8/6 = 2/3 against 1: the second."""
    assert marginal_gains(np.array([8.0, 2.0]), np.array([[2.0], [1.0]]), np.array([4])).T.tolist() == [
        [2, 2]
    ]


def test_types_by_hand() -> None:
    """One job of 6 steps, 3/s and 1/s: the fast worker, then the slow one as there is no other."""
    assert marginal_gains(np.array([6.0]), np.array([[3.0, 1.0]]), np.array([1, 1])).tolist() == [[1, 1]]


@examples(60)
@given(RATES, st.integers(0, 4), st.integers(0, 4))
def test_no_worker_is_given_twice_or_to_a_job_that_cannot_use_it(rows, first, second) -> None:
    rates, workers = np.array(rows), np.array([first, second])
    left = np.arange(1.0, len(rates) + 1)
    for given_ in (marginal_gains(left, rates, workers), fairest_goodputs(left, rates, workers)):
        assert (given_.sum(axis=0) <= workers).all()
        assert (given_[rates == 0] == 0).all()
        assert (given_ >= 0).all()


def ways(jobs: int, workers: int) -> list[tuple[int, ...]]:
    return [way for way in product(range(workers + 1), repeat=jobs) if sum(way) <= workers]


@pytest.mark.parametrize("seed", range(12))
def test_with_one_type_no_way_has_less_time_left_or_is_fairer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, rates, most = rng.uniform(1, 9, 3), rng.uniform(0.5, 3, (3, 1)), rng.uniform(1, 6, 3)
    workers = np.array([7])

    def time_left(way) -> float:
        return float((left / (np.array(way) * rates[:, 0])).sum())

    found = marginal_gains(left, rates, workers)[:, 0]
    least = min(time_left(w) for w in ways(3, 7) if min(w) > 0)
    assert time_left(found) == pytest.approx(least, rel=1e-12)

    def fairness(way) -> float:
        equal = rates[:, 0] * 7 / 3
        speedup = np.minimum(np.array(way) * rates[:, 0], most) / equal
        return 3.0 / float((1 / (speedup + LEAST)).sum())

    best = max(fairness(w) for w in ways(3, 7))
    assert fairness(fairest_goodputs(most, rates, workers)[:, 0]) == pytest.approx(best, rel=1e-12)
