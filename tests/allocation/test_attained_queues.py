"""Tiresias' queues by attained service, by hand."""

from __future__ import annotations

import numpy as np

from nona.allocation.tiresias import Standing, in_order, joined, moved, take_in_order

LIMITS = np.array([10.0, 30.0])
RUN = np.array([True, True, True])


def after(standing: Standing, *served: float, running=RUN, promote: float = 0.0) -> Standing:
    return moved(standing, np.array(served), running, 1.0, LIMITS, promote)


def test_jobs_fall_one_queue_at_a_time_and_join_its_tail() -> None:
    first = after(joined(3), 40.0, 12.0, 3.0)
    assert first.queue.tolist() == [1, 1, 0]  # 40 is above both limits, but a job falls by one
    assert in_order(first).tolist() == [2, 0, 1]
    second = after(first, 0.0, 0.0, 8.0)
    assert second.queue.tolist() == [2, 1, 1]
    assert in_order(second).tolist() == [1, 2, 0]  # the newcomer of queue 1 is behind job 1
    third = after(second, 90.0, 90.0, 90.0)
    assert third.queue.tolist() == [2, 2, 2]
    assert in_order(third).tolist() == [0, 1, 2]  # there is no queue below the last


def test_a_job_that_waited_long_enough_joins_the_first_queue() -> None:
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


def test_jobs_take_what_they_need_fastest_types_first_in_order() -> None:
    rates = np.array([[1.0, 2.0], [4.0, 0.0], [1.0, 1.0]])
    taken = take_in_order(np.array([0, 2, 1]), np.array([5.0, 4.0, 1.0]), rates, np.array([3, 2]))
    # Job 0: 2 workers of type 1 do 4 of 5 steps/s, one of type 0 the rest. Job 2: one of type 0 (equal types:
    # the first). Job 1: one of type 0 is left, and does all 4.
    assert taken.tolist() == [[1.0, 2.0], [1.0, 0.0], [1.0, 0.0]]
