"""The transitive reduction against NetworkX."""

import itertools

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import GraphError
from nona.graph.dag import Dag, transitive_reduction

arcs = st.integers(1, 14).flatmap(
    lambda n: st.tuples(
        st.permutations(range(n)),
        st.lists(st.sampled_from(list(itertools.combinations(range(n), 2))), max_size=60)
        if n > 1
        else st.just([]),
    )
)


@examples(300)
@given(arcs)
def test_against_networkx(sample):
    names, pairs = sample
    edges = [(names[u], names[v]) for u, v in pairs]
    other = nx.DiGraph(edges)
    other.add_nodes_from(names)
    reduced = transitive_reduction(Dag.from_edges(len(names), edges, "sample"))
    assert set(reduced.edges()) == set(nx.transitive_reduction(other).edges)
    assert reduced.name == "sample"


def test_a_deep_chain_with_skips_of_all_lengths():
    """More nodes than bits in a word, arcs from the first node to all, and a window that moves."""
    n = 700
    skips = [(v, v + d) for v in range(n) for d in (1, 2, 5, 130) if v + d < n]
    chain = {(v, v + 1) for v in range(n - 1)}
    assert set(transitive_reduction(Dag.from_edges(n, skips)).edges()) == chain
    hub = [(0, v) for v in range(1, n)]
    assert set(transitive_reduction(Dag.from_edges(n, skips + hub)).edges()) == chain


def test_nothing_is_redundant_between_two_layers():
    edges = [(u, v) for u in range(5) for v in range(5, 12)]
    assert set(transitive_reduction(Dag.from_edges(12, edges)).edges()) == set(edges)


def test_a_cycle_is_an_error():
    with pytest.raises(GraphError, match="cycle"):
        transitive_reduction(Dag.from_edges(2, [(0, 1), (1, 0)]))
