"""The shipped ONNX graphs and workflows: what manifest and files say of them is what Nona finds in them."""

import hashlib
import json
import math
import re
from itertools import pairwise

import onnx
import pytest

from nona.cluster.hardware.executor import executor_class
from nona.core.errors import GraphError
from nona.models.contraction.rules import contract
from nona.models.cost.costing import cost_graph
from nona.scenario.sample_files import (
    description,
    load_sample,
    manifest,
    sample_names,
    sample_path,
    sample_root,
    workflows,
)

MODELS = tuple(manifest())
ESG = {
    # the published times of the functions in milliseconds, summed by hand over the sequence
    "image_classification": (3, 526),
    "depth_recognition": (3, 1233),
    "background_elimination": (3, 1452),
    "expanded_image_classification": (5, 1892),
}
PROMISED = {*ESG, "ensemble", "rag_pipeline", "slides_example"}
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


def test_all_promised_samples_are_there_with_a_line_of_description_and_no_others():
    assert list(MODELS) == list(OTHER_EXPORT)
    assert {p.stem for p in sample_root().glob("*.onnx")} == set(MODELS)
    assert set(workflows()) == PROMISED
    for name in sample_names():
        assert 20 < len(description(name)) < 200
        assert "\n" not in description(name)
    assert description("no such sample") == ""
    assert sample_path("no such sample") is None
    with pytest.raises(GraphError, match=r"'resnet81'.*choose one of .*resnet18"):
        load_sample("resnet81")


@pytest.mark.parametrize("name", MODELS)
def test_manifest_describes_a_file_without_weights_and_without_traces_of_the_machine_that_made_it(name):
    entry, data, model = manifest()[name], sample_path(name).read_bytes(), _proto(name)
    assert hashlib.sha256(data).hexdigest() == entry["sha256"]
    assert len(data) == entry["bytes"] < 400_000
    assert len(model.graph.node) == entry["nodes"]
    assert name in entry["regenerate"]
    assert all(entry[k].strip() for k in ("description", "source", "architecture", "licence", "exporter"))
    for tensor in model.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            assert {e.key: e.value for e in tensor.external_data} == {"location": "weights-not-shipped"}
        else:
            assert onnx.numpy_helper.to_array(tensor).size <= 64, f"{tensor.name} carries values"
    assert model.doc_string == model.graph.doc_string == ""
    assert {p.key for p in model.metadata_props} == {"source", "licence", "made_by"}
    assert not any(node.doc_string or node.metadata_props for node in model.graph.node)
    paths = rb"(?:/(?:home|root|tmp|usr|work|opt|Users)/|[A-Z]:\\|site-packages|Traceback)"
    assert re.search(paths, data) is None


@pytest.mark.parametrize("name", MODELS)
def test_reader_and_costs_find_what_manifest_and_the_other_export_say(name):
    entry, graph = manifest()[name], load_sample(name)
    assert (graph.name, graph.warnings) == (name, ())
    edges = len({(e.source, e.target) for e in graph.edges})
    assert (len(graph.operators), edges) == (entry["operators"], entry["edges"]) == OTHER_EXPORT[name][:2]
    assert all(t.shape is not None for t in graph.tensors.values())
    # the reader also counts the few stored scalars (a scale, an epsilon) as parameters
    stored = [t for t in _proto(name).graph.initializer if t.data_location == 0 and t.data_type in (1, 10)]
    scalars = sum(math.prod(t.dims) for t in stored)
    assert 0 <= graph.parameter_count - entry["weight_elements"] <= scalars <= 10
    # norms folded into convolutions lose parameters; BERT's pooler is not on the way to the output
    assert entry["weight_elements"] == pytest.approx(entry["parameters"], rel=0.011)
    named = [o for o in graph.operators if "/" in o.id]
    assert len(named) >= 0.9 * len(graph.operators), "most are named after their module"
    costed = cost_graph(graph, executor_class("a100-40gb"))
    counted = pytest.approx(sum(c.macs for c in costed.costs) / 1e9, rel=1e-3)
    assert (entry["gmac"], OTHER_EXPORT[name][2], costed.warnings) == (counted, counted, ())


@pytest.mark.parametrize("name", sorted(PROMISED))
def test_a_workflow_reads_clean_and_tells_its_origin(name):
    graph = load_sample(name)
    assert graph.warnings == ()
    assert graph.name == name
    assert all(o.compute_s for o in graph.operators)
    meta = json.loads((sample_root() / "workflows" / f"{name}.json").read_text(encoding="utf-8"))["graph"]
    assert {"name", "description", "source", "provenance"} <= set(meta)
    assert any(word in meta["provenance"] for word in ("stated", "recollected", "assumed"))


@pytest.mark.parametrize("name", sorted(ESG))
def test_serverless_applications_are_chains_of_the_published_times(name):
    graph = load_sample(name)
    ids = [o.id for o in graph.operators]
    assert [(e.source, e.target) for e in graph.edges] == list(pairwise(ids))
    total_ms = sum(1e3 * o.compute_s[graph.device] for o in graph.operators)
    assert (len(ids), total_ms) == (ESG[name][0], pytest.approx(ESG[name][1]))
    assert len(contract(graph).tasks) == 1


@pytest.mark.parametrize(("name", "tasks"), [("ensemble", 5), ("rag_pipeline", 13), ("slides_example", 4)])
def test_parallel_workflows_stay_parallel_after_contraction(name, tasks):
    assert len(contract(load_sample(name)).tasks) == tasks


SEARCHES = {f"search_{w}" for w in ("documents", "tickets", "images")}


@pytest.mark.parametrize(
    ("name", "tensor", "source", "targets"),
    [
        ("ensemble", "images", "decode_and_resize", {"resnet", "inception", "transformer"}),
        ("rag_pipeline", "query_vector", "embed_query", SEARCHES),
        ("rag_pipeline", "prompt", "compose_prompt", {"generate_answer", "check_sources"}),
    ],
)
def test_a_tensor_for_many_is_one_tensor(name, tensor, source, targets):
    edges = [e for e in load_sample(name).edges if e.tensor == tensor]
    assert {(e.source, e.target) for e in edges} == {(source, target) for target in targets}
    assert len({e.size_bytes for e in edges}) == 1
