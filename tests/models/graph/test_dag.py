"""Graphs of numbers: order, paths, cycles, reduction, dominators, cuts and blocks, against NetworkX."""

import itertools

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.core.errors import GraphError
from nona.models.decomposition import VIRTUAL, Decomposition, decompose, dominator_tree
from nona.models.graph import blocks
from nona.models.graph.dag import Dag, strongly_connected_components, transitive_reduction
from nona.models.graph.model import Edge, ModelGraph, Operator, find_cycle
from nona.scenario.sample_files import load_sample


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
    tree = dominator_tree(dag, dag.topological_order())
    assert tuple(map(tree.parent, range(len(dag)))) == expected


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
    assert decompose(Dag.from_edges(0, [])) == Decomposition((), ())
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
    for node, component in strongly_connected_components(
        Dag.from_edges(n, [(u, v) for u, v in arcs if u != v])
    ).items():
        groups.setdefault(component, set()).add(node)
    wanted = {frozenset(c) for c in nx.strongly_connected_components(graph) if len(c) > 1}
    assert {frozenset(g) for g in groups.values()} == wanted


@pytest.mark.parametrize("use", [Dag.topological_order, transitive_reduction, decompose])
def test_a_cycle_is_named(use):
    with pytest.raises(GraphError, match="cycle"):
        use(Dag.from_edges(3, [(0, 1), (1, 2), (2, 1)]))


@pytest.mark.parametrize(
    ("operators", "edges", "words"),
    [
        ("", (), "no operators"),
        ("aa", (), "'a' appears twice"),
        ("ab", (Edge("a", "c", "t", 1.0),), "unknown node 'c'"),
        *(("ab", (Edge("a", "b", "t", size),), f"bytes={size}") for size in (-1.0, float("nan"))),
        ("ab", (Edge("a", "b", "t", 1.0), Edge("b", "a", "u", 1.0)), "cycle"),
    ],
)
def test_model_graph_refuses(operators, edges, words):
    with pytest.raises(GraphError, match=words):
        ModelGraph("g", tuple(map(Operator, operators)), edges)


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
    dag = Dag.from_edges(2 * n, edges + extra)
    found = dominator_tree(dag, dag.topological_order())
    assert all(found.parent(n + v) == min(v, (7 * v) % n) for v in range(n))


MANY = examples(120)
names = st.lists(st.sampled_from("abc"), max_size=3).map(tuple)


@st.composite
def scoped_graphs(draw):
    n = draw(st.integers(1, 14))
    pairs = [(u, v) for v in range(n) for u in range(v)]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=30)) if pairs else []
    return Dag.from_edges(n, edges), tuple(draw(st.lists(names, min_size=n, max_size=n)))


def check(dag, paths, cut, found):
    found.dag.topological_order()  # raises when there is a cycle
    assert sorted(i for b in found.blocks for i in b.members) == list(range(len(dag)))
    for number, block in enumerate(found.blocks):
        assert all(found.block_of[i] == number for i in block.members)
        if len(block.members) > 1:
            assert not cut.is_open(block.path)
            assert all(paths[i][: len(block.path)] == block.path for i in block.members)
    wanted = {(found.block_of[u], found.block_of[v]) for u, v in dag.edges()}
    assert set(found.dag.edges()) == {(a, b) for a, b in wanted if a != b}


@MANY
@given(scoped_graphs(), st.integers(1, 4), st.sets(names, max_size=4), st.sets(names, max_size=4))
def test_every_cut_gives_an_acyclic_graph_of_all_nodes(graph, depth, opened, shut):
    dag, paths = graph
    cut = blocks.OpenModules(depth, frozenset(opened), frozenset(shut))
    check(dag, paths, cut, blocks.block_graph(dag, paths, cut.is_open))
    itself = blocks.block_graph(dag, paths, lambda _: True)
    assert itself.dag.successors == dag.successors
    assert [b.members for b in itself.blocks] == [(i,) for i in range(len(dag))]


@MANY
@given(scoped_graphs())
def test_a_module_without_a_detour_stays_in_one_piece(graph):
    """Splitting is the exception: where the boxes of whole modules make no cycle, none is split."""
    dag, paths = graph
    label = {p[:1] or ("", i): k for k, (i, p) in enumerate(enumerate(paths))}
    whole = [label[p[:1] or ("", i)] for i, p in enumerate(paths)]
    boxes = nx.DiGraph([(whole[u], whole[v]) for u, v in dag.edges() if whole[u] != whole[v]])
    found = blocks.block_graph(dag, paths, lambda _: False)
    if nx.is_directed_acyclic_graph(boxes):
        assert len(found.blocks) == len(set(whole))
    else:
        assert len(found.blocks) > len(set(whole))


@MANY
@given(scoped_graphs(), st.integers(2, 6))
def test_no_module_holds_more_parts_than_allowed(graph, most):
    paths = graph[1]
    found = blocks.with_few_parts(paths, 4 * most)
    for depth in range(max(map(len, found), default=0) + 1):
        parts = {}
        for i, p in enumerate(found):
            if len(p) >= depth:
                parts.setdefault(p[:depth], set()).add(p[depth] if len(p) > depth else i)
        assert all(len(inside) <= 4 * most for inside in parts.values())
    assert [blocks.common_path([p, q]) for p, q in zip(paths, paths, strict=True)] == list(paths)


@MANY
@given(scoped_graphs(), st.integers(4, 20))
def test_the_first_look_keeps_to_its_limit(graph, most):
    dag, paths = graph
    found = blocks.modules(dag, blocks.with_few_parts(paths, most), most)
    for cut in (found.usual, found.shortest):
        drawn = blocks.block_graph(dag, found.paths, cut.is_open)
        check(dag, found.paths, cut, drawn)
        assert len(drawn.blocks) <= max(most, 4)
    assert found.shortest.depth <= found.usual.depth


def usual(graph):
    """As it is drawn at first."""
    found = blocks.modules(graph.dag, blocks.scope_paths(graph), blocks.MOST_PARTS)
    drawn = blocks.block_graph(graph.dag, found.paths, found.usual.is_open)
    check(graph.dag, found.paths, found.usual, drawn)
    assert len(drawn.blocks) <= blocks.MOST_PARTS
    return drawn


@pytest.mark.parametrize("name", ["llama2_7b", "gpt2", "densenet121", "googlenet", "rag_pipeline"])
def test_samples_fall_into_their_modules(name):
    graph = load_sample(name)
    drawn = usual(graph)
    assert len(graph.operators) > blocks.MOST_PARTS or len(drawn.blocks) == len(graph.operators)
    if name == "llama2_7b":  # the layers of a language model can be one block each
        found = blocks.modules(graph.dag, blocks.scope_paths(graph), blocks.MOST_PARTS)
        drawn = blocks.block_graph(graph.dag, found.paths, found.shortest.is_open)
        layers = [b for b in drawn.blocks if b.path[:2] == ("model", "layers")]
        assert [b.path[2] for b in layers] == [str(i) for i in range(32)]
        assert {len(b.members) for b in layers} == {64}


@pytest.mark.parametrize("shape", ["wide", "chain", "tangled"])
def test_large_graphs_without_modules_can_be_drawn_too(shape):
    n = 5_000
    edges = {
        "wide": [(0, i) for i in range(1, n - 1)] + [(i, n - 1) for i in range(1, n - 1)],
        "chain": [(i, i + 1) for i in range(n - 1)],
        "tangled": [(i, i + k) for i in range(n) for k in (1, 2, 7) if i + k < n],
    }[shape]
    arcs = tuple(Edge(f"n{u}", f"n{v}", f"{u}-{v}", 1.0) for u, v in sorted(edges))
    drawn = usual(ModelGraph("large", tuple(Operator(f"n{i}") for i in range(n)), arcs))
    assert drawn.blocks[0].path or len(drawn.blocks) > 1


def test_interleaved_modules_are_split_by_stages():
    """Two modules that feed each other in turn, the worst case: g0→h0→g1→h1→…, all of one piece each."""
    n = 12
    links = [(i, i + 1) for i in range(n - 1)] + [(i, i + 2) for i in range(n - 2)]
    paths = tuple(("gh"[i % 2],) for i in range(n))
    dag = Dag.from_edges(n, links)
    check(dag, paths, blocks.OpenModules(0), blocks.block_graph(dag, paths, blocks.OpenModules(0).is_open))
    assert blocks.modules(dag, paths, 4).paths == blocks.run_paths(n, 4)
