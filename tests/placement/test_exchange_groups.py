"""Bounds by groups and by groups that share a server, against all configurations of small interiors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interior_helpers import every_configuration, random_case, random_shape
from sizes import examples

from nona.placement.configurations import Shape
from nona.placement.interiors.exchange_groups import (
    exchange_group_cost_s,
    exchange_group_ends,
    exchange_groups_of,
)
from nona.placement.interiors.prices import Prices, costs
from nona.placement.interiors.relaxed_columns import common_s, least_squares
from nona.placement.interiors.start_bounds import flatten
from nona.placement.messages import Candidates, Link

SEEDS = st.integers(0, 10**6)


def experts(n: int, join: bool, size: float = 4.0) -> Shape:
    """A root, n equal pairs of tasks, perhaps a task that joins their outputs, and the sink."""
    edges = []
    for i in range(n):
        a, b, to = 2 * i + 1, 2 * i + 2, 2 * n + 1
        edges += [(0, a, 0, 1.0), (a, b, a, size), (b, to, b, 1.0)]
    if join:
        edges += [(2 * n + 1, 2 * n + 2, 2 * n + 1, 1.0), (0, 2 * n + 2, 99, 2.0)]
    edges.sort(key=lambda e: (e[0], e[2], e[1]))
    names = {t: i for i, t in enumerate(dict.fromkeys(e[2] for e in edges))}
    source, target = (np.array([e[i] for e in edges], dtype=np.int64) for i in (0, 1))
    times = np.array([1.0] * (2 * n) + [0.1] * join)
    tensor = np.array([names[e[2]] for e in edges], dtype=np.int64)
    size_bytes = np.array([e[3] for e in edges])
    return Shape(True, True, times[None], times, source, target, tensor, size_bytes)


def check(shape: Shape, link: Link, slots: int, prices: Prices, alpha: float, squares: float) -> int:
    """The bounds by all groups lie below all configurations; the number of bounds."""
    rows = every_configuration(shape, slots)
    every = Candidates(shape, rows[rows.any(axis=1)], link)
    families = exchange_groups_of(shape)
    if not len(every) or not families:
        return 0
    at = replace(prices, load=alpha, square=alpha * squares)
    flat = flatten(shape, link, slots, prices)
    per_byte = alpha * np.array([1.0 / link.capacity, squares / link.capacity**2])
    least = costs(every, at).min() - common_s(flat, prices, shape)
    for family in families:
        seconds = flat.link_s + squares * flat.link_s**2
        ends = (
            exchange_group_ends(flat, family, 0.0 * seconds),
            exchange_group_ends(flat, family, alpha * seconds),
        )
        assert exchange_group_cost_s(flat, prices, family, per_byte, *ends) <= least + 1e-9 * (
            1.0 + abs(least)
        )
    return len(families)


@given(SEEDS, st.sampled_from([0.0, 0.3, 1.0, 4.0]), st.sampled_from([0.0, 0.7]))
@examples(150)
def test_no_configuration_is_below_the_bound_by_cores(seed: int, alpha: float, squares: float) -> None:
    rng = np.random.default_rng(seed)
    _, link, slots, prices = random_case(seed)
    shape = random_shape(rng, int(rng.integers(4, 7)), max(len(prices.blocks.factor), 1))
    check(shape, link, slots, prices, alpha, squares)


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize(("n", "join"), [(3, False), (2, True), (3, True)])
def test_experts(seed: int, n: int, join: bool) -> None:
    _, link, slots, prices = random_case(seed)
    blocks = prices.blocks
    if len(blocks.factor) > 1:
        blocks = replace(
            blocks,
            **{k: getattr(blocks, k)[:1] for k in ("factor", "run_s", "root_s", "ahead_s", "ahead_s2")},
        )
    if n == 3 and join:
        slots = min(slots, 3)
    checked = check(experts(n, join), link, slots, replace(prices, blocks=blocks), 0.4 * (seed % 4), 0.2)
    assert checked >= 1


def test_the_bound_by_cores_counts_every_expert_that_leaves() -> None:
    shape = experts(3, False)
    family = exchange_groups_of(shape)[0]
    assert family.work_s.tolist() == [2.0, 2.0, 2.0]
    # Each takes in the root's tensor, shared by those on its server, and sends one of its own.
    assert family.away[0] * 2.0 == pytest.approx([2.0, 2.0], rel=1e-4)
    assert family.into[2] * 2.0 == pytest.approx([1 / 3, 1 / 3], rel=1e-4)


def test_tasks_that_share_a_server_share_a_block_unless_one_between_them_waits() -> None:
    """Three tasks in a chain: whole, cut before the last, cut everywhere."""
    ints = [np.array(v, dtype=np.int64) for v in ([0, 1, 2, 3], [1, 2, 3, 4], range(4))]
    times = np.array([1.0, 2.0, 3.0])
    shape = Shape(True, True, times[None], times, *ints, np.ones(4))
    blocks = replace(Prices().blocks, factor=np.ones(1), run_s=np.zeros(1), root_s=np.full(1, 0.5))
    flat = flatten(shape, Link(1.0, 0.0), 8, Prices(blocks=blocks))
    squares = least_squares(flat, np.array([3, 2, 1], dtype=np.int64), 0)[0]
    assert squares.tolist() == [6.5**2, 3.5**2 + 3.0**2, 1.5**2 + 4.0 + 9.0, 0.25 + 1.0 + 4.0 + 9.0]
