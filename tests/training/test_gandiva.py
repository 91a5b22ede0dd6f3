"""Gandiva, isolated and proportional: golden numbers, and pairs that are kept or given up."""

import numpy as np
import pytest
from allocation_cases import pairs, problem

from nona.allocation.problem import Allocation, Carried, Problem
from nona.allocation.registry import get_policy
from nona.errors import SimulationError

TABLE = [[0.5, 1, 2], [1, 2, 3], [2, 3, 4]]  # columns k80, p100, v100


def answer(name: str, asked: Problem, **options: bool | int) -> Allocation:
    return get_policy(name).prepare(options)(asked)


def test_isolated_as_the_public_code() -> None:
    found = answer("isolated", problem(TABLE, [1, 1, 1], workers=[1, 2, 1]))
    assert found.shares == pytest.approx(np.array([[1 / 3] * 3, [1 / 6] * 3, [1 / 3] * 3]))


def test_proportional_as_the_public_code() -> None:
    asked = problem(TABLE, [1, 1, 1])
    found = answer("proportional", asked)
    assert (found.shares * asked.rates).sum(axis=1) == pytest.approx([3.5 / 3, 2, 3])


def test_gandiva_splits_equally_while_there_are_gpus_for_all() -> None:
    shared = pairs((0, 1, [[0.5, 1], [1, 2], [2, 3]]))
    found = answer("gandiva", problem(TABLE[:2], [1, 1, 1], **shared))
    assert found.rows == ((0,), (1,))
    assert found.shares == pytest.approx(np.full((2, 3), 1 / 3))


def _crowded(gain: float, carried: Carried | None = None, seed: int = 0) -> Problem:
    both = [(a, b, [[gain / 2, gain / 2]]) for a in range(6) for b in range(a + 1, 6)]
    return problem([[1.0]] * 6, [2], **pairs(*both), carried=carried, seed=seed)


def test_gandiva_pairs_jobs_at_random_when_the_cluster_is_crowded() -> None:
    found = [answer("gandiva", _crowded(1.4, seed=s)) for s in range(5)]
    formed = {f.rows[6:] for f in found}
    assert len(formed) > 1
    for f in found:
        jobs = [i for row in f.rows[6:] for i in row]
        assert len(jobs) == len(set(jobs)) > 0
        used = f.shares.sum()
        combinations = 6 - len(f.rows[6:])
        assert used == pytest.approx(2)
        assert np.unique(f.shares[f.shares > 0]) == pytest.approx([2 / combinations])
    assert answer("gandiva", _crowded(1.4)).rows == found[0].rows
    assert answer("gandiva", _crowded(1.4), space_sharing=False).rows == tuple((i,) for i in range(6))


def test_gandiva_keeps_pairs_that_pay_and_gives_up_the_others() -> None:
    rows = (*((i,) for i in range(6)), (0, 3), (1, 2))
    before = Carried(rows, np.zeros((8, 1)))
    assert {(0, 3), (1, 2)} <= set(answer("gandiva", _crowded(1.2, before)).rows)
    for seed in range(8):
        assert not {(0, 3), (1, 2)} & set(answer("gandiva", _crowded(0.9, before, seed)).rows)


def test_options_are_checked() -> None:
    with pytest.raises(SimulationError, match="must be true or false"):
        answer("gandiva", problem(TABLE, [1, 1, 1]), space_sharing=3)
    with pytest.raises(SimulationError, match="option 'x' is not known"):
        get_policy("gandiva").prepare({"x": 1})
