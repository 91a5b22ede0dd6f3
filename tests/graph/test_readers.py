"""Model files: each format's graph, what is no model, damaged files and the shipped samples."""

import json
import random

import networkx as nx
import pytest
from graph_cases import model, refusal, relu
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from sizes import examples

from benchmarks.fuzz_readers import mutate, outcome, seeds
from nona.graph.guard import GuardedWorker
from nona.graph.model import Work
from nona.graph.readers import read_model, reader_for
from nona.graph.registry import READERS
from nona.graph.text import MAX_BYTES

SETTINGS = examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
"""


def test_dot():
    graph = read_model(DOT, "slides.dot")
    one, two, three, four = graph.operators
    assert [o.id for o in graph.operators] == ["one", "two", "three", "four"]
    assert two.compute_s == {"v100": 0.01, "t4": 0.02}
    assert (two.kind, four.kind) == ("<i>heavy</i>", "Task")
    assert three.work == Work(flops=8e9, weight_bytes=1000.0)
    assert one.outputs == ("x",)
    assert len(graph.edges) == 5
    assert (graph.name, graph.source_format) == ("slides", "dot")
    assert graph.warnings == ("2 of 5 edges state no bytes; they count as 0 bytes.",)


def test_all_text_formats_give_the_same_graph(tmp_path):
    made = nx.DiGraph()
    made.add_node("a", compute_ms=3.5, kind="Conv", flops=1e9)
    made.add_node("b & <c>", compute_ms=1)
    made.add_edge("a", "b & <c>", bytes=1000, tensor="t")
    nx.write_graphml(made, tmp_path / "g.graphml")
    nx.nx_agraph.write_dot(made, tmp_path / "g.dot")
    (tmp_path / "g.json").write_text(json.dumps(nx.node_link_data(made, edges="links")))
    read = [read_model((tmp_path / f).read_bytes(), f) for f in ("g.graphml", "g.dot", "g.json")]
    assert read[0].operators == read[1].operators == read[2].operators
    assert read[0].edges == read[1].edges == read[2].edges
    assert read[0].operators[0].compute_s == {"*": 0.0035}


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


def test_the_file_names_a_graph_without_a_name():
    assert read_model(b'{"nodes": [{"id": "a"}]}', "folder/chain.json").name == "chain"
    assert read_model(b'{"graph": {"name": "own"}, "nodes": [{"id": "a"}]}', "chain.json").name == "own"


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


@SETTINGS
@given(st.binary(max_size=300), st.sampled_from([reader.suffixes[0] for reader in READERS.values()]))
def test_arbitrary_bytes(worker, data, suffix):
    what, message = outcome(data, f"any{suffix}", worker)
    assert what in ("graph", "refused"), message


@SETTINGS
@given(st.integers(0, 10**9), st.sampled_from(seeds()))
def test_mutated_real_files(worker, seed, real):
    name, data = real
    what, message = outcome(mutate(name, data, random.Random(seed)), name, worker)
    assert what != "ESCAPE", message


def test_every_reader_is_found_by_its_extensions():
    for name, reader in READERS.items():
        assert reader.name == name
        for suffix in reader.suffixes:
            assert reader_for(f"Some Model{suffix.upper()}") is reader
    assert MAX_BYTES == 64_000_000
