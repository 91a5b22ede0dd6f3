"""Draws by class shares: a second implementation, stated frequencies, and the former uniform draw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scheduler_cases import fork_join_chain, random_placement, random_view, slides_query, system_of
from scipy.stats import chi2
from sizes import examples

from nona.contraction.task_graph import TaskGraph
from nona.errors import SimulationError
from nona.placement.result import Configuration, SubGraphPlacement
from nona.schedulers.registry import get_scheduler
from nona.schedulers.sampling import place_by_table
from nona.schedulers.sampling_tables import build_tables
from nona.system import System

CLUSTERS = [
    ((0, 1, 2, 3, 4, 5), (0, 0, 0, 1, 1, 1)),
    ((0, 0, 1, 1, 2, 2), (0, 1, 0, 1, 0, 1)),
    ((0, 0, 0, 1, 2), (0, 0, 1, 1, 2)),
    ((0, 1), (0, 1)),
    ((0, 0, 0), (0, 1, 1)),
    ((0, 1, 2, 3), (0, 0, 0, 0)),
]


def classed(queries, cluster) -> System:
    servers, kinds = cluster
    names = tuple(f"k{i}" for i in range(max(kinds) + 1))
    made = [
        replace(
            q,
            tasks=TaskGraph(**{**q.tasks.__dict__, "compute_s": np.tile(q.tasks.compute_s, (len(names), 1))}),
        )
        for q in queries
    ]
    return replace(
        system_of(made, servers), executor_class=np.array(kinds, dtype=np.int64), class_names=names
    )


def told(system, query, placed, shares, uniforms, uniform):
    """Executors of the tasks of a job, drawn from plain lists: one candidate per draw."""
    out, used_draws = {}, iter(uniforms)
    server = system.executor_server.tolist()
    by_server = sorted(range(system.executors), key=lambda e: (server[e], e))

    def draw(u, used):
        listed, fraction = by_server, u
        if not uniform:
            edges = np.cumsum(shares[query][shares[query] > 0]) / shares[query].sum()
            kinds = np.flatnonzero(shares[query] > 0)
            at = min(int(np.searchsorted(edges, u, side="right")), len(kinds) - 1)
            low = edges[at - 1] if at else 0.0
            fraction = (u - low) / (edges[at] - low)
            listed = [e for e in by_server if system.executor_class[e] == kinds[at]]
        away = [e for e in listed if server[e] not in {server[o] for o in used}]
        away = away or [e for e in listed if e not in used] or listed
        return away[min(int(fraction * len(away)), len(away) - 1)]

    root = draw(next(used_draws), [])
    out[system.queries[query].decomposition.cuts[0]] = root
    for place in placed:
        p = np.asarray(place.probabilities)
        kept = np.flatnonzero(p > 0)
        chosen = kept[0]
        if len(kept) > 1:
            u = next(used_draws)
            chosen = kept[
                min(int(np.searchsorted(np.cumsum(p[kept]) / p[kept].sum(), u, "right")), len(kept) - 1)
            ]
        c = place.configurations[chosen]
        # draws of parts that the configuration does not use are left over
        most = max(
            len(x.parts) - (0 <= x.root_part < len(x.parts)) for x in (place.configurations[i] for i in kept)
        )
        own = [next(used_draws) for _ in range(most)]
        used, sink = [root], root
        for number, part in enumerate(c.parts):
            e = root
            if number != c.root_part:
                e = draw(own.pop(0), used)
                used.append(e)
            if number == c.sink_part:
                sink = e
            out.update(dict.fromkeys(part, e))
        root = sink
        out[place.subgraph.sink] = root
    return [out[t] for t in range(len(system.queries[query].tasks))]


@examples(150)
@given(
    seed=st.integers(0, 10**6),
    cluster=st.sampled_from(CLUSTERS),
    widths=st.lists(st.integers(0, 5), max_size=3),
    alike=st.booleans(),
)
def test_draws_are_those_of_plain_lists(seed, cluster, widths, alike):
    """Uniform shares are the draw over all executors; other ones draw the class first, and keep it."""
    system = classed([fork_join_chain("q", widths, seed), slides_query()], cluster)
    rng = np.random.default_rng(seed)
    classes = len(system.class_names)
    shares = rng.dirichlet(np.ones(classes), 2)
    if classes > 1 and rng.random() < 0.5:
        shares[0, rng.integers(classes)] = 0.0
        shares /= shares.sum(axis=1, keepdims=True)
    given_shares = system.uniform_shares if alike else shares
    placement = random_placement(system, seed)
    prepared = build_tables(system, placement.queries, shares=given_shares)
    for query in range(2):
        uniforms = rng.random(prepared.uniforms_per_job)
        out = np.full(len(system.queries[query].tasks), -7, dtype=np.int64)
        place_by_table(0.0, query, random_view(system, rng), prepared.tables, uniforms, out)
        uniform = alike or classes == 1
        assert out.tolist() == told(system, query, placement.queries[query], shares, uniforms, uniform)


def test_uniform_shares_need_no_classes():
    """One pool for all, and the same decisions as without shares."""
    system = classed([fork_join_chain("q", [3, 2], 4)], CLUSTERS[1])
    placement = random_placement(system, 4)
    plain = build_tables(system, placement.queries)
    told_shares = build_tables(system, placement.queries, shares=system.uniform_shares)
    assert len(plain.tables.pool_start) == 2
    for a, b in zip(plain.tables, told_shares.tables, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("cluster", [CLUSTERS[0], CLUSTERS[1], CLUSTERS[2]])
def test_every_part_has_the_class_shares_of_its_query(cluster):
    """Home and remote part alike, also where a class runs out of servers; uniform within the class."""
    system = classed([slides_query(), slides_query()], cluster)
    subgraph = system.queries[0].decomposition.subgraphs[0]
    placed = [[SubGraphPlacement(subgraph, (Configuration(((1,), (2,)), 0, 0),), np.ones(1))]] * 2
    classes = len(system.class_names)
    shares = np.array([[0.7, 0.3, 0.0], [0.1, 0.2, 0.7]])[:, :classes]
    shares = shares / shares.sum(axis=1, keepdims=True)
    prepared = build_tables(system, placed, shares=shares)
    rng, count = np.random.default_rng(7), 6000
    for query in range(2):
        homes, parts = np.zeros(system.executors), np.zeros(classes)
        for _ in range(count):
            out = np.zeros(4, dtype=np.int64)
            place_by_table(0.0, query, random_view(system, rng), prepared.tables, rng.random(2), out)
            homes[out[0]] += 1
            parts[system.executor_class[out[2]]] += 1
        used = shares[query] > 0
        within = shares[query][system.executor_class] / system.class_counts[system.executor_class]
        for counts, p in ((homes, within), (parts, shares[query])):
            assert counts[p == 0].sum() == 0
            expected = count * p[p > 0]
            statistic = float(((counts[p > 0] - expected) ** 2 / expected).sum())
            assert statistic < chi2.ppf(0.9995, (p > 0).sum() - 1 + (used.sum() == 1))


def test_of_two_choices_each_is_drawn_by_the_shares_and_the_shorter_queue_wins():
    system = classed([slides_query()], CLUSTERS[0])
    subgraph = system.queries[0].decomposition.subgraphs[0]
    placed = [[SubGraphPlacement(subgraph, (Configuration(((1,), (2,)), 0, 0),), np.ones(1))]]
    shares = np.array([[0.25, 0.75]])
    prepared = build_tables(system, placed, 2, shares)
    rng, first = np.random.default_rng(3), np.zeros(2)
    for _ in range(4000):
        view = random_view(system, rng)
        queues = np.where(system.executor_class == 0, 9, 0)
        out = np.zeros(4, dtype=np.int64)
        u = rng.random(prepared.uniforms_per_job)
        place_by_table(0.0, 0, view._replace(queue_length=queues), prepared.tables, u, out)
        first[system.executor_class[out[0]]] += 1
    # class 0 is taken only where both candidates are of it
    assert first[0] / 4000 == pytest.approx(0.25**2, abs=4 * np.sqrt(0.0625 * 0.94 / 4000))


def test_shares_that_cannot_be_drawn_are_refused():
    system = classed([slides_query()], CLUSTERS[0])
    placement = random_placement(system)
    for bad in ([[0.5, 0.6]], [[-0.5, 1.5]]):
        with pytest.raises(SimulationError, match=r"Class shares of 'slides'.*solve again"):
            build_tables(system, placement.queries, shares=np.array(bad))
    with pytest.raises(SimulationError, match="query classes, executor classes"):
        build_tables(system, placement.queries, shares=np.ones((1, 3)) / 3)


@pytest.mark.parametrize("name", ["local", "spread", "expert"])
def test_fixed_placements_draw_only_where_the_weights_fit(name):
    system = classed([slides_query()], CLUSTERS[0])
    large = replace(system.queries[0], weight_bytes=8e9)
    system = replace(system, queries=(large,), class_memory_bytes=np.array([5e9, 16e9]))
    prepared = get_scheduler(name).prepare(system, None, {})
    rng = np.random.default_rng(1)
    for _ in range(50):
        out = np.zeros(4, dtype=np.int64)
        u = rng.random(prepared.uniforms_per_job)
        place_by_table(0.0, 0, random_view(system, rng), prepared.tables, u, out)
        assert (system.executor_class[out] == 1).all()
