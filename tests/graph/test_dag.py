"""Graphs of numbers: order, levels, paths, cycles, reduction, dominators and cuts, against NetworkX."""

import itertools

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.decomposition import VIRTUAL, Decomposition, SubGraph, decompose, immediate_dominators
from nona.errors import GraphError
from nona.graph.dag import Dag, knots_of, transitive_reduction
from nona.graph.model import Edge, ModelGraph, Operator, find_cycle


@st.composite
def dags(draw):
    """Shuffled names and random arcs, half of the time along a path so that there are cuts; in both forms."""
    n = draw(st.integers(1, 13))
    names = draw(st.permutations(range(n)))
    pairs = list(itertools.combinations(range(n), 2))
    pairs = draw(st.lists(st.sampled_from(pairs), max_size=60)) if pairs else []
    if draw(st.booleans()):
        pairs = [p for p in pairs if p[1] - p[0] <= 2] + [(v, v + 1) for v in range(0, n - 1, 2)]
    edges = [(names[u], names[v]) for u, v in pairs]
    graph = nx.DiGraph(edges)
    graph.add_nodes_from(range(n))
    return Dag.from_edges(n, edges, "sample"), graph


def with_ends(graph):
    """A source before and a sink behind all."""
    sources, sinks = ([v for v in graph if not of[v]] for of in (graph.pred, graph.succ))
    ends = [*(("source", v) for v in sources), *((v, "sink") for v in sinks)]
    return nx.DiGraph([*graph.edges, *ends])


@given(dags())
@examples(150)
def test_order_levels_and_critical_path(sample):
    dag, other = sample
    n = len(dag)
    place = {v: i for i, v in enumerate(dag.topological_order())}
    assert sorted(place) == list(range(n))
    assert all(place[u] < place[v] for u, v in dag.edges())
    for level, members in enumerate(nx.topological_generations(other)):
        assert all(dag.levels()[v] == level for v in members)
    weights = [(7 * v) % 5 + 0.5 for v in range(n)]
    length, path = dag.critical_path(weights)
    timed = nx.DiGraph()
    timed.add_weighted_edges_from(
        (u, v, weights[v]) for u, v in [*other.edges, *(("start", v) for v in other)]
    )
    assert length == pytest.approx(nx.dag_longest_path_length(timed))
    assert sum(weights[v] for v in path) == pytest.approx(length)
    assert all(v in dag.successors[u] for u, v in itertools.pairwise(path))


@examples(300)
@given(dags())
def test_the_reduction_and_immediate_dominators(sample):
    dag, other = sample
    reduced = transitive_reduction(dag)
    assert set(reduced.edges()) == set(nx.transitive_reduction(other).edges)
    assert reduced.name == "sample"
    found = nx.immediate_dominators(with_ends(other), "source")
    expected = tuple(VIRTUAL if found[v] == "source" else found[v] for v in range(len(dag)))
    assert immediate_dominators(dag) == expected


@examples(300)
@given(dags())
def test_every_task_and_every_edge_has_its_place_between_cuts(sample):
    dag, graph = sample[0], with_ends(sample[1])
    parts = decompose(dag)
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


@examples(120)
@given(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=24))
def test_cycles_and_knots(n, arcs):
    arcs = [(u % n, v % n) for u, v in arcs]
    graph = nx.DiGraph(arcs)
    cycle = find_cycle(Dag.from_edges(n, arcs))
    assert bool(cycle) != nx.is_directed_acyclic_graph(graph)
    assert all(arc in arcs for arc in zip(cycle, cycle[1:] + cycle[:1], strict=True))
    groups = {}
    for node, knot in knots_of(Dag.from_edges(n, [(u, v) for u, v in arcs if u != v])).items():
        groups.setdefault(knot, set()).add(node)
    wanted = {frozenset(c) for c in nx.strongly_connected_components(graph) if len(c) > 1}
    assert {frozenset(g) for g in groups.values()} == wanted


@pytest.mark.parametrize("use", [Dag.topological_order, transitive_reduction, decompose])
def test_a_cycle_is_named(use):
    with pytest.raises(GraphError, match="cycle"):
        use(Dag.from_edges(3, [(0, 1), (1, 2), (2, 1)]))


A, B = Operator("a"), Operator("b")


@pytest.mark.parametrize(
    ("operators", "edges", "words"),
    [
        ((), (), "no operators"),
        ((A, A), (), "'a' appears twice"),
        ((A, B), (Edge("a", "c", "t", 1.0),), "unknown node 'c'"),
        ((A, B), (Edge("a", "b", "t", -1.0),), "bytes=-1.0"),
        ((A, B), (Edge("a", "b", "t", float("nan")),), "bytes=nan"),
        ((A, B), (Edge("a", "b", "t", 1.0), Edge("b", "a", "u", 1.0)), "cycle"),
    ],
)
def test_model_graph_refuses(operators, edges, words):
    with pytest.raises(GraphError, match=words):
        ModelGraph("g", operators, edges)


def test_large_reductions():
    """More nodes than bits in a word, arcs from the first node to all, and a window; two layers."""
    n = 700
    skips = [(v, v + d) for v in range(n) for d in (1, 2, 5, 130) if v + d < n]
    chain = {(v, v + 1) for v in range(n - 1)}
    assert set(transitive_reduction(Dag.from_edges(n, skips)).edges()) == chain
    hub = [(0, v) for v in range(1, n)]
    assert set(transitive_reduction(Dag.from_edges(n, skips + hub)).edges()) == chain
    layers = [(u, v) for u in range(5) for v in range(5, 12)]
    assert set(transitive_reduction(Dag.from_edges(12, layers)).edges()) == set(layers)


def test_deep_trees_are_climbed_right():
    """Chains of 500 with ends that read from far apart: many jumps, many meets."""
    n = 500
    edges = [(v, v + 1) for v in range(n - 1)]
    extra = [(v, n + v) for v in range(n)] + [((7 * v) % n, n + v) for v in range(n)]
    found = immediate_dominators(Dag.from_edges(2 * n, edges + extra))
    assert all(found[n + v] == min(v, (7 * v) % n) for v in range(n))


DIAMONDS = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 6), (5, 6)]


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
        (7, DIAMONDS, Decomposition((0, 3, 6), (SubGraph(0, 3, (1, 2)), SubGraph(3, 6, (4, 5))))),
        (7, [*DIAMONDS, (0, 6)], Decomposition((0, 6), (SubGraph(0, 6, (1, 2, 3, 4, 5)),))),
    ],
)
def test_small_decompositions(n, edges, expected):
    assert decompose(Dag.from_edges(n, edges)) == expected
