"""The shipped ONNX graphs: what the manifest says of them is what Nona finds in them."""

import hashlib
import math
import re

import onnx
import pytest

from nona.cost.costing import cost_graph
from nona.errors import GraphError
from nona.hardware.cluster import Cluster, ServerGroup
from nona.sources.samples import description, load_sample, manifest, sample_names, sample_path, sample_root

MODELS = tuple(manifest())
# Operators, edges and multiply-adds (10^9) that were counted on graphs of the same networks made
# apart from these, with another script.
OTHER_EXPORT = {
    "alexnet": (20, 19, 0.7142),
    "resnet18": (49, 56, 1.8141),
    "vgg16": (38, 37, 15.4703),
    "densenet121": (368, 902, 2.8342),
    "gpt2": (534, 617, 145.8242),
    "gpt2_decode": (558, 641, 0.1424),
    "googlenet": (139, 165, 1.4984),
    "inception_v3": (219, 253, 5.7132),
    "resnet50": (122, 137, 4.0892),
    "mobilenet_v2": (100, 109, 0.3008),
    "vit_b_16": (476, 523, 17.5638),
    "bert_base": (448, 507, 35.3328),
    "moe_block": (167, 218, 204.0277),
    "llama2_7b": (2059, 2475, 3451.5431),
}


def _proto(name):
    return onnx.load(str(sample_path(name)), load_external_data=False)


def test_all_promised_models_are_there_and_no_others():
    assert list(MODELS) == list(OTHER_EXPORT)
    assert {p.stem for p in sample_root().glob("*.onnx")} == set(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_manifest_describes_the_file(name):
    entry, path = manifest()[name], sample_path(name)
    data = path.read_bytes()
    assert hashlib.sha256(data).hexdigest() == entry["sha256"]
    assert len(data) == entry["bytes"] < 400_000
    assert len(_proto(name).graph.node) == entry["nodes"]
    assert name in entry["regenerate"]
    for key in ("description", "source", "architecture", "licence", "exporter"):
        assert entry[key].strip(), key


@pytest.mark.parametrize("name", MODELS)
def test_the_reader_finds_what_the_manifest_says(name):
    entry, graph = manifest()[name], load_sample(name)
    assert graph.name == name
    assert graph.warnings == ()
    edges = len({(e.source, e.target) for e in graph.edges})
    assert (len(graph.operators), edges) == (entry["operators"], entry["edges"])
    assert (entry["operators"], entry["edges"]) == OTHER_EXPORT[name][:2]
    assert all(t.shape is not None for t in graph.tensors.values())
    # the reader also counts the few stored scalars (a scale, an epsilon) as parameters
    stored = [t for t in _proto(name).graph.initializer if t.data_location == 0 and t.data_type in (1, 10)]
    scalars = sum(math.prod(t.dims) for t in stored)
    assert graph.parameter_count == entry["weight_elements"] + scalars <= entry["weight_elements"] + 10
    # norms folded into convolutions lose parameters; BERT's pooler is not on the way to the output
    assert entry["weight_elements"] == pytest.approx(entry["parameters"], rel=0.011)


@pytest.mark.parametrize("name", MODELS)
def test_multiply_adds_agree_between_three_counts(name):
    costed = cost_graph(load_sample(name), Cluster((ServerGroup(gpu="a100-40gb"),)).classes["a100-40gb"])
    gmac = sum(c.macs for c in costed.costs) / 1e9
    assert gmac == pytest.approx(manifest()[name]["gmac"], rel=1e-3)
    assert gmac == pytest.approx(OTHER_EXPORT[name][2], rel=1e-3)
    assert costed.warnings == ()


@pytest.mark.parametrize("name", MODELS)
def test_files_carry_no_weights(name):
    for tensor in _proto(name).graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            assert {e.key: e.value for e in tensor.external_data} == {"location": "weights-not-shipped"}
        else:
            elements = onnx.numpy_helper.to_array(tensor).size
            assert elements <= 64, f"{tensor.name} carries {elements} values"


@pytest.mark.parametrize("name", MODELS)
def test_files_tell_nothing_of_the_machine_that_made_them(name):
    model = _proto(name)
    assert model.doc_string == model.graph.doc_string == ""
    assert {p.key for p in model.metadata_props} == {"source", "licence", "made_by"}
    for node in model.graph.node:
        assert node.doc_string == ""
        assert not node.metadata_props
    paths = rb"(?:/(?:home|root|tmp|usr|work|opt|Users)/|[A-Z]:\\|site-packages|Traceback)"
    assert re.search(paths, sample_path(name).read_bytes()) is None


@pytest.mark.parametrize("name", MODELS)
def test_most_nodes_are_named_after_their_module(name):
    operators = load_sample(name).operators
    named = [o for o in operators if "/" in o.id]
    assert len(named) >= 0.9 * len(operators)
    assert len({o.id for o in operators}) == len(operators)


def test_every_sample_has_a_description_of_one_line():
    for name in sample_names():
        assert 20 < len(description(name)) < 200
        assert "\n" not in description(name)
    assert description("no such sample") == ""


def test_an_unknown_sample_names_those_there_are():
    assert sample_path("no such sample") is None
    with pytest.raises(GraphError, match=r"'resnet81'.*choose one of .*resnet18"):
        load_sample("resnet81")
