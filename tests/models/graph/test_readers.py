"""Model files: each format's graph, node-link JSON without loss, and one clear line for every fault."""

import json
import random

import networkx as nx
import pytest
from graph_cases import model, refusal, relu
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from sizes import examples

from benchmarks.fuzz_readers import mutate, outcome, seeds
from nona.core.errors import GraphError
from nona.models.graph.guard import GuardedWorker
from nona.models.graph.model import Edge, ModelGraph, Operator, StatedWork, Tensor
from nona.models.graph.node_link import from_node_link, to_node_link
from nona.models.graph.readers import read_model

DOT = b"""
/* the slides' example */
digraph slides {
  node [kind=Task]
  one [compute_ms=2, color=red]
  two [compute_ms="{\\"v100\\": 10, \\"t4\\": 20}", kind="<i>heavy</i>"]
  three [flops="8e9", weight_bytes=1000]
  one -> two [bytes=9000000, tensor=x]
  one -> three [bytes=9000000, tensor=x]
  subgraph cluster_end { two -> four [bytes="1e6"] ; three -> four; three -> four }
}
// digraph an_old_one { a }
"""


def test_dot():
    graph = read_model(DOT, "slides.dot")
    one, two, three, four = graph.operators
    assert [o.id for o in graph.operators] == ["one", "two", "three", "four"]
    assert two.compute_s == {"v100": 0.01, "t4": 0.02}
    assert (two.kind, four.kind) == ("<i>heavy</i>", "Task")
    assert three.work == StatedWork(flops=8e9, weight_bytes=1000.0)
    assert one.outputs == ("x",)
    assert len(graph.edges) == 5
    assert (graph.name, graph.source_format) == ("slides", "dot")
    assert graph.warnings == ("2 of 5 edges state no bytes; they count as 0 bytes.",)


def test_all_text_formats_give_the_same_graph(tmp_path):
    made = nx.DiGraph()
    made.add_node("a", compute_ms=3.5, kind="Conv", flops=1e9, device="t4", bound="compute")
    made.add_node("b & <c>", compute_ms=1)
    made.add_edge("a", "b & <c>", bytes=1000, tensor="t")
    nx.write_graphml(made, tmp_path / "g.graphml")
    nx.nx_agraph.write_dot(made, tmp_path / "g.dot")
    (tmp_path / "g.json").write_text(json.dumps(nx.node_link_data(made, edges="links")))
    read = [read_model((tmp_path / f).read_bytes(), f) for f in ("g.graphml", "g.dot", "g.json")]
    assert read[0].operators == read[1].operators == read[2].operators
    assert read[0].edges == read[1].edges == read[2].edges
    assert (read[0].operators[0].compute_s, read[0].operators[0].bound) == ({"t4": 0.0035}, "compute")
    assert not any(graph.warnings for graph in read)


def graphml(body, keys="", kind="directed", head=""):
    space = 'xmlns="http://graphml.graphdrawing.org/xmlns"'
    return f'{head}<graphml {space}>{keys}<graph edgedefault="{kind}">{body}</graph></graphml>'.encode()


def flops(text):
    return graphml(f'<node id="a"><data key="flops">{text}</data></node>')


def test_graphml_defaults_and_unknown_keys():
    keys = (
        '<key id="d0" for="node" attr.name="compute_ms"><default>2</default></key>'
        '<key id="d1" for="all" attr.name="speed"/>'
    )
    body = '<node id="a"/><node id="b"><data key="d0">5</data><data key="d1">9</data></node>'
    graph = read_model(graphml(body, keys), "g.graphml")
    assert [o.compute_s for o in graph.operators] == [{"*": 0.002}, {"*": 0.005}]
    assert graph.warnings == ("Ignored attributes: 'speed'.",)
    assert read_model(b'{"nodes": [{"id": "a"}]}', "folder/chain.json").name == "chain"


BOMB = (
    '<!DOCTYPE l [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {c} "{f"&{b};" * 10}">' for b, c in zip("abcdefgh", "bcdefghi", strict=True))
    + "]>"
)
NODE = '<node id="a"/>'
EMPTY_NODES = b"\x0a\x00" * 10_000_000  # 20 MB, which protobuf unfolds to gigabytes
FAULTS = [
    ("g.graphml", graphml('<node id="&i;"/>', head=BOMB), "document type or entities"),
    ("g.graphml", graphml(NODE, head='<!DOCTYPE g SYSTEM "http://example.org/g.dtd">'), "document type"),
    ("g.graphml", graphml(NODE, kind="undirected"), "undirected"),
    ("g.graphml", graphml(NODE + '<edge source="a" target="q"/>'), "unknown node 'q'"),
    ("g.graphml", graphml(NODE + NODE), "'a' appears twice"),
    ("g.graphml", graphml("<node/>"), "no id"),
    ("g.graphml", graphml(NODE + '<edge source="a"/>'), "lacks source or target"),
    ("g.graphml", graphml('<node id="a"><graph/></node>'), "nested graph"),
    ("g.graphml", graphml(NODE + "<hyperedge/>"), "hyperedge"),
    ("g.graphml", graphml(""), "no operators"),
    ("g.graphml", flops("NaN"), "flops='NaN' is not a number"),
    ("g.graphml", flops("1_0"), "flops='1_0' is not a number"),
    ("g.graphml", flops("-5"), "flops=-5"),
    ("g.graphml", b"<graphml><graph>", "not well-formed XML"),
    ("g.graphml", b"<svg/>", "not <graphml>"),
    ("g.graphml", b"<graphml/>", "holds 0 graphs"),
    ("g.graphml", b"<a>" * 200_000, "not well-formed XML"),
    ("g.dot", b'digraph { a [image="/etc/passwd"] }', "'image' names a file"),
    ("g.dot", b'digraph { node [shapefile="x.ps"]; a }', "'shapefile' names a file"),
    ("g.dot", b'digraph { imagepath="/etc"; a }', "'imagepath' names a file"),
    ("g.dot", b"graph { a -- b }", "undirected"),
    ("g.dot", b"digraph { a -> b -> a }", "cycle, 'a' → 'b' → 'a'"),
    ("g.dot", b"digraph { a ->", "not valid DOT"),
    ("g.dot", b"digraph {}", "no operators"),
    ("g.dot", b"digraph one { a }\n/* { */ strict digraph two { b }", "several graphs, 'one' and 'two'"),
    ("g.graphml", graphml(NODE).replace(b"</graphml>", b"<graph/></graphml>"), "holds 2 graphs"),
    ("g.dot", b'digraph { a [compute_ms="1e999"] }', "compute_ms=inf"),
    ("g.dot", b'digraph { a [compute_ms="three"] }', "'three' is not a number"),
    ("g.dot", b'digraph { a [compute_ms="{broken"] }', "is not a map"),
    ("g.dot", b'digraph { a -> b [bytes="-1"] }', "bytes=-1"),
    ("g.dot", b"digraph { " + b"{ " * 100_000, "nested more than 200 deep"),
    ("g.dot", b"digraph { \xff\xfe }", "not UTF-8"),
    ("g.dot", b"digraph { a \x00 }", "zero byte"),
    ("g.json", b"{", "not JSON, line 1 column 2"),
    ("g.json", b'{"nodes": [{"id": "a", "compute_ms": NaN}]}', "NaN is not a number"),
    ("g.json", b'{"nodes": [{"id": "a", "flops": ' + b"9" * 9999 + b"}]}", "thousands of digits"),
    ("g.json", b"[" * 200_000, "nested too deeply"),
    ("g.json", b'{"a":' * 200_000, "nested too deeply"),
    ("g.json", b"[1, 2]", "this is a list"),
    ("g.json", b'{"nodes": ["\xff"]}', "not UTF-8"),
    ("g.json", b"[" + b"[]," * 4_100_000, "more than 4000000 objects"),
    ("m.onnx", b"", "it is empty"),
    ("m.json", b" \n\t ", "it is empty"),
    ("m.pt", b"x", "the extension .pt (PyTorch)"),
    ("m.safetensors", b"x", "export the model to ONNX"),
    ("m", b"x", "the extension '' is not one of"),
    ("m.xyz", b"x", "the extension '.xyz' is not one of .onnx, .json, .dot, .gv, .graphml"),
    ("m.onnx", b'{"nodes": []}', "looks like node-link JSON; rename it to end in .json"),
    ("m.json", b"digraph { a }", "looks like DOT; rename it to end in .dot"),
    ("m.dot", b"<graphml/>", "looks like GraphML"),
    ("m.onnx", b"PK\x03\x04rest", "a ZIP archive"),
    ("m.onnx", b"\x80\x04\x95", "pickle"),
    ("m.onnx", b"version https://git-lfs.github.com/spec/v1", "Git LFS pointer"),
    ("m.onnx", b"plain text", "not an ONNX model"),
    ("m.onnx", bytes(range(256)) * 40, "not an ONNX model"),
    ("m.onnx", b"\x0a" * 64_000_001, "64000001 bytes is more than the limit of 64000000"),
    ("a\nb.foo", b"x", "'a\\nb.foo'"),
    # a second graph field, of 20,000,000 bytes, is merged into the first
    ("m.onnx", model([relu("x", "y")]) + b"\x3a\x80\xda\xc4\x09" + EMPTY_NODES, ""),
]


@pytest.mark.parametrize(("name", "data", "says"), FAULTS, ids=[f"{n} {s[:30]}" for n, _, s in FAULTS])
def test_a_faulty_file_gives_one_line(name, data, says, capfd):
    line = refusal(read_model, data, name)
    if says:
        assert says in line
    else:
        assert "unfolds to more than the memory limit" in line or "at most 200000 are allowed" in line
    output = capfd.readouterr()
    assert output.out + output.err == "", "the parsers' own complaints stay inside"


@pytest.fixture(scope="module")
def worker():
    with GuardedWorker() as running:
        yield running


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**9), st.sampled_from(seeds()), st.binary(max_size=300))
def test_mutated_real_files_and_arbitrary_bytes(worker, seed, real, noise):
    name, data = real
    for given_data in (mutate(name, data, random.Random(seed)), noise):
        what, message = outcome(given_data, name, worker)
        assert what in ("graph", "refused"), message


names = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=8)
sizes = st.floats(0, 1e15)
scalars = st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | names
attributes = st.dictionaries(names, scalars | st.lists(scalars, max_size=4).map(tuple), max_size=3)
times = st.none() | st.dictionaries(names | st.just("*"), st.floats(0, 1e9), min_size=1, max_size=3)
works = st.none() | st.builds(StatedWork, sizes, sizes, sizes, sizes, sizes)
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


@examples(60)
@given(graphs())
def test_a_graph_comes_back_from_its_json(graph):
    text = json.dumps(to_node_link(graph), allow_nan=False)
    assert from_node_link(json.loads(text)) == graph


@pytest.mark.parametrize("key", ["edges", "links", "adjacency"])
@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
def test_what_networkx_writes_is_read(key, kind):
    made = kind(name="from networkx")
    made.add_node("a", compute_ms=3.0)
    made.add_node(2, compute_ms={"v100": 1.0, "t4": 4.0}, kind="Conv")
    made.add_edge("a", 2, bytes=1_000_000)
    made.add_edge("a", 2, bytes=1_000_000)
    data = nx.adjacency_data(made) if key == "adjacency" else nx.node_link_data(made, edges=key)
    graph = from_node_link(json.loads(json.dumps(data)))
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
    graph = from_node_link({"nodes": nodes, "edges": edges, "graph": {"name": "own"}, "arcs": []}, "given")
    assert graph.name == "given"
    assert (graph.operators[0].id, graph.operators[1].kind) == (MARKUP, "<b>")
    assert graph.operators[1].work == StatedWork(flops=10.0, macs=5.0)
    assert graph.warnings == (
        "1 of 1 edges state no bytes; they count as 0 bytes.",
        "Ignored keys: 'arcs' (×1), 'compute' (×1), 'latency' (×1).",
    )


A, B = {"id": "a"}, {"id": "b"}
AB = {"source": "a", "target": "b"}
T = AB | {"tensor": "t"}
DOCUMENTS = [
    ({}, "'nodes' is missing"),
    ({"nodes": 3}, "'nodes' is 3"),
    ({"nodes": []}, "no operators"),
    ({"nodes": [A], "edges": {}}, "'edges' is {}"),
    ({"nodes": [A, B]}, "2 nodes and no list of edges"),
    ({"nodes": [A, B], "adjacency": [[{"id": "b"}], 3]}, "2 nodes and no list of edges"),
    ({"nodes": [A, B], "adjacency": [[{"id": "c"}], []]}, "unknown node 'c'"),
    ({"nodes": [A], "edges": [], "links": []}, "both 'edges' and 'links'"),
    ({"nodes": [A], "directed": False}, "undirected"),
    ({"nodes": ["a"]}, "Node number 0: 'a' has no 'id'"),
    ({"nodes": [{"id": 1.5}]}, "1.5 is not an id"),
    ({"nodes": [{"id": ""}]}, "'' is not an id"),
    ({"nodes": [{"id": True}]}, "True is not an id"),
    ({"nodes": [{"id": "a\nb"}]}, "control character"),
    ({"nodes": [{"id": "\ud800"}]}, "control character"),
    ({"nodes": [{"id": "x" * 2001}]}, "2001 characters"),
    ({"nodes": [A, A], "edges": []}, "'a' appears twice"),
    ({"nodes": [{"id": 1}, {"id": "1"}], "edges": []}, "'1' appears twice"),
    ({"nodes": [A | {"compute_ms": float("nan")}]}, "compute_ms=nan"),
    ({"nodes": [A | {"compute_ms": float("inf")}]}, "compute_ms=inf"),
    ({"nodes": [A | {"compute_ms": -1}]}, "compute_ms=-1"),
    ({"nodes": [A | {"compute_ms": 10**400}]}, "compute_ms=a number of 1329 bits"),
    ({"nodes": [A | {"compute_ms": "3 ms"}]}, "'3 ms' is not a number"),
    ({"nodes": [A | {"compute_ms": {}}]}, "empty map"),
    ({"nodes": [A | {"compute_ms": {"t4": -2}}]}, "compute_ms['t4']=-2"),
    ({"nodes": [A | {"compute_ms": 1, "compute_s": 1}]}, "both compute_ms and compute_s"),
    ({"nodes": [A | {"batch_ms": {"8": 3}}]}, 'lack that of one input; add "1"'),
    ({"nodes": [A | {"batch_ms": {"8": 3}, "compute_ms": {"t4": 2}}]}, 'lack that of one input; add "1"'),
    ({"nodes": [A | {"batch_ms": {"1": 3, "2": 4}, "compute_ms": 2}]}, "in compute_ms, 0.002 s, differ"),
    ({"nodes": [A | {"batch_ms": {"1": 0, "2": 4}}]}, "is 0; give times above 0"),
    ({"nodes": [A | {"batch_ms": {"1": 1, "2": -4}}]}, "batch_ms['2']=-4 must be between 0 and"),
    ({"nodes": [A | {"batch_ms": {"1": 1, "0": 4}}]}, "batch_ms['0'] must be of a whole number of inputs"),
    ({"nodes": [A | {"batch_ms": {"1": 1, "1.5": 4}}]}, "batch_ms['1.5'] must be of a whole number"),
    ({"nodes": [A | {"batch_ms": {"1": "fast"}}]}, "batch_ms['1']='fast' is not a number"),
    ({"nodes": [A | {"batch_ms": [1, 2]}]}, "batch_ms=[1, 2] must map inputs"),
    ({"nodes": [A | {"batch_ms": {}}]}, "batch_ms={} must map inputs"),
    ({"nodes": [A | {"batch_ms": {"1": 1}, "batch_s": {"1": 1}}]}, "both batch_ms and batch_s"),
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
    ({"nodes": [{"id": i} for i in range(200_001)], "edges": []}, "200001 operators, at most 200000"),
]


@pytest.mark.parametrize(("document", "says"), DOCUMENTS, ids=[says[:40] for _, says in DOCUMENTS])
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


@examples(60)
@given(st.fixed_dictionaries({"nodes": nodes}, optional={"edges": trees, "graph": trees}))
def test_arbitrary_documents(document):
    message = ""
    try:
        from_node_link(document)
    except GraphError as error:
        message = str(error)
    assert "\n" not in message
