"""The size-aware rule: its condition at every step, against sizes counted from scratch."""

import random

from contraction_cases import arcs_of, direct_holds, graphs, merged, moves, quotient, singletons
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.contraction.merging import Quotient, Traffic
from nona.contraction.rules import RULES, contract, contract_by
from nona.graph.model import Edge, ModelGraph, Operator

Block = frozenset[int]


def crossing(graph, sources, targets):
    """Bytes of the distinct tensors from ``sources`` to ``targets``."""
    at = graph.index
    return sum(
        {
            (e.source, e.tensor): e.size_bytes
            for e in graph.edges
            if at[e.source] in sources and at[e.target] in targets
        }.values()
    )


def allowed(graph, partition, a, b):
    everything = set(range(len(graph.operators)))
    between = crossing(graph, set(a), set(b))
    into, out = crossing(graph, everything - a, set(a)), crossing(graph, set(b), everything - b)
    return direct_holds(quotient(arcs_of(graph), partition), a, b) and (between >= into or between >= out)


@examples(120)
@given(graph=graphs, seed=st.integers(0, 10**6))
def test_the_condition_holds_at_each_step_and_nowhere_at_the_end(graph, seed):
    rng = random.Random(seed)
    at = graph.index
    orders = (None, [rng.random() for _ in graph.operators])
    for order in orders:
        partition = singletons(len(graph.operators))
        for step in contract_by(graph, RULES["size-aware"], order).steps:
            a, b = (next(p for p in partition if at[end] in p) for end in (step.source, step.target))
            assert allowed(graph, partition, a, b)
            partition = merged(partition, a, b)
        left = quotient(arcs_of(graph), partition).edges
        assert not any(allowed(graph, partition, a, b) for a, b in left)


@examples(150)
@given(graph=graphs, seed=st.integers(0, 10**6))
def test_traffic_is_that_of_a_fresh_count_after_any_merges(graph, seed):
    rng = random.Random(seed)
    arcs, partition = arcs_of(graph), singletons(len(graph.operators))
    everything = set(range(len(graph.operators)))
    paths = Quotient(graph.dag)
    traffic = Traffic(graph, paths)
    while allowed_moves := moves(arcs, partition, direct_holds):
        a, b = rng.choice(allowed_moves)
        traffic.merge(min(a), min(b))
        paths.join(max(a), min(b))
        partition = merged(partition, a, b)
        for block in partition:
            assert traffic.into(min(block)) == crossing(graph, everything - block, set(block))
            assert traffic.out_of(min(block)) == crossing(graph, set(block), everything - block)
        for first, second in quotient(arcs, partition).edges:
            assert traffic.between(min(first), min(second)) == crossing(graph, set(first), set(second))


def test_a_cheap_cut_is_kept():
    """A branch that shrinks its tensor and then grows it again: the cut between stays."""
    sizes = {"ra": 100.0, "ab": 1.0, "bs": 50.0, "rc": 100.0, "cs": 10.0}
    edges = tuple(Edge(k[0], k[1], "root" if k[0] == "r" else k, size) for k, size in sizes.items())
    graph = ModelGraph(
        "shrink",
        tuple(Operator(i) for i in "rabcs"),
        tuple(sorted(edges, key=lambda e: "rabcs".index(e.source))),
    )
    assert [t.operators for t in contract(graph, "direct").tasks] == [("r",), ("a", "b"), ("c",), ("s",)]
    assert [t.operators for t in contract(graph, "size-aware").tasks] == [(i,) for i in "rabcs"]


def test_the_reason_gives_the_sizes():
    edges = (Edge("a", "b", "x", 2e6), Edge("b", "c", "y", 1e6))
    steps = contract(ModelGraph("chain", tuple(Operator(i) for i in "abc"), edges), "size-aware").steps
    assert steps[0].reason.endswith("the 2 MB between them are no less than the 0 B into 'a'.")
    edges = (Edge("x", "a", "big", 9e6), *edges)
    steps = contract(ModelGraph("chain", tuple(Operator(i) for i in "xabc"), edges), "size-aware").steps
    assert [s.edge for s in steps] == [("x", "a"), ("a", "b"), ("b", "c")]
