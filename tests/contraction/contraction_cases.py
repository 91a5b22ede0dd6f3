"""Graphs for the tests of contraction, and the rules once more, written as their definitions read."""

import itertools
import random
from collections.abc import Callable

import networkx as nx
from hypothesis import strategies as st

from nona.graph.model import Edge, ModelGraph, Operator

Arc = tuple[int, int]
Partition = frozenset[frozenset[int]]
Condition = Callable[[nx.DiGraph, object, object], bool]


def model(n, arcs, sizes=(), shared=False):
    """Operators o0…, an edge per arc; with ``shared`` all arcs out of a node carry one tensor."""
    edges = []
    for i, (u, v) in enumerate(sorted(set(arcs))):
        size = sizes[(u if shared else i) % len(sizes)] if sizes else 8.0
        edges.append(Edge(f"o{u}", f"o{v}", f"t{u}" if shared else f"t{u}-{v}", size))
    return ModelGraph("g", tuple(Operator(f"o{i}") for i in range(n)), tuple(edges))


def arcs_of(graph):
    return [(graph.index[e.source], graph.index[e.target]) for e in graph.edges]


def all_dags(n):
    """Every set of arcs (u, v) with u < v < n."""
    pairs = list(itertools.combinations(range(n), 2))
    for mask in range(1 << len(pairs)):
        yield tuple(p for i, p in enumerate(pairs) if mask >> i & 1)


def deep_arcs(n, seed):
    """A deep network: chains, blocks of parallel branches, skips over some of them."""
    rng = random.Random(seed)
    arcs = []
    last, free, joints = 0, 1, [0]
    while free < n:
        ends = []
        for _ in range(rng.choice((1, 1, 2, 3))):
            length = rng.randint(1, 3)
            if free + length > n:
                break
            arcs += itertools.pairwise([last, *range(free, free + length)])
            free += length
            ends.append(free - 1)
        if free >= n:
            break
        arcs += [(end, free) for end in ends]
        if rng.random() < 0.5:
            arcs.append((rng.choice(joints[-3:]), free))
        if not ends:
            arcs.append((last, free))
        last, free = free, free + 1
        joints.append(last)
    return sorted(set(arcs))


def _sparse(n, seed, density):
    rng = random.Random(seed)
    return [(u, v) for u, v in itertools.combinations(range(n), 2) if rng.random() < density]


random_arcs = st.builds(
    lambda n, seed, density: (n, _sparse(n, seed, density)),
    st.integers(1, 12),
    st.integers(0, 10**9),
    st.floats(0.05, 0.9),
)
networks = st.builds(lambda n, seed: (n, deep_arcs(n, seed)), st.integers(2, 40), st.integers(0, 10**9))
graphs = st.builds(
    lambda shape, sizes, shared: model(*shape, sizes=sizes, shared=shared),
    st.one_of(random_arcs, networks),
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, 5.0, 8.0]), min_size=1, max_size=12),
    st.booleans(),
)


def quotient(arcs, partition):
    """The graph on the blocks of a partition."""
    block = {v: b for b in partition for v in b}
    graph = nx.DiGraph()
    graph.add_nodes_from(partition)
    graph.add_edges_from((block[u], block[v]) for u, v in arcs if block[u] != block[v])
    return graph


def direct_holds(graph, a, b):
    """Pred(b)∖{a} ⊆ Pred(a) and Succ(a)∖{b} ⊆ Succ(b)."""
    return set(graph.pred[b]) - {a} <= set(graph.pred[a]) and set(graph.succ[a]) - {b} <= set(graph.succ[b])


def poset_holds(graph, a, b):
    """Anc(b)∖{a} ⊆ Anc(a) and Desc(a)∖{b} ⊆ Desc(b)."""
    before = nx.ancestors(graph, b) - {a} <= nx.ancestors(graph, a)
    return before and nx.descendants(graph, a) - {b} <= nx.descendants(graph, b)


CONDITIONS = {"direct": direct_holds, "poset": poset_holds}


def singletons(n):
    return frozenset(frozenset({v}) for v in range(n))


def merged(partition, a, b):
    return (partition - {a, b}) | {a | b}


def moves(arcs, partition, holds):
    """Pairs of blocks that the condition allows to merge."""
    graph = quotient(arcs, partition)
    return [(a, b) for a, b in graph.edges if holds(graph, a, b)]


def all_fixpoints(n, arcs, holds):
    """Where every possible order of merges ends."""
    seen, stack, ends = {singletons(n)}, [singletons(n)], set()
    while stack:
        partition = stack.pop()
        following = {merged(partition, a, b) for a, b in moves(arcs, partition, holds)}
        if not following:
            ends.add(partition)
        stack += following - seen
        seen |= following
    return ends


def critical_path(graph, times):
    """Longest path with the sum of its operators' times on each block."""
    finish = {}
    for block in nx.topological_sort(graph):
        before = max((finish[p] for p in graph.pred[block]), default=0.0)
        finish[block] = before + sum(times[v] for v in block)
    return max(finish.values())
