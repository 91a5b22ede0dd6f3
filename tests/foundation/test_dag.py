"""The DAG and the model graph against NetworkX, on random graphs."""

import itertools

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import GraphError
from nona.graph.dag import Dag
from nona.graph.model import Edge, ModelGraph, Operator

dags = st.integers(1, 9).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] < e[1])),
        st.permutations(range(n)),
    )
)


@given(dags)
@examples(150)
def test_order_levels_and_critical_path(sample):
    n, edges, names = sample
    edges = [(names[u], names[v]) for u, v in edges]
    dag = Dag.from_edges(n, edges)
    other = nx.DiGraph(edges)
    other.add_nodes_from(range(n))
    place = {v: i for i, v in enumerate(dag.topological_order())}
    assert sorted(place) == list(range(n))
    assert all(place[u] < place[v] for u, v in dag.edges())
    for level, members in enumerate(nx.topological_generations(other)):
        assert all(dag.levels()[v] == level for v in members)
    weights = [(7 * v) % 5 + 0.5 for v in range(n)]
    length, path = dag.critical_path(weights)
    for _, v, data in other.edges(data=True):
        data["weight"] = weights[v]
    longest = max(
        sum(weights[v] for v in p)
        for source in range(n)
        for target in range(n)
        for p in ([[source]] if source == target else nx.all_simple_paths(other, source, target))
    )
    assert length == pytest.approx(longest)
    assert sum(weights[v] for v in path) == pytest.approx(length)
    assert all(v in dag.successors[u] for u, v in itertools.pairwise(path))


def test_a_cycle_is_named():
    with pytest.raises(GraphError, match="cycle"):
        Dag.from_edges(3, [(0, 1), (1, 2), (2, 1)]).topological_order()


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
