"""Node-link JSON: loss-free, as NetworkX writes it, and one clear line for every fault."""

import json
import random

import networkx as nx
import pytest
from graph_cases import refusal
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import GraphError
from nona.graph.model import Edge, ModelGraph, Operator, Tensor, Work
from nona.graph.node_link import from_node_link, to_node_link

SETTINGS = examples(60)
names = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=8)
sizes = st.floats(0, 1e15)
scalars = st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | names
attributes = st.dictionaries(names, scalars | st.lists(scalars, max_size=4).map(tuple), max_size=3)
times = st.none() | st.dictionaries(names | st.just("*"), st.floats(0, 1e9), min_size=1, max_size=3)
works = st.none() | st.builds(Work, sizes, sizes, sizes, sizes, sizes)
tensor_types = st.tuples(sizes, st.none() | st.lists(st.integers(0, 99), max_size=4).map(tuple), names)


@st.composite
def graphs(draw):
    ids = draw(st.lists(names, min_size=1, max_size=7, unique=True))
    made = {i: draw(st.lists(names, max_size=2, unique=True)) for i in ids}
    tensors = {f"{i}:{t}": Tensor(f"{i}:{t}", *draw(tensor_types)) for i in ids for t in made[i]}
    edges = []
    for at, source in enumerate(ids):
        for target in ids[at + 1 :]:
            edges += [(at, ids.index(target), f"{source}:{t}") for t in made[source] if draw(st.booleans())]
    inputs = st.lists(st.sampled_from(["", *tensors]), max_size=3).map(tuple)
    rest = st.tuples(attributes, times, works, st.just("") | names)
    outputs = {i: tuple(f"{i}:{t}" for t in made[i]) for i in ids}
    operators = tuple(Operator(i, draw(names), draw(inputs), outputs[i], *draw(rest)) for i in ids)
    some = st.frozensets(st.sampled_from(sorted(tensors)), max_size=3) if tensors else st.just(frozenset())
    return ModelGraph(
        draw(names),
        operators,
        tuple(Edge(ids[u], ids[v], t, tensors[t].size_bytes) for u, v, t in sorted(set(edges))),
        tensors,
        draw(some),
        draw(some),
        draw(names),
        tuple(draw(st.lists(names.filter(lambda s: s == " ".join(s.split())), max_size=2))),
        draw(st.dictionaries(names, st.integers(1, 10**9), max_size=2)),
    )


@SETTINGS
@given(graphs())
def test_a_graph_comes_back_from_its_json(graph):
    text = json.dumps(to_node_link(graph), allow_nan=False)
    assert from_node_link(json.loads(text)) == graph


def test_work_of_a_costed_graph_can_be_written():
    graph = ModelGraph("two", (Operator("a"), Operator("b", work=Work(7.0))), ())
    back = from_node_link(to_node_link(graph, [Work(1.0, 2.0, 3.0, 4.0, 5.0), Work(9.0)]))
    assert [o.work for o in back.operators] == [Work(1.0, 2.0, 3.0, 4.0, 5.0), Work(7.0)]


@pytest.mark.parametrize("key", ["edges", "links"])
@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
def test_what_networkx_writes_is_read(key, kind):
    made = kind(name="from networkx")
    made.add_node("a", compute_ms=3.0)
    made.add_node(2, compute_ms={"v100": 1.0, "t4": 4.0}, kind="Conv")
    made.add_edge("a", 2, bytes=1_000_000)
    made.add_edge("a", 2, bytes=1_000_000)
    graph = from_node_link(json.loads(json.dumps(nx.node_link_data(made, edges=key))))
    assert [o.id for o in graph.operators] == ["a", "2"]
    assert graph.operators[1].compute_s == {"v100": 0.001, "t4": 0.004}
    assert len(graph.edges) == made.number_of_edges()
    assert len({e.tensor for e in graph.edges}) == made.number_of_edges(), "unnamed edges share nothing"
    assert graph.name == "from networkx"
    assert graph.warnings == ()


def test_order_does_not_matter():
    nodes = [{"id": str(i)} for i in range(8)]
    edges = [{"source": str(i), "target": str(j), "bytes": i} for i in range(8) for j in range(i + 1, 8, 3)]
    first = from_node_link({"nodes": nodes, "edges": edges})
    random.Random(0).shuffle(edges)
    assert from_node_link({"nodes": nodes, "edges": edges}) == first
    backwards = from_node_link({"nodes": nodes[::-1], "edges": edges})
    assert {(e.source, e.target) for e in backwards.edges} == {(e.source, e.target) for e in first.edges}
    assert all(u < v for u, v in backwards.dag.edges()), "operators are in a topological order"


MARKUP = '<img src=x onerror="alert(1)">'


def test_doubtful_input_is_read_as_it_is_with_a_warning():
    nodes = [{"id": MARKUP, "compute": 3, "label": "A"}, {"id": "b", "macs": 5, "kind": "<b>"}]
    edges = [{"source": MARKUP, "target": "b", "latency": 1}]
    graph = from_node_link({"nodes": nodes, "edges": edges, "graph": {"name": "own"}}, "given")
    assert graph.name == "given"
    assert (graph.operators[0].id, graph.operators[1].kind) == (MARKUP, "<b>")
    assert graph.operators[1].work == Work(flops=10.0, macs=5.0)
    assert graph.warnings == (
        "1 of 1 edges state no bytes; they count as 0 bytes.",
        "Ignored keys: 'compute' (×1), 'latency' (×1).",
    )


A, B = {"id": "a"}, {"id": "b"}
AB = {"source": "a", "target": "b"}
T = AB | {"tensor": "t"}
FAULTS = [
    ({}, "'nodes' is missing"),
    ({"nodes": 3}, "'nodes' is 3"),
    ({"nodes": []}, "no operators"),
    ({"nodes": [A], "edges": {}}, "'edges' is {}"),
    ({"nodes": [A], "edges": [], "links": []}, "both 'edges' and 'links'"),
    ({"nodes": [A], "directed": False}, "undirected"),
    ({"nodes": ["a"]}, "Node number 0: 'a' has no 'id'"),
    ({"nodes": [{"id": 1.5}]}, "1.5 is not an id"),
    ({"nodes": [{"id": ""}]}, "'' is not an id"),
    ({"nodes": [{"id": True}]}, "True is not an id"),
    ({"nodes": [{"id": "a\nb"}]}, "control character"),
    ({"nodes": [{"id": "\ud800"}]}, "control character"),
    ({"nodes": [{"id": "x" * 2001}]}, "2001 characters"),
    ({"nodes": [A, A]}, "'a' appears twice"),
    ({"nodes": [{"id": 1}, {"id": "1"}]}, "'1' appears twice"),
    ({"nodes": [A | {"compute_ms": float("nan")}]}, "compute_ms=nan"),
    ({"nodes": [A | {"compute_ms": float("inf")}]}, "compute_ms=inf"),
    ({"nodes": [A | {"compute_ms": -1}]}, "compute_ms=-1"),
    ({"nodes": [A | {"compute_ms": 10**400}]}, "compute_ms=a number of 1329 bits"),
    ({"nodes": [A | {"compute_ms": "3 ms"}]}, "'3 ms' is not a number"),
    ({"nodes": [A | {"compute_ms": {}}]}, "empty map"),
    ({"nodes": [A | {"compute_ms": {"t4": -2}}]}, "compute_ms['t4']=-2"),
    ({"nodes": [A | {"compute_ms": 1, "compute_s": 1}]}, "both compute_ms and compute_s"),
    ({"nodes": [A | {"flops": 1e30}]}, "flops=1e+30"),
    ({"nodes": [A | {"read_bytes": True}]}, "read_bytes=True is not a number"),
    ({"nodes": [A | {"kind": 3}]}, "kind=3 must be a text"),
    ({"nodes": [A | {"inputs": "t"}]}, "inputs='t' must be a list"),
    ({"nodes": [A | {"attributes": [1]}]}, "attributes=[1] must be an object"),
    ({"nodes": [A | {"attributes": {"k": {"deep": 1}}}]}, "attribute 'k'"),
    ({"nodes": [A, B], "edges": [{"source": "a"}]}, "Edge number 0"),
    ({"nodes": [A, B], "edges": [AB | {"target": "c"}]}, "unknown node 'c'"),
    ({"nodes": [A, B], "edges": [AB | {"bytes": -8}]}, "bytes=-8"),
    ({"nodes": [A, B], "edges": [AB | {"bytes": 1e19}]}, "bytes=1e+19"),
    ({"nodes": [A, B], "edges": [AB | {"tensor": 5}]}, "tensor=5 must be a text"),
    ({"nodes": [A, B], "edges": [AB, {"source": "b", "target": "a"}]}, "cycle, 'a' → 'b' → 'a'"),
    ({"nodes": [A], "edges": [AB | {"target": "a"}]}, "cycle, 'a' → 'a'"),
    ({"nodes": [A, B], "edges": [T | {"bytes": 1}, T | {"bytes": 2}]}, "1 bytes on one edge and 2"),
    ({"nodes": [A, B], "edges": [T, T | {"source": "b", "target": "a"}]}, "made by 'a' and by 'b'"),
    ({"nodes": [A], "graph": {"tensors": {"t": {"bytes": -1}}}}, "Tensor 't': bytes=-1"),
    ({"nodes": [A], "graph": {"tensors": {"t": {"bytes": 1, "shape": [-2]}}}}, "holds -2"),
    ({"nodes": [A], "graph": {"tensors": {}, "parameters": ["w"]}}, "'parameters' names 'w'"),
    ({"nodes": [{"id": i} for i in range(200_001)]}, "200001 operators, at most 200000"),
]


@pytest.mark.parametrize(("document", "says"), FAULTS, ids=[says[:40] for _, says in FAULTS])
def test_a_faulty_document_gives_one_line(document, says):
    assert says in refusal(from_node_link, document)


words = st.sampled_from(
    ["nodes", "edges", "links", "graph", "id", "source", "target", "bytes", "tensor", "a"]
)
trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=5),
    max_leaves=20,
)
nodes = st.lists(trees | st.fixed_dictionaries({"id": trees}))


@SETTINGS
@given(st.fixed_dictionaries({"nodes": nodes}, optional={"edges": trees, "graph": trees}))
def test_arbitrary_documents(document):
    message = ""
    try:
        from_node_link(document)
    except GraphError as error:
        message = str(error)
    assert "\n" not in message
