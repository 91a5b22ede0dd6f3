"""Dominators against NetworkX; the decomposition against its definition."""

import itertools

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.decomposition import VIRTUAL, Decomposition, SubGraph, decompose, immediate_dominators
from nona.errors import GraphError
from nona.graph.dag import Dag

samples = st.integers(1, 13).flatmap(
    lambda n: st.tuples(
        st.permutations(range(n)),
        st.lists(st.sampled_from(list(itertools.combinations(range(n), 2))), max_size=40)
        if n > 1
        else st.just([]),
        st.booleans(),
    )
)


def make(sample):
    """Random arcs, half of the time along a path through all nodes so that there are cuts."""
    names, pairs, sparse = sample
    if sparse:
        pairs = [p for p in pairs if p[1] - p[0] <= 2] + [(v, v + 1) for v in range(0, len(names) - 1, 2)]
    return Dag.from_edges(len(names), [(names[u], names[v]) for u, v in pairs])


def with_ends(dag):
    graph = nx.DiGraph(dag.edges())
    graph.add_nodes_from(range(len(dag)))
    graph.add_edges_from([("source", v) for v in range(len(dag)) if not dag.predecessors[v]])
    graph.add_edges_from([(v, "sink") for v in range(len(dag)) if not dag.successors[v]])
    return graph


@examples(300)
@given(samples)
def test_immediate_dominators_against_networkx(sample):
    dag = make(sample)
    other = nx.immediate_dominators(with_ends(dag), "source")
    expected = tuple(VIRTUAL if other[v] == "source" else other[v] for v in range(len(dag)))
    assert immediate_dominators(dag) == expected


@examples(300)
@given(samples)
def test_every_task_and_every_edge_has_its_place(sample):
    dag = make(sample)
    parts = decompose(dag)
    graph = with_ends(dag)
    real = [c for c in parts.cuts if c != VIRTUAL]
    assert sorted(real + [v for s in parts.subgraphs for v in s.interior]) == list(range(len(dag)))
    assert [(s.root, s.sink) for s in parts.subgraphs] == list(itertools.pairwise(parts.cuts))
    place = {v: i for i, v in enumerate(dag.topological_order())}
    for part in parts.subgraphs:
        assert list(part.interior) == sorted(part.interior, key=place.__getitem__)
    homes = [{s.root, s.sink, *s.interior} for s in parts.subgraphs]
    assert all(any({u, v} <= home for home in homes) for u, v in dag.edges())
    for v in range(len(dag)):  # a cut is a task without which the ends fall apart
        rest = graph.subgraph(set(graph) - {v})
        assert (v in real) == (not nx.has_path(rest, "source", "sink"))
    assert (parts.cuts[0] == VIRTUAL) == (graph.out_degree("source") > 1)
    assert (parts.cuts[-1] == VIRTUAL) == (graph.in_degree("sink") > 1)


@pytest.mark.parametrize(
    ("n", "edges", "expected"),
    [
        (1, [], Decomposition((0,), ())),
        (2, [(0, 1)], Decomposition((0, 1), (SubGraph(0, 1, ()),))),
        (2, [], Decomposition((-1, -1), (SubGraph(-1, -1, (0, 1)),))),
        (3, [(0, 2), (1, 2)], Decomposition((-1, 2), (SubGraph(-1, 2, (0, 1)),))),
        (3, [(0, 1), (0, 2)], Decomposition((0, -1), (SubGraph(0, -1, (1, 2)),))),
        # a direct edge from root to sink belongs to their sub-graph
        (4, [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)], Decomposition((0, 3), (SubGraph(0, 3, (1, 2)),))),
        (0, [], Decomposition((), ())),
    ],
)
def test_small_graphs(n, edges, expected):
    assert decompose(Dag.from_edges(n, edges)) == expected


def test_two_diamonds_in_a_row_and_under_a_skip():
    """r > {x, y} > m > {z, w} > t; with r > t the middle no longer separates."""
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 6), (5, 6)]
    assert decompose(Dag.from_edges(7, edges)).subgraphs == (SubGraph(0, 3, (1, 2)), SubGraph(3, 6, (4, 5)))
    assert decompose(Dag.from_edges(7, [*edges, (0, 6)])).subgraphs == (SubGraph(0, 6, (1, 2, 3, 4, 5)),)


def test_deep_trees_are_climbed_right():
    """Chains of 500 with ends that read from far apart: many jumps, many meets."""
    n = 500
    edges = [(v, v + 1) for v in range(n - 1)]
    extra = [(v, n + v) for v in range(n)] + [((7 * v) % n, n + v) for v in range(n)]
    dag = Dag.from_edges(2 * n, edges + extra)
    found = immediate_dominators(dag)
    assert all(found[n + v] == min(v, (7 * v) % n) for v in range(n))


def test_a_cycle_is_an_error():
    with pytest.raises(GraphError, match="cycle"):
        decompose(Dag.from_edges(2, [(0, 1), (1, 0)]))
