"""The decision function that samples configurations: where the parts go, and how often."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scheduler_cases import (
    fork_join_chain,
    random_placement,
    random_view,
    slides_query,
    system_of,
)
from scipy.stats import chi2
from sizes import examples

from nona.decomposition import Decomposition, SubGraph
from nona.errors import SimulationError
from nona.placement.result import Configuration, SubGraphPlacement
from nona.schedulers.sampling import place_by_table
from nona.schedulers.sampling_tables import build_tables

CLUSTERS = [tuple(range(8)), (0, 0, 1, 1, 2, 2), (0, 1, 0, 2, 0, 1), (0, 0, 0), (0,), (0, 1)]


def decide(system, prepared, query, uniforms, view=None):
    out = np.full(len(system.queries[query].tasks), -7, dtype=np.int64)
    view = view or random_view(system, np.random.default_rng(0))
    place_by_table(0.0, query, view, prepared.tables, np.asarray(uniforms), out)
    return out


def sampled_configurations(placed_query, out):
    """For each sub-graph the configurations that explain ``out``, in terms of executors."""
    for placed in placed_query:
        s = placed.subgraph
        root, sink = out[s.root], out[s.sink]
        fits = []
        for c in placed.configurations:
            homes = [{int(out[t]) for t in part} for part in c.parts]
            if any(len(h) != 1 for h in homes):
                continue
            at = [h.pop() for h in homes]
            expected_sink = root if c.sink_part < 0 else at[c.sink_part]
            stays = c.root_part < 0 or at[c.root_part] == root
            remote = [e for i, e in enumerate(at) if i != c.root_part]
            if stays and expected_sink == sink:
                fits.append((c, int(root), remote))
        yield placed, fits


@examples(150)
@given(
    seed=st.integers(0, 10**6),
    cluster=st.sampled_from(CLUSTERS),
    choices=st.sampled_from([1, 2]),
    data=st.data(),
)
def test_every_task_gets_an_executor_and_parts_are_apart_as_far_as_servers_allow(
    seed, cluster, choices, data
):
    widths = data.draw(st.lists(st.integers(0, 5), max_size=3))
    system = system_of([fork_join_chain("q", widths, seed), slides_query()], cluster)
    placement = random_placement(system, seed)
    prepared = build_tables(system, placement.queries, choices)
    rng = np.random.default_rng(seed)
    server = system.executor_server
    for query in range(2):
        out = decide(system, prepared, query, rng.random(prepared.uniforms_per_job), random_view(system, rng))
        assert out.min() >= 0
        assert out.max() < system.executors
        for _, fits in sampled_configurations(placement.queries[query], out):
            assert fits

            def apart(fit):
                _, root, remote = fit
                executors = {root, *remote}
                servers = {int(server[e]) for e in executors}
                parts = 1 + len(remote)
                return (
                    len(servers) == min(parts, system.servers)
                    and len(executors) == min(parts, system.executors)
                    and (parts > system.servers or len(servers) == parts)
                )

            assert any(apart(f) for f in fits)


def expected_chi2(counts, probabilities):
    expected = counts.sum() * probabilities
    return float(((counts - expected) ** 2 / expected).sum())


def test_configurations_are_sampled_with_their_probabilities():
    system = system_of([slides_query()])
    subgraph = system.queries[0].decomposition.subgraphs[0]
    configurations = (
        Configuration(((1, 2),), 0, 0),
        Configuration(((1,), (2,)), 0, 0),
        Configuration(((1,), (2,)), 0, 1),
    )
    p = np.array([0.5, 0.3, 0.2])
    prepared = build_tables(system, [[SubGraphPlacement(subgraph, configurations, p)]])
    rng = np.random.default_rng(11)
    counts = np.zeros(3)
    for _ in range(4000):
        out = decide(system, prepared, 0, rng.random(prepared.uniforms_per_job))
        assert out[1] == out[0]
        counts[0 if out[2] == out[0] else 1 if out[3] == out[0] else 2] += 1
    assert expected_chi2(counts, p) < chi2.ppf(0.999, 2)


@pytest.mark.parametrize("cluster", [tuple(range(6)), (0, 0, 1, 2, 2, 2)])
def test_root_is_uniform_and_a_remote_part_uniform_among_executors_of_other_servers(cluster):
    system = system_of([slides_query()], cluster)
    subgraph = system.queries[0].decomposition.subgraphs[0]
    placed = SubGraphPlacement(subgraph, (Configuration(((1,), (2,)), 0, 0),), np.ones(1))
    prepared = build_tables(system, [[placed]])
    assert prepared.uniforms_per_job == 2
    rng = np.random.default_rng(5)
    counts = np.zeros((6, 6))
    for _ in range(9000):
        out = decide(system, prepared, 0, rng.random(2))
        counts[out[0], out[2]] += 1
    server = np.array(cluster)
    for root in range(6):
        allowed = server != server[root]
        assert counts[root][~allowed].sum() == 0
        among = counts[root][allowed]
        assert expected_chi2(among, np.full(len(among), 1 / len(among))) < chi2.ppf(0.9995, len(among) - 1)
    assert expected_chi2(counts.sum(axis=1), np.full(6, 1 / 6)) < chi2.ppf(0.999, 5)


def test_two_choices_take_the_shorter_queue_and_never_the_same_executor_twice():
    system = system_of([slides_query()], (0, 1, 2))
    subgraph = system.queries[0].decomposition.subgraphs[0]
    placed = SubGraphPlacement(subgraph, (Configuration(((1,), (2,)), 0, 0),), np.ones(1))
    prepared = build_tables(system, [[placed]], choices=2)
    rng = np.random.default_rng(2)
    view = random_view(system, rng)._replace(queue_length=np.array([5, 1, 3]))
    for _ in range(200):
        out = decide(system, prepared, 0, rng.random(4), view)
        assert out[0] != 0  # any two of three: the longest queue never wins
        assert out[2] == min({0, 1, 2} - {int(out[0])}, key=lambda e: view.queue_length[e])


def test_virtual_ends_and_single_tasks_are_placed():
    two_heads = slides_query()
    virtual = Decomposition((-1, -1), (SubGraph(-1, -1, (0, 1, 2, 3)),))
    single = replace(fork_join_chain("one", []), decomposition=Decomposition((0,), ()))
    system = system_of([replace(two_heads, decomposition=virtual), single])
    split = Configuration(((0, 1), (2, 3)), 1, 0)
    placed = SubGraphPlacement(virtual.subgraphs[0], (split,), np.ones(1))
    prepared = build_tables(system, [[placed], []])
    out = decide(system, prepared, 0, [0.3, 0.9])
    assert out[0] == out[1] != out[2] == out[3]
    assert decide(system, prepared, 1, [0.99]).tolist() == [7]


@pytest.mark.parametrize(
    ("configuration", "p", "text"),
    [
        (Configuration(((1,),), 0, 0), [1.0], "partition the interior"),
        (Configuration(((1, 2), (2,)), 0, 0), [1.0], "partition the interior"),
        (Configuration(((1, 2),), 1, 0), [1.0], "root part 1"),
        (Configuration(((1, 2),), 0, 0), [0.7], "add up to 1"),
        (Configuration(((1, 2),), 0, 0), [np.nan], "at least 0"),
    ],
)
def test_malformed_placements_are_refused(configuration, p, text):
    system = system_of([slides_query()])
    placed = SubGraphPlacement(system.queries[0].decomposition.subgraphs[0], (configuration,), np.array(p))
    with pytest.raises(SimulationError, match=text):
        build_tables(system, [[placed]])
