"""FIFO, shortest job first and AlloX: by their rules, by exhaustive search, by the dual."""

from itertools import permutations, product

import numpy as np
import pytest
from allocation_cases import pairs, problem

from nona.allocation.in_order import shortest_first
from nona.allocation.problem import Allocation, Carried, Problem
from nona.allocation.registry import get_policy
from nona.errors import SimulationError


def answer(name: str, asked: Problem, **options: bool) -> Allocation:
    return get_policy(name).prepare(options)(asked)


def test_fifo_takes_the_fastest_free_type_in_order_of_arrival() -> None:
    found = answer("fifo", problem([[1, 2, 4], [1, 2, 4], [5, 2, 4], [9, 9, 9]], [1, 1, 1]))
    assert found.shares.tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]]


def test_of_equal_rates_fifo_takes_the_first_type_in_alphabetical_order() -> None:
    assert answer("fifo", problem([[3, 3, 3]], [1, 1, 1])).shares.tolist() == [[1, 0, 0]]


def test_fifo_leaves_out_a_job_that_runs_on_no_free_type_and_stops_where_one_does_not_fit() -> None:
    jobs = problem([[0, 0], [1, 0], [2, 2], [1, 1]], [1, 1], workers=[1, 1, 2, 1])
    found = answer("fifo", jobs)
    assert found.shares.tolist() == [[0, 0], [1, 0], [0, 0], [0, 0]]  # the last would fit, but waits


def test_fifo_packed_joins_the_partner_with_the_largest_gain_above_one_and_a_half() -> None:
    shared = pairs(
        (0, 2, [[0.8, 0.8]]),  # 1.6 of 2
        (1, 2, [[0.9, 0.9]]),  # 1.8
        (0, 3, [[0.7, 0.7]]),  # 1.4: too little
        (1, 3, [[1.0, 1.0]]),  # 1 is taken by then
    )
    found = answer("fifo", problem([[1]] * 4, [2], **shared), space_sharing=True)
    assert found.rows[4:] == ((1, 2),)
    assert found.shares[:, 0].tolist() == [1, 0, 0, 0, 1]


def test_agnostic_fifo_spreads_jobs_over_types_whatever_their_rates() -> None:
    few, many = problem([[1, 9]] * 3, [2, 1]), problem([[9, 1]] * 3, [2, 1])
    spread = answer("fifo-agnostic", few).shares
    assert spread.sum(axis=0).tolist() == [2, 1]
    assert np.array_equal(spread, answer("fifo-agnostic", many).shares)


def test_shortest_first_goes_by_time_left_on_the_best_type() -> None:
    jobs = problem([[1, 2], [0, 0], [10, 1], [2, 1]], [1, 1], remaining=[100, 1, 400, 100])
    assert shortest_first(jobs).tolist() == [2, 0, 3, 1]
    assert answer("sjf", jobs).shares.tolist() == [[0, 1], [0, 0], [1, 0], [0, 0]]


def _least_total(durations: np.ndarray, gpus: list[int]) -> float:
    """Least sum of completion times over every assignment to GPUs and every order."""
    kinds = [j for j, n in enumerate(gpus) for _ in range(n)]
    best = np.inf
    for where in product(range(len(kinds)), repeat=len(durations)):
        total = 0.0
        for gpu, kind in enumerate(kinds):
            mine = [durations[i, kind] for i, w in enumerate(where) if w == gpu]
            total += min(sum(np.cumsum(order)) for order in permutations(mine)) if mine else 0.0
        best = min(best, total)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_allox_finds_the_least_total_completion_time(seed: int) -> None:
    draw = np.random.default_rng(seed)
    gpus = [[1, 1], [2, 1], [1, 2]][seed % 3]
    jobs = problem(draw.uniform(0.5, 5, (5, 2)), gpus, remaining=draw.uniform(10, 100, 5))
    found = answer("allox", jobs)
    best = _least_total(jobs.remaining[:, None] / jobs.rates, gpus)
    assert found.objective == pytest.approx(best)
    assert found.bound == pytest.approx(best)
    assert found.shares.sum(axis=0).tolist() <= gpus
    assert found.shares.sum(axis=1).max() == 1


def test_allox_shares_lead_to_the_least_total() -> None:
    """Jobs that start now are first on their GPUs in some best schedule: on one GPU the shortest."""
    found = answer("allox", problem([[1], [1], [1]], [1], remaining=[30, 10, 20]))
    assert found.shares[:, 0].tolist() == [0, 1, 0]
    assert found.objective == 10 + 30 + 60


def test_allox_leaves_a_job_on_its_gpu() -> None:
    carried = Carried(((0,), (1,)), np.array([[1.0], [0.0]]))
    asked = problem([[1], [1], [1]], [1], remaining=[1e6, 10, 20], carried=carried)
    assert answer("allox", asked).shares[:, 0].tolist() == [1, 0, 0]


def test_allox_bound_holds_at_size() -> None:
    draw = np.random.default_rng(1)
    jobs = problem(draw.uniform(0.5, 5, (120, 3)), [9, 7, 5], remaining=draw.uniform(10, 1e5, 120))
    found = answer("allox", jobs)
    assert found.bound == pytest.approx(found.objective, rel=1e-9)
    assert found.shares.sum(axis=0).tolist() == [9, 7, 5]


def test_allox_refuses_jobs_with_several_gpus() -> None:
    with pytest.raises(SimulationError, match=r"'job1' takes more than one GPU"):
        answer("allox", problem([[1], [1]], [4], workers=[1, 2]))
