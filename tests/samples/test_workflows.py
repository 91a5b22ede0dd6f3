"""The shipped workflows: what they promise, and where their numbers come from."""

import json

import pytest

from nona.contraction.rules import contract
from nona.sources.samples import load_sample, sample_root, workflows

ESG = {
    # the published times of the functions in milliseconds, summed by hand over the sequence
    "image_classification": (3, 526),
    "depth_recognition": (3, 1233),
    "background_elimination": (3, 1452),
    "expanded_image_classification": (5, 1892),
}
PROMISED = {*ESG, "ensemble", "rag_pipeline", "slides_example"}


def _milliseconds(name):
    graph = load_sample(name)
    return {o.id: 1e3 * (o.compute_s or {})[graph.device or ""] for o in graph.operators}


def test_all_promised_workflows_are_there():
    assert set(workflows()) == PROMISED


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
    stages, total_ms = ESG[name]
    graph = load_sample(name)
    assert len(graph.operators) == stages
    assert [(e.source, e.target) for e in graph.edges] == [
        (a.id, b.id) for a, b in zip(graph.operators, graph.operators[1:], strict=False)
    ]
    assert sum(_milliseconds(name).values()) == pytest.approx(total_ms)
    assert len(contract(graph).tasks) == 1


@pytest.mark.parametrize(("name", "tasks"), [("ensemble", 5), ("rag_pipeline", 13), ("slides_example", 4)])
def test_parallel_workflows_stay_parallel_after_contraction(name, tasks):
    assert len(contract(load_sample(name)).tasks) == tasks


@pytest.mark.parametrize(
    ("name", "tensor", "source", "targets"),
    [
        ("ensemble", "images", "decode_and_resize", {"resnet", "inception", "transformer"}),
        (
            "rag_pipeline",
            "query_vector",
            "embed_query",
            {f"search_{w}" for w in ("documents", "tickets", "images")},
        ),
        ("rag_pipeline", "prompt", "compose_prompt", {"generate_answer", "check_sources"}),
    ],
)
def test_a_tensor_for_many_is_one_tensor(name, tensor, source, targets):
    edges = [e for e in load_sample(name).edges if e.tensor == tensor]
    assert {e.source for e in edges} == {source}
    assert {e.target for e in edges} == targets
    assert len({e.size_bytes for e in edges}) == 1
