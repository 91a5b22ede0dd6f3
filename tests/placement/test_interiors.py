"""Interiors: oracle, searches, bounds and restricted families, against all configurations of small ones."""

from dataclasses import replace

import numpy as np
import pytest
from drawn_shapes import every_configuration, random_case, random_shape, searched, shape_of
from hypothesis import given
from hypothesis import strategies as st
from placement_helpers import query, random_system, system
from sizes import examples, first

from nona.placement.certificate import Task
from nona.placement.configurations import canonical, shapes_of
from nona.placement.enumeration import CLASSES, candidates, component_classes, components
from nona.placement.fixed import local_placement
from nona.placement.interiors import compiled_searches as search
from nona.placement.interiors import exchange_groups, relaxed_columns
from nona.placement.interiors.column_generation import Budget, clusters, flat_groups
from nona.placement.interiors.compiled_searches import climb, cost_of
from nona.placement.interiors.prices import Prices, block_prices, costs
from nona.placement.interiors.start_bounds import crossing_s, earliest_end, flatten, starts, tails_s
from nona.placement.messages import Candidates, Link, Route
from nona.placement.model import build_model
from nona.placement.solve import solve
from nona.placement.solver.parametric import solve_parametric
from nona.placement.solver.problem import build_problem, groups_of, least_column
from nona.placement.spans import spans
from nona.system import Stream

SEEDS = st.integers(0, 10**6)


def away(shape, link, slots):
    """All configurations that are not local; None if there are none."""
    rows = every_configuration(shape, slots)
    rows = rows[rows.any(axis=1)]
    return Candidates(shape, rows, link) if len(rows) else None


@given(SEEDS)
@examples(120)
def test_the_oracle_finds_the_least_of_all_configurations(seed):
    shape, link, slots, prices = random_case(seed)
    every = Candidates(shape, every_configuration(shape, slots), link)
    found = searched(shape, link, slots, prices)
    least = costs(every, prices).min()
    assert found.closed
    assert found.cost_s == pytest.approx(least, rel=1e-9, abs=1e-12)
    own = costs(Candidates(shape, found.labels[None], link), prices)[0]
    assert own == pytest.approx(found.cost_s, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_a_search_cut_short_leaves_an_honest_bound(seed):
    shape, link, slots, prices = random_case(seed, most=9)
    full = searched(shape, link, slots, prices)
    for nodes in (1, 5, 40):
        short = searched(shape, link, slots, prices, nodes=nodes)
        assert short.bound_s <= full.cost_s * (1 + 1e-12) <= short.cost_s * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(25))
def test_the_local_search_counts_as_the_model_does(seed):
    shape, link, slots, prices = random_case(seed)
    if seed % 3 == 0 and link.discipline == "fifo":
        link = replace(link, route=Route(1.7 / link.capacity, 0.6 / link.capacity))
    every = away(shape, link, slots)
    if every is None:
        return
    flat = flatten(shape, link, slots, prices)
    tensors, b = int(shape.tensor.max(initial=0)) + 1, prices.blocks
    fixed = relaxed_columns.common_s(flat, prices, shape) + float(b.factor @ b.root_s**2)
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
def test_the_relaxation_lies_below_every_configuration(seed, alpha):
    shape, link, slots, prices = random_case(seed)
    every = away(shape, link, slots)
    if every is None:
        return
    flat = flatten(shape, link, slots, prices)
    total = costs(every, replace(prices, load=alpha, square=0.0))
    bound = relaxed_columns.least_cost_s(flat, prices, alpha) + relaxed_columns.common_s(flat, prices, shape)
    assert bound <= total.min() + 1e-9
    delay = crossing_s(flat, np.zeros(len(flat.source)))
    span = spans(every, prices.link_wait, prices.server_wait_s)[0]
    assert earliest_end(flat, starts(flat, delay), delay) <= span.min() + 1e-9
    least = min(
        max(c.chain_s, c.message_s + c.slope * prices.link_wait) + alpha * c.load_s
        for c in relaxed_columns.least_columns(every, slots, prices)
    )
    assert least <= total.min() + 1e-9


def test_work_that_moves_nothing_in_time_stays_together():
    """A fork whose messages take longer than all its work: nothing starts before all is done in turn."""
    shape = shape_of([1] * 3, [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)], size=[8.0] * 6)
    flat = flatten(shape, Link(1.0, 0.0), 8, Prices())
    assert starts(flat, crossing_s(flat, np.zeros(6)))[-1] == 3.0
    quick = flatten(shape, Link(16.0, 0.0), 8, Prices())
    assert starts(quick, crossing_s(quick, np.zeros(6)))[-1] == pytest.approx(1.5), "crossed once, for half"


def test_compiled_searches_equal_their_plain_forms():
    shape, link, slots, prices = random_case(11)
    flat = flatten(shape, link, slots, prices)
    delay, first = crossing_s(flat, np.zeros(len(flat.source))), np.zeros(shape.m + 2)
    arguments = (shape.m + 2, flat.time_s, first, flat.into_at, flat.into, flat.source, delay)
    plain = search.earliest_starts.py_func(*arguments)
    assert plain.tolist() == search.earliest_starts(*arguments).tolist()
    results = []
    for function in (search.search, search.search.py_func):
        found = np.zeros(shape.m + 2, dtype=np.int64)
        results.append((function(flat, tails_s(flat, delay), 1e9, found, 10_000), found.tolist()))
    assert results[0] == results[1]


@given(st.lists(st.tuples(st.floats(0.01, 9), st.floats(0, 9)), max_size=6), st.floats(0, 1))
@examples(80)
def test_corners_span_the_region_of_the_cuts(cuts, least):
    cuts = [(0.0, 1.0), *((a, 1.0 + h) for a, h in cuts)]
    found = relaxed_columns.corners(cuts, least)
    for cost, load in found:
        assert load >= least
        assert all(cost + a * load >= h - 1e-9 for a, h in cuts)
    for a, h in cuts:  # none is stated too strongly: at its price the corners reach no more than all cuts say
        loads = np.linspace(least, least + 2000.0, 4001)
        lowest = (np.max([g - b * loads for b, g in cuts], axis=0) + a * loads).min()
        assert min(cost + a * load for cost, load in found) <= lowest + 1e-6 * (1 + abs(h))


def test_prices_of_blocks_are_the_gradient_of_the_server_wait():
    system = random_system(4, load=0.7, classes=2)
    model = build_model(system, lambda shape, link: candidates(shape, link, 8))
    x = [[np.full(len(c), 1.0 / len(c)) for c in row] for row in model.candidates]
    visits = np.array([0.7, 1.9])
    slopes, charged = model.servers.gradient(x, visits), block_prices(model, x, visits)
    for j, row in enumerate(model.candidates):
        for k in range(len(row)):
            assert charged[j][k].of(model.blocks[j][k]) == pytest.approx(slopes[j][k][0], rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
def test_relaxed_columns_agree_with_full_enumeration(seed, discipline):
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
def test_column_generation_is_as_good_as_full_enumeration(seed):
    system = random_system(seed, load=0.3 + 0.1 * seed, network=0.2, width=5)
    everything, generated = solve(system), solve(system, enumerated=1)
    assert generated.global_bound_s <= everything.objective_s * (1 + 1e-9)
    assert generated.objective_s <= everything.objective_s * 1.03
    assert generated.lower_bound_s <= generated.objective_s


def experts(n, join, size=4.0):
    """A root, n equal pairs of tasks, perhaps a task that joins their outputs, and the sink."""
    edges = []
    for i in range(n):
        a, b, to = 2 * i + 1, 2 * i + 2, 2 * n + 1
        edges += [(0, a, 0, 1.0), (a, b, a, size), (b, to, b, 1.0)]
    if join:
        edges += [(2 * n + 1, 2 * n + 2, 2 * n + 1, 1.0), (0, 2 * n + 2, 99, 2.0)]
    edges.sort(key=lambda e: (e[0], e[2], e[1]))
    names = {t: i for i, t in enumerate(dict.fromkeys(e[2] for e in edges))}
    return shape_of([1.0] * 2 * n + [0.1] * join, edges, [names[e[2]] for e in edges], [e[3] for e in edges])


def check(shape, link, slots, prices, alpha, squares):
    """The bounds by all groups lie below all configurations; the number of bounds."""
    rows = every_configuration(shape, slots)
    every = Candidates(shape, rows[rows.any(axis=1)], link)
    families = exchange_groups.exchange_groups_of(shape)
    if not len(every) or not families:
        return 0
    at = replace(prices, load=alpha, square=alpha * squares)
    flat = flatten(shape, link, slots, prices)
    per_byte = alpha * np.array([1.0 / link.capacity, squares / link.capacity**2])
    least = costs(every, at).min() - relaxed_columns.common_s(flat, prices, shape)
    for family in families:
        seconds = flat.link_s + squares * flat.link_s**2
        ends = (exchange_groups.exchange_group_ends(flat, family, a * seconds) for a in (0.0, alpha))
        bound = exchange_groups.exchange_group_cost_s(flat, prices, family, per_byte, *ends)
        assert bound <= least + 1e-9 * (1.0 + abs(least))
    return len(families)


@given(SEEDS, st.sampled_from([0.0, 0.3, 1.0, 4.0]), st.sampled_from([0.0, 0.7]))
@examples(150)
def test_no_configuration_is_below_the_bound_by_cores(seed, alpha, squares):
    rng = np.random.default_rng(seed)
    _, link, slots, prices = random_case(seed)
    shape = random_shape(rng, int(rng.integers(4, 7)), max(len(prices.blocks.factor), 1))
    check(shape, link, slots, prices, alpha, squares)


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize(("n", "join"), [(3, False), (2, True), (3, True)])
def test_experts(seed, n, join):
    _, link, slots, prices = random_case(seed)
    rows = ("factor", "run_s", "root_s", "ahead_s", "ahead_s2")
    blocks = replace(prices.blocks, **{k: getattr(prices.blocks, k)[:1] for k in rows})
    if n == 3 and join:
        slots = min(slots, 3)
    checked = check(experts(n, join), link, slots, replace(prices, blocks=blocks), 0.4 * (seed % 4), 0.2)
    assert checked >= 1


def test_the_bound_by_cores_counts_every_expert_that_leaves():
    shape = experts(3, False)
    family = exchange_groups.exchange_groups_of(shape)[0]
    assert family.work_s.tolist() == [2.0, 2.0, 2.0]
    # Each takes in the root's tensor, shared by those on its server, and sends one of its own.
    assert family.away[0] * 2.0 == pytest.approx([2.0, 2.0], rel=1e-4)
    assert family.into[2] * 2.0 == pytest.approx([1 / 3, 1 / 3], rel=1e-4)


def test_tasks_that_share_a_server_share_a_block_unless_one_between_them_waits():
    """Three tasks in a chain: whole, cut before the last, cut everywhere."""
    shape = shape_of([1.0, 2.0, 3.0], [(0, 1), (1, 2), (2, 3), (3, 4)])
    blocks = replace(Prices().blocks, factor=np.ones(1), run_s=np.zeros(1), root_s=np.full(1, 0.5))
    flat = flatten(shape, Link(1.0, 0.0), 8, Prices(blocks=blocks))
    squares = relaxed_columns.least_squares(flat, np.array([3, 2, 1], dtype=np.int64), 0)[0]
    assert squares.tolist() == [6.5**2, 3.5**2 + 3.0**2, 1.5**2 + 4.0 + 9.0, 0.25 + 1.0 + 4.0 + 9.0]


def heads(h, *, shared=True, chain=1, rate=1.0, times=None):
    """A root, h equal (or ``times``) branches of ``chain`` tasks that exchange much, and a sink."""
    compute, edges = [0.001], []
    sink = 1 + h * chain
    for i in range(h):
        first = 1 + i * chain
        edges.append((0, first, 2.0, "x") if shared else (0, first, 2.0))
        edges += [(first + k, first + k + 1, 50.0) for k in range(chain - 1)]
        edges.append((first + chain - 1, sink, 1.0))
        compute += [(times[i] if times else 0.01) / chain] * chain
    return query([*compute, 0.001], edges, rate)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("h", [3, 4, 5])
def test_symmetry_classes_reach_what_full_enumeration_reaches(h, shared):
    s = system(heads(h, shared=shared, rate=20.0), network=Stream(100.0, 1.0, 1.0), servers=12)
    full, classes = solve(s), solve(s, enumerated=2)
    assert classes.objective_s == pytest.approx(full.objective_s, rel=1e-5)
    assert classes.gap <= 1e-4
    assert not any("Restricted" in n for n in classes.notes)


def test_twelve_heads_are_enumerated_by_class():
    s = system(heads(12, rate=5.0), servers=40)
    p = solve(s)
    assert p.gap <= 1e-4
    assert not any("Restricted" in n for n in p.notes)
    assert max(len(c.parts) for c in p.queries[0][0].configurations) > 4
    assert p.objective_s < 0.5 * local_placement(s).objective_s


def test_components_and_their_classes():
    shape = shape_of([1, 1, 1, 1, 2], [(0, 1), (0, 3), (0, 5), (1, 2), (2, 6), (3, 4), (4, 6), (5, 6)])
    parts = components(shape)
    assert parts == ((1, 2), (3, 4), (5,))
    assert component_classes(shape, parts) == (0, 0, 1)


@pytest.mark.parametrize(("h", "chain"), first(1, [(2, 5), (3, 3), (5, 2)]))
def test_whole_components_say_that_they_are_a_restriction(h, chain):
    s = system(heads(h, chain=chain, rate=2.0), servers=20)
    p = solve(s)
    said = any(f"Restricted: interior of {h * chain} tasks in {h} components" in n for n in p.notes)
    assert said == (p.gap > 1e-4), "said unless the bounds close the gap"
    assert 0 <= p.gap < 1
    assert p.lower_bound_s <= p.objective_s <= local_placement(s).objective_s * (1 + 1e-9)


@pytest.mark.verify
def test_many_distinct_branches_fall_back_to_a_stated_family():
    rng = np.random.default_rng(1)
    s = system(heads(40, times=rng.uniform(0.001, 0.01, 40).tolist(), rate=3.0), servers=60, capacity=1e5)
    p = solve(s)
    assert any("40 tasks in 40 components: list schedules" in n for n in p.notes)
    assert p.objective_s < 0.5 * local_placement(s).objective_s
    assert 0 <= p.gap < 0.9
    placed = p.queries[0][0]
    for c in placed.configurations:
        assert sorted(t for part in c.parts for t in part) == list(placed.subgraph.interior)


@given(SEEDS)
@examples(60)
def test_the_bound_of_the_rest_lies_below_every_configuration(seed):
    shape, link, slots, _ = random_case(seed)
    c = away(shape, link, slots)
    if c is None:
        return
    for wait, server_wait in ((0.0, 0.0), (0.5, 0.2), (4.0, 1.0)):
        least = least_column(c, server_wait)
        span = spans(c, wait, server_wait)[0]
        assert span.min() >= max(least.chain_s, least.message_s + least.slope * wait) * (1 - 1e-12)
    assert c.messages.load_s.min() >= least.load_s
    assert c.messages.square_s2.min() >= least.square_s2


@pytest.mark.parametrize("chain", [2, 3])
def test_the_bound_of_a_restricted_family_holds_for_all_configurations(chain):
    """Six tasks solved by components only: its bound lies below the optimum over everything."""
    for rate in (1.0, 20.0, 60.0):
        s = system(heads(6 // chain, chain=chain, rate=rate), servers=12, capacity=1e4)
        everything, restricted = solve(s), solve(s, enumerated=1)
        assert restricted.lower_bound_s <= everything.objective_s * (1 + 1e-9)
        assert everything.objective_s <= restricted.objective_s * (1 + 1e-4)
        assert restricted.objective_s <= everything.objective_s * 1.05, "the family contains a good one"


def test_large_interiors_list_valid_rows_once():
    q = heads(9, chain=3, rate=1.0)
    shape = shapes_of(q.tasks, q.decomposition.subgraphs, np.ones(1))[0]
    for slots in (1, 2, 5, 100):
        c = candidates(shape, Link(1e3, 0.0), slots)
        rows = [tuple(r) for r in c.labels.tolist()]
        assert len(set(rows)) == len(rows) <= CLASSES + 500
        assert rows[0] == (0,) * (shape.m + 1)
        assert all(canonical(r) == r and max(r) < slots for r in rows)
    assert len(candidates(shape, Link(1e3, 0.0), 1)) == 1
    (alone,) = solve(system(q, servers=1)).queries[0][0].configurations
    assert alone.is_local
