"""Oracle, local search and bounds of large interiors, against all configurations of small ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interior_helpers import every_configuration, random_case
from placement_helpers import random_system
from sizes import examples

from nona.placement.certificate import Task
from nona.placement.configurations import Shape
from nona.placement.enumeration import candidates
from nona.placement.interiors import compiled_searches as earliest
from nona.placement.interiors import compiled_searches as search
from nona.placement.interiors.column_generation import (
    Budget,
    best_configuration,
    cheapest_configuration,
    clusters,
    flat_groups,
)
from nona.placement.interiors.compiled_searches import climb, cost_of
from nona.placement.interiors.prices import Prices, block_prices, costs
from nona.placement.interiors.relaxed_columns import common_s, corners, least_columns, least_cost_s
from nona.placement.interiors.start_bounds import crossing_s, earliest_end, flatten, starts, tails_s
from nona.placement.messages import Candidates, Link, Route
from nona.placement.model import build_model
from nona.placement.solve import solve
from nona.placement.solver.parametric import solve_parametric
from nona.placement.solver.problem import build_problem, groups_of
from nona.placement.spans import spans

SEEDS = st.integers(0, 10**6)


def away(shape: Shape, link: Link, slots: int) -> Candidates | None:
    """All configurations that are not local; None if there are none."""
    rows = every_configuration(shape, slots)
    rows = rows[rows.any(axis=1)]
    return Candidates(shape, rows, link) if len(rows) else None


@given(SEEDS)
@examples(120)
def test_the_oracle_finds_the_least_of_all_configurations(seed: int) -> None:
    shape, link, slots, prices = random_case(seed)
    every = Candidates(shape, every_configuration(shape, slots), link)
    found = cheapest_configuration(shape, link, slots, prices)
    least = costs(every, prices).min()
    assert found.closed
    assert found.cost_s == pytest.approx(least, rel=1e-9, abs=1e-12)
    own = costs(Candidates(shape, found.labels[None], link), prices)[0]
    assert own == pytest.approx(found.cost_s, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_a_search_cut_short_leaves_an_honest_bound(seed: int) -> None:
    shape, link, slots, prices = random_case(seed, most=9)
    full = cheapest_configuration(shape, link, slots, prices)
    for nodes in (1, 5, 40):
        short = cheapest_configuration(shape, link, slots, prices, nodes=nodes)
        assert short.bound_s <= full.cost_s * (1 + 1e-12) <= short.cost_s * (1 + 1e-9)


def test_one_server_leaves_the_local_configuration() -> None:
    shape, link, _, _ = random_case(3)
    found = best_configuration(shape, link, 1, link_wait=0.1, server_wait_s=0.1, load_price=1.0)
    assert (found.labels == 0).all()
    assert found.closed


@pytest.mark.parametrize("seed", range(25))
def test_the_local_search_counts_as_the_model_does(seed: int) -> None:
    shape, link, slots, prices = random_case(seed)
    if seed % 3 == 0 and link.discipline == "fifo":
        link = replace(link, route=Route(1.7 / link.capacity, 0.6 / link.capacity))
    every = away(shape, link, slots)
    if every is None:
        return
    flat = flatten(shape, link, slots, prices)
    tensors, b = int(shape.tensor.max(initial=0)) + 1, prices.blocks
    fixed = common_s(flat, prices, shape) + float(b.factor @ b.root_s**2)
    scratch = (
        np.full((tensors, slots + 1), -1.0),
        np.zeros(len(flat.source) + 1),
        np.zeros(shape.m + 2),
        np.zeros(slots + 1),
        np.zeros((len(b.factor) + 1, slots + 1)),
    )
    for row, cost in zip(every.labels, costs(every, prices), strict=True):
        server = np.concatenate([[0], row])
        assert cost_of(flat, server, *scratch) + fixed == pytest.approx(cost, rel=1e-9, abs=1e-12)
    start = np.concatenate([[0], every.labels[-1]])
    first = cost_of(flat, start, *scratch)
    reached, _ = climb(flat, tensors, start, *flat_groups(clusters(shape)), 10_000)
    assert reached <= first
    assert reached == pytest.approx(cost_of(flat, start, *scratch), rel=1e-12)


@given(SEEDS, st.sampled_from([0.0, 0.5, 2.0, 9.0]))
@examples(120)
def test_the_relaxation_lies_below_every_configuration(seed: int, alpha: float) -> None:
    shape, link, slots, prices = random_case(seed)
    every = away(shape, link, slots)
    if every is None:
        return
    flat = flatten(shape, link, slots, prices)
    total = costs(every, replace(prices, load=alpha, square=0.0))
    bound = least_cost_s(flat, prices, alpha) + common_s(flat, prices, shape)
    assert bound <= total.min() + 1e-9
    delay = crossing_s(flat, np.zeros(len(flat.source)))
    span = spans(every, prices.link_wait, prices.server_wait_s)[0]
    assert earliest_end(flat, starts(flat, delay), delay) <= span.min() + 1e-9
    for column in (least_columns(every, slots, prices),):
        least = min(
            max(c.chain_s, c.message_s + c.slope * prices.link_wait) + alpha * c.load_s for c in column
        )
        assert least <= total.min() + 1e-9


def test_work_that_moves_nothing_in_time_stays_together() -> None:
    """A fork whose messages take longer than all its work: nothing starts before all is done in turn."""
    ints = [np.array(v, dtype=np.int64) for v in ([0, 0, 0, 1, 2, 3], [1, 2, 3, 4, 4, 4], range(6))]
    shape = Shape(True, True, np.ones((1, 3)), np.ones(3), *ints, np.full(6, 8.0))
    flat = flatten(shape, Link(1.0, 0.0), 8, Prices())
    assert starts(flat, crossing_s(flat, np.zeros(6)))[-1] == 3.0
    quick = flatten(shape, Link(16.0, 0.0), 8, Prices())
    assert starts(quick, crossing_s(quick, np.zeros(6)))[-1] == pytest.approx(1.5), "crossed once, for half"


def test_compiled_searches_equal_their_plain_forms() -> None:
    shape, link, slots, prices = random_case(11)
    flat = flatten(shape, link, slots, prices)
    delay, first = crossing_s(flat, np.zeros(len(flat.source))), np.zeros(shape.m + 2)
    arguments = (shape.m + 2, flat.time_s, first, flat.into_at, flat.into, flat.source, delay)
    plain = earliest.earliest_starts.py_func(*arguments)  # type: ignore[attr-defined]
    assert plain.tolist() == earliest.earliest_starts(*arguments).tolist()
    results = []
    for function in (search.search, search.search.py_func):  # type: ignore[attr-defined]
        found = np.zeros(shape.m + 2, dtype=np.int64)
        results.append((function(flat, tails_s(flat, delay), 1e9, found, 10_000), found.tolist()))
    assert results[0] == results[1]


@given(st.lists(st.tuples(st.floats(0.01, 9), st.floats(0, 9)), max_size=6), st.floats(0, 1))
@examples(80)
def test_corners_span_the_region_of_the_cuts(cuts: list[tuple[float, float]], least: float) -> None:
    cuts = [(0.0, 1.0), *((a, 1.0 + h) for a, h in cuts)]
    found = corners(cuts, least)
    for cost, load in found:
        assert load >= least
        assert all(cost + a * load >= h - 1e-9 for a, h in cuts)
    for (
        a,
        h,
    ) in cuts:  # no cut is stated too strongly: at its own price the corners reach no more than all cuts say
        loads = np.linspace(least, least + 2000.0, 4001)
        lowest = (np.max([g - b * loads for b, g in cuts], axis=0) + a * loads).min()
        assert min(cost + a * load for cost, load in found) <= lowest + 1e-6 * (1 + abs(h))


def test_prices_of_blocks_are_the_gradient_of_the_server_wait() -> None:
    system = random_system(4, load=0.7, classes=2)
    model = build_model(system, lambda shape, link: candidates(shape, link, 8))
    x = [[np.full(len(c), 1.0 / len(c)) for c in row] for row in model.candidates]
    visits = np.array([0.7, 1.9])
    slopes, charged = model.server_wait_gradient(x, visits), block_prices(model, x, visits)
    for j, row in enumerate(model.candidates):
        for k in range(len(row)):
            assert charged[j][k].of(model.blocks[j][k]) == pytest.approx(slopes[j][k][0], rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
def test_relaxed_columns_agree_with_full_enumeration(seed: int, discipline: str) -> None:
    """At a constant server wait: never above the optimum over everything, and not far below either."""
    system = random_system(seed, load=0.3 + 0.1 * seed, network=0.2, width=5, discipline=discipline)
    full, few = (build_model(system, lambda shape, link, n=n: candidates(shape, link, 8, n)) for n in (6, 1))
    wait = 0.4 * full.least_server_wait_s
    best = solve_parametric(build_problem(full, groups_of(full), wait), gap=1e-6)
    groups = groups_of(few)
    prices = [Prices(0.0, float(wait[g.query])) for g in groups]
    used = np.flatnonzero(best.x)
    at = build_problem(full, groups_of(full), wait).wait(used, best.x[used])
    bound = Task(few, groups, wait, prices).bound(best.value_s, at, Budget(10.0))
    assert bound <= best.value_s
    assert bound >= best.value_s * (1 - 0.02)


@pytest.mark.parametrize("seed", range(4))
def test_column_generation_is_as_good_as_full_enumeration(seed: int) -> None:
    system = random_system(seed, load=0.3 + 0.1 * seed, network=0.2, width=5)
    everything, generated = solve(system), solve(system, enumerated=1)
    assert generated.global_bound_s <= everything.objective_s * (1 + 1e-9)
    assert generated.objective_s <= everything.objective_s * 1.03
    assert generated.lower_bound_s <= generated.objective_s
