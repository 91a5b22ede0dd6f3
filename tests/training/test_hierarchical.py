"""Water-filling over teams: lexicographic max-min by brute force, two levels by hand, FIFO teams."""

import numpy as np
import pytest
from allocation_cases import pairs, problem
from scipy.optimize import linprog

from nona.allocation.problem import Allocation, EntityShare, Problem
from nona.allocation.registry import get_policy


def answer(asked: Problem, **options: bool) -> Allocation:
    return get_policy("hierarchical").prepare(options)(asked)


def levels(asked: Problem, found: Allocation) -> np.ndarray:
    """thr_i / prop_i of single rows."""
    units = asked.rates @ asked.gpus / asked.gpus.sum()
    return (found.shares[: asked.jobs] * asked.rates).sum(axis=1) / units


def _least(asked: Problem, weights: np.ndarray, fixed: dict[int, float], of: list[int]) -> float:
    """max c with sf·y / w ≥ c for the jobs ``of``, where the ``fixed`` ones keep their values."""
    m, kinds = asked.rates.shape
    scale = asked.workers / weights / (asked.rates @ asked.gpus / asked.gpus.sum())
    rows, limits = [], []
    for i in range(m):
        worth = np.zeros(m * kinds + 1)
        worth[i * kinds : (i + 1) * kinds] = -asked.rates[i] * scale[i]
        if i in fixed:
            rows, limits = [*rows, worth], [*limits, -fixed[i] + 1e-9]
        elif i in of:
            worth[-1] = 1
            rows, limits = [*rows, worth], [*limits, 0.0]
        time = np.zeros(m * kinds + 1)
        time[i * kinds : (i + 1) * kinds] = 1
        rows, limits = [*rows, time], [*limits, 1.0]
    for j in range(kinds):
        used = np.zeros(m * kinds + 1)
        used[j : m * kinds : kinds] = asked.workers
        rows, limits = [*rows, used], [*limits, asked.gpus[j]]
    cost = np.zeros(m * kinds + 1)
    cost[-1] = -1
    done = linprog(cost, A_ub=np.array(rows), b_ub=limits, bounds=[(0, None)] * (m * kinds) + [(None, None)])
    assert done.status == 0
    return float(-done.fun)


def _lexicographic(asked: Problem, weights: np.ndarray) -> np.ndarray:
    """Lexicographic max-min of sf·y / w, one job fixed at a time: those that no longer rise alone."""
    fixed: dict[int, float] = {}
    while len(fixed) < asked.jobs:
        rest = [i for i in range(asked.jobs) if i not in fixed]
        level = _least(asked, weights, fixed, rest)
        for i in rest:
            held = {**fixed, **{k: level for k in rest if k != i}}
            if _least(asked, weights, held, [i]) <= level + 1e-6:
                fixed[i] = level
    return np.array([fixed[i] for i in range(asked.jobs)]) * weights / asked.workers


@pytest.mark.parametrize("seed", range(8))
def test_one_fair_team_is_lexicographic_max_min(seed: int) -> None:
    draw = np.random.default_rng(seed)
    m = int(draw.integers(3, 7))
    rates = draw.uniform(0.2, 4, (m, 2)) * (draw.random((m, 2)) < 0.8)
    rates[rates.max(axis=1) == 0] = 1.0
    weights = draw.choice([0.3, 1, 2], m)
    asked = problem(rates, [2, 1], workers=draw.choice([1, 2], m), weights=weights)
    found = answer(asked)
    assert levels(asked, found) == pytest.approx(_lexicographic(asked, weights / weights.sum()), abs=2e-4)
    assert (asked.workers @ found.shares <= asked.gpus + 1e-7).all()
    assert (found.shares.sum(axis=1) <= 1 + 1e-7).all()
    assert found.gap < 1e-6


def test_a_saturated_job_does_not_hold_the_others_back() -> None:
    """Job 0 can use one GPU only; with a tiny weight it is saturated last, and the rest is shared."""
    asked = problem([[1.0], [1.0], [1.0]], [2], weights=[10, 0.01, 0.01])
    assert answer(asked).shares[:, 0] == pytest.approx([1, 0.5, 0.5], abs=1e-6)


def test_teams_share_by_weight_and_hand_on_what_they_cannot_use() -> None:
    teams = (EntityShare("a", 1.0), EntityShare("b", 2.0))
    asked = problem([[1.0]] * 6, [3], entities=teams, entity=np.array([0, 0, 0, 0, 1, 1]))
    assert answer(asked).shares[:, 0] == pytest.approx([0.25] * 4 + [1, 1], abs=1e-6)
    wide = problem([[1.0]] * 6, [4], entities=teams, entity=np.array([0, 0, 0, 0, 0, 1]))
    assert answer(wide).shares[:, 0] == pytest.approx([0.6] * 5 + [1], abs=1e-6)


def test_a_fifo_team_serves_its_jobs_in_order() -> None:
    teams = (EntityShare("a", 1.0, "fifo"), EntityShare("b", 1.0))
    asked = problem([[1.0]] * 6, [3], entities=teams, entity=np.array([0, 0, 0, 1, 1, 1]))
    assert answer(asked).shares[:, 0] == pytest.approx([1, 0.5, 0, 0.5, 0.5, 0.5], abs=1e-6)


def test_agnostic_levels_are_shares_of_time() -> None:
    draw = np.random.default_rng(3)
    asked = problem(draw.uniform(1, 9, (4, 2)), [1, 1])
    assert answer(asked, agnostic=True).shares.sum(axis=1) == pytest.approx([0.5] * 4, abs=1e-6)


def test_pairs_raise_the_level() -> None:
    shared = pairs((0, 1, [[0.8, 0.8]]))
    asked = problem([[1.0], [1.0]], [1], **shared)
    assert answer(asked).objective == pytest.approx(1.0)  # half a GPU each, weights of a half
    found = answer(asked, space_sharing=True)
    assert found.objective == pytest.approx(1.6)
    assert found.shares[:, 0] == pytest.approx([0, 0, 1], abs=1e-5)
