"""ESG_1Q: every form of the search finds what exhaustive search finds."""

from itertools import product
from math import fsum, inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import SimulationError
from nona.serverless.policies.esg.search import VARIANTS, GroupSearch

Group = tuple[np.ndarray, np.ndarray]


def by_hand(time: np.ndarray, cost: np.ndarray, limit: float, k: int) -> list[tuple[int, ...]]:
    """The best path of each first configuration, the k best of these, by listing all."""
    n, c = time.shape
    paths = []
    for path in product(range(c), repeat=n):
        spent = fsum(time[i, x] for i, x in enumerate(path))
        if spent <= limit:
            paths.append((fsum(cost[i, x] for i, x in enumerate(path)), spent, path))
    best = {path[0]: (cost, spent, path) for cost, spent, path in sorted(paths, reverse=True)}
    return [p for _, _, p in sorted(best.values())[:k]]


@st.composite
def groups(draw: st.DrawFn) -> tuple[Group, float]:
    """Small groups on a coarse grid, so that equal costs and equal times are common; and a limit."""
    n, c = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    numbers = st.lists(st.integers(0, draw(st.sampled_from([2, 5, 1000]))), min_size=n * c, max_size=n * c)
    time = np.array(draw(numbers), dtype=float).reshape(n, c) / 8 + 0.125
    cost = np.array(draw(numbers), dtype=float).reshape(n, c) / 4
    low, high = time.min(axis=1).sum(), time.max(axis=1).sum()
    return (time, cost), low + draw(st.integers(-1, 12)) / 10 * (high - low)


@examples(150)
@given(groups(), st.sampled_from([1, 3, 5]))
def test_every_variant_finds_the_k_best(drawn: tuple[Group, float], k: int) -> None:
    (time, cost), limit = drawn
    expected = by_hand(time, cost, limit, k)
    group = GroupSearch(time, cost)
    for variant in VARIANTS:
        found = group.search(limit, k, variant)
        if expected:
            assert list(found.paths) == expected, variant
            assert found.feasible
            spent = [fsum(time[i, x] for i, x in enumerate(p)) for p in expected]
            assert list(found.time_s) == pytest.approx(spent, rel=1e-12)
        else:
            assert not found.feasible
            assert len(found.paths) == 1
            assert found.time_s[0] == pytest.approx(time.min(axis=1).sum(), rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_variants_agree_on_real_numbers(seed: int) -> None:
    draws = np.random.default_rng(seed)
    time, cost = draws.lognormal(0, 1, (3, 24)), draws.lognormal(-9, 1, (3, 24))
    time[0, 3] = time[2, 5] = inf  # cannot run there
    group = GroupSearch(time, cost)
    limits = np.quantile(time[np.isfinite(time)], [0.2, 0.5, 0.9]) * 3
    for limit in limits.tolist():
        found = {v: group.search(limit, 5, v) for v in VARIANTS}
        exhaustive = found["exhaustive"]
        assert exhaustive.looked == 23 + 23 * 24 + 23 * 24 * 23
        for variant, other in found.items():
            assert (other.paths, other.cost_usd) == (exhaustive.paths, exhaustive.cost_usd), variant
        assert found["thinned"].looked <= found["two-blades"].looked <= exhaustive.looked
        assert all(len(f.paths) <= f.opened <= f.looked for f in found.values())
        assert len({path[0] for path in exhaustive.paths}) == len(exhaustive.paths)


def test_equal_paths_cost_no_enumeration() -> None:
    """Where all is free and equally fast, there are 40³ best paths; five are found at once."""
    group = GroupSearch(np.ones((3, 40)), np.zeros((3, 40)))
    found = group.search(3.0)
    assert found.paths == tuple((x, 0, 0) for x in range(5))
    assert found.looked < 200


def test_a_smaller_limit_never_makes_it_cheaper() -> None:
    draws = np.random.default_rng(7)
    group = GroupSearch(draws.random((3, 30)) + 0.1, draws.random((3, 30)))
    costs = [group.search(limit).cost_usd[0] for limit in np.linspace(3.3, 0.6, 20).tolist()]
    assert costs == sorted(costs)


def test_usable_configurations_only() -> None:
    time, cost = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([[1.0, 9.0], [1.0, 9.0]])
    usable = np.array([[False, True], [True, True]])
    assert GroupSearch(time, cost, usable).search(2.0, 1).paths == ((1, 0),)
    with pytest.raises(SimulationError, match="no configuration"):
        GroupSearch(time, cost, np.array([[False, False], [True, True]]))


def test_refusals() -> None:
    group = GroupSearch(np.ones((1, 2)), np.ones((1, 2)))
    for k, variant in ((0, "stages"), (1, "three-blades")):
        with pytest.raises(SimulationError, match="must be at least 1 and the search"):
            group.search(1.0, k, variant)
    with pytest.raises(SimulationError, match="lower 'group'"):
        GroupSearch(np.ones((9, 256)), np.ones((9, 256)))


def test_the_lists_grow_when_they_must() -> None:
    draws = np.random.default_rng(3)
    group = GroupSearch(draws.random((3, 60)), draws.random((3, 60)))
    assert group.search(2.9, 5, "stages").paths == group.search(2.9, 5, "exhaustive").paths
    low = GroupSearch(1 - draws.random((3, 60)), draws.random((3, 60)))
    assert low.search(0.6, 5, "best-first").paths == low.search(0.6, 5, "exhaustive").paths
