"""Blocks: every node in exactly one, never a cycle, and with everything open the graph itself."""

import json

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.graph import blocks
from nona.graph.dag import Dag
from nona.graph.readers import read_model
from nona.sources.samples import load_sample

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
    cut = blocks.Cut(depth, frozenset(opened), frozenset(shut))
    check(dag, paths, cut, blocks.block_graph(dag, paths, cut.is_open))


@MANY
@given(scoped_graphs())
def test_with_everything_open_it_is_the_graph_itself(graph):
    dag, paths = graph
    found = blocks.block_graph(dag, paths, lambda _: True)
    assert found.dag.successors == dag.successors
    assert [b.members for b in found.blocks] == [(i,) for i in range(len(dag))]


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
    if len(graph.operators) <= blocks.MOST_PARTS:
        assert len(drawn.blocks) == len(graph.operators)


def test_the_layers_of_a_language_model_can_be_one_block_each():
    graph = load_sample("llama2_7b")
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
    data = {
        "nodes": [{"id": f"n{i}", "compute_ms": 1} for i in range(n)],
        "edges": [{"source": f"n{u}", "target": f"n{v}", "bytes": 1} for u, v in edges],
    }
    graph = read_model(json.dumps(data).encode(), "large.json")
    drawn = usual(graph)
    assert drawn.blocks[0].path or len(drawn.blocks) > 1


def test_interleaved_modules_are_split_by_stages():
    """Two modules that feed each other in turn, the worst case: g0→h0→g1→h1→…, all of one piece each."""
    n = 12
    links = [(i, i + 1) for i in range(n - 1)] + [(i, i + 2) for i in range(n - 2)]
    paths = tuple(("gh"[i % 2],) for i in range(n))
    dag = Dag.from_edges(n, links)
    check(dag, paths, blocks.Cut(0), blocks.block_graph(dag, paths, blocks.Cut(0).is_open))
    assert blocks.modules(dag, paths, 4).paths == blocks.run_paths(n, 4)
