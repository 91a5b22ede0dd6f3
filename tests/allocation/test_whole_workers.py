"""Workers handed out one by one, and Tiresias' queues by attained service."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.allocation.whole_workers import LEAST, fairest_goodputs, marginal_gains, one_each
from nona.queries.schedulers.flows.tiresias import in_order, joined, moved, take_in_order

RATES = st.lists(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.5]), min_size=2, max_size=2), min_size=1, max_size=4
)


def test_workers_by_hand():
    # Three jobs, two types: the second finds its fastest type taken, the third finds none.
    rates = np.array([[2.0, 1.0], [2.0, 1.0], [5.0, 5.0]])
    assert one_each(rates, np.array([1, 1])).tolist() == [[1, 0], [0, 1], [0, 0]]
    # One job of 6 steps, 3/s and 1/s: the fast worker, then the slow one as there is no other.
    assert marginal_gains(np.array([6.0]), np.array([[3.0, 1.0]]), np.array([1, 1])).tolist() == [[1, 1]]


@examples(60)
@given(RATES, st.integers(0, 4), st.integers(0, 4))
def test_no_worker_is_given_twice_or_to_a_job_that_cannot_use_it(rows, first, second):
    rates, workers = np.array(rows), np.array([first, second])
    left = np.arange(1.0, len(rates) + 1)
    for given_ in (marginal_gains(left, rates, workers), fairest_goodputs(left, rates, workers)):
        assert (given_.sum(axis=0) <= workers).all()
        assert (given_[rates == 0] == 0).all()
        assert (given_ >= 0).all()


def ways(jobs, workers):
    return [way for way in product(range(workers + 1), repeat=jobs) if sum(way) <= workers]


@pytest.mark.parametrize("seed", range(12))
def test_with_one_type_no_way_has_less_time_left_or_is_fairer(seed):
    rng = np.random.default_rng(seed)
    left, rates, most = rng.uniform(1, 9, 3), rng.uniform(0.5, 3, (3, 1)), rng.uniform(1, 6, 3)
    workers = np.array([7])

    def time_left(way):
        return float((left / (np.array(way) * rates[:, 0])).sum())

    found = marginal_gains(left, rates, workers)[:, 0]
    least = min(time_left(w) for w in ways(3, 7) if min(w) > 0)
    assert time_left(found) == pytest.approx(least, rel=1e-12)

    def fairness(way):
        equal = rates[:, 0] * 7 / 3
        speedup = np.minimum(np.array(way) * rates[:, 0], most) / equal
        return 3.0 / float((1 / (speedup + LEAST)).sum())

    best = max(fairness(w) for w in ways(3, 7))
    assert fairness(fairest_goodputs(most, rates, workers)[:, 0]) == pytest.approx(best, rel=1e-12)


LIMITS = np.array([10.0, 30.0])
RUN = np.array([True, True, True])


def after(standing, *served, running=RUN, promote=0.0):
    return moved(standing, np.array(served), running, 1.0, LIMITS, promote)


def test_jobs_fall_one_queue_at_a_time_and_join_its_tail():
    first = after(joined(3), 40.0, 12.0, 3.0)
    assert first.queue.tolist() == [1, 1, 0]  # 40 is above both limits, but a job falls by one
    assert in_order(first).tolist() == [2, 0, 1]
    second = after(first, 0.0, 0.0, 8.0)
    assert second.queue.tolist() == [2, 1, 1]
    assert in_order(second).tolist() == [1, 2, 0]  # the newcomer of queue 1 is behind job 1
    third = after(second, 90.0, 90.0, 90.0)  # there is no queue below the last
    assert (third.queue.tolist(), in_order(third).tolist()) == ([2, 2, 2], [0, 1, 2])


def test_a_job_that_waited_long_enough_joins_the_first_queue():
    waits = np.array([False, True, True])
    standing = after(joined(3), 12.0, 1.0, 1.0)  # ran for 1 s
    assert standing.queue.tolist() == [1, 0, 0]
    once = after(standing, 0.0, 1.0, 1.0, running=waits, promote=2.0)
    assert once.queue.tolist() == [1, 0, 0]  # waited for 1 s of 2
    twice = after(once, 0.0, 1.0, 1.0, running=waits, promote=2.0)
    assert twice.queue.tolist() == [0, 0, 0]
    assert in_order(twice).tolist() == [1, 2, 0]
    assert (twice.attained_s[0], twice.executed_s[0], twice.waited_s[0]) == (0.0, 0.0, 0.0)
    never = after(once, 0.0, 1.0, 1.0, running=waits)
    assert never.queue.tolist() == [1, 0, 0]


def test_jobs_take_what_they_need_fastest_types_first_in_order():
    rates = np.array([[1.0, 2.0], [4.0, 0.0], [1.0, 1.0]])
    taken = take_in_order(np.array([0, 2, 1]), np.array([5.0, 4.0, 1.0]), rates, np.array([3, 2]))
    # Job 0: 2 workers of type 1 do 4 of 5 steps/s, one of type 0 the rest. Job 2: one of type 0 (equal types:
    # the first). Job 1: one of type 0 is left, and does all 4.
    assert taken.tolist() == [[1.0, 2.0], [1.0, 0.0], [1.0, 0.0]]
