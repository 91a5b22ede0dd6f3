"""The front door: extensions, sizes, what a file looks like, and the shipped samples."""

import json
import math
from pathlib import Path

import onnx
import pytest
from onnx_cases import model, relu

from nona.errors import GraphError
from nona.graph.readers import read_model, reader_for
from nona.graph.registry import READERS
from nona.graph.text import MAX_BYTES

SAMPLES = Path(__file__).resolve().parents[2] / "sample_models"
ROWS = {r["file"]: r for r in json.loads((SAMPLES / "MANIFEST.json").read_text())["models"]}


@pytest.mark.parametrize("file", sorted(ROWS))
def test_samples_agree_with_their_manifest(file):
    """The manifest was counted when the models were exported, by other code."""
    data = (SAMPLES / file).read_bytes()
    graph = read_model(data, file, guarded=False)
    row = ROWS[file]
    assert len(graph.operators) == row["operators"]
    assert len(graph.edges) == row["edges"]
    # it leaves out what stays inside the file, the few numbers of the formulas
    stored = onnx.load_model_from_string(data).graph.initializer
    inside = [t for t in stored if t.data_location == 0 and t.data_type in (1, 10)]
    assert graph.parameter_count == row["weight_elements"] + sum(math.prod(t.dims) for t in inside)
    assert graph.warnings == ()
    assert all(t.shape is not None for t in graph.tensors.values())


def test_the_guard_changes_nothing():
    data = (SAMPLES / "gpt2.onnx").read_bytes()
    assert read_model(data, "gpt2.onnx", guarded=True) == read_model(data, "gpt2.onnx", guarded=False)


@pytest.mark.parametrize(
    ("data", "name", "says"),
    [
        (b"", "m.onnx", "it is empty"),
        (b" \n\t ", "m.json", "it is empty"),
        (b"x", "m.pt", "the extension .pt (PyTorch)"),
        (b"x", "m.safetensors", "export the model to ONNX"),
        (b"x", "m", "the extension '' is not one of"),
        (b"x", "m.xyz", "the extension '.xyz' is not one of .onnx, .json, .dot, .gv, .graphml"),
        (b'{"nodes": []}', "m.onnx", "looks like node-link JSON; rename it to end in .json"),
        (b"digraph { a }", "m.json", "looks like DOT; rename it to end in .dot"),
        (b"<graphml/>", "m.dot", "looks like GraphML"),
        (b"PK\x03\x04rest", "m.onnx", "a ZIP archive"),
        (b"\x80\x04\x95", "m.onnx", "pickle"),
        (b"version https://git-lfs.github.com/spec/v1", "m.onnx", "Git LFS pointer"),
        (b"plain text", "m.onnx", "not an ONNX model"),
        (bytes(range(256)) * 40, "m.onnx", "not an ONNX model"),
        (b"\x0a" * 64_000_001, "m.onnx", "64000001 bytes is more than the limit of 64000000"),
        (b"x", "a\nb.foo", "'a\\nb.foo'"),
    ],
)
def test_what_is_no_model_gives_one_line(data, name, says):
    with pytest.raises(GraphError) as caught:
        read_model(data, name)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_ten_million_nodes():
    """20 MB of empty nodes, which protobuf unfolds to gigabytes."""
    end = model([relu("x", "y")])
    graph = b"\x0a\x00" * 10_000_000
    data = end + b"\x3a" + _varint(len(graph)) + graph  # a second graph field is merged into the first
    with pytest.raises(GraphError, match=r"unfolds to more than the memory limit|at most 200000 are allowed"):
        read_model(data, "m.onnx")


def _varint(number):
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def test_every_reader_is_found_by_its_extensions():
    for name, reader in READERS.items():
        assert reader.name == name
        for suffix in reader.suffixes:
            assert reader_for(f"Some Model{suffix.upper()}") is reader
    assert MAX_BYTES == 64_000_000
