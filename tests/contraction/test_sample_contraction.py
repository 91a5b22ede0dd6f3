"""The shipped models: how many tasks are left, and that their cuts really separate."""

from functools import cache

import networkx as nx
import pytest

from nona.contraction.rules import contract
from nona.decomposition import VIRTUAL, decompose
from nona.sources.samples import load_sample

SAMPLES = {  # tasks by the direct and by the poset rule, and interiors of the latter's parts
    "resnet18": (10, 10, [2] * 3),
    "resnet50": (13, 13, [2] * 4),
    "googlenet": (46, 46, [4] * 9),
    "inception_v3": (66, 66, None),
    "densenet121": (1, 1, []),
    "vit_b_16": (85, 61, [4] * 12),
    "bert_base": (73, 61, [4] * 12),
    "gpt2": (145, 97, None),
    "llama2_7b": (705, 577, None),
    **dict.fromkeys(["alexnet", "vgg16", "mobilenet_v2"], (1, 1, [])),
}
ALL = sorted({*SAMPLES, "gpt2_decode", "moe_block"})


@cache
def contracted(name, rule):
    return contract(load_sample(name), rule)


@pytest.mark.parametrize("name", SAMPLES)
def test_number_of_tasks_and_of_those_between_cuts(name):
    *counts, interiors = SAMPLES[name]
    assert [len(contracted(name, rule).tasks) for rule in ("direct", "poset")] == counts
    if interiors is not None:
        parts = decompose(contracted(name, "poset").dag)
        assert [len(s.interior) for s in parts.subgraphs] == interiors


@pytest.mark.parametrize("name", ALL)
def test_no_skip_passes_a_task_that_is_comparable_with_all_others(name):
    """After the poset rule the cut tasks are exactly the tasks that come before or after every other."""
    done = contracted(name, "poset")
    graph = nx.DiGraph(done.dag.edges())
    graph.add_nodes_from(range(len(done.tasks)))
    others = [len(nx.ancestors(graph, t) | nx.descendants(graph, t)) for t in range(len(done.tasks))]
    comparable = [t for t, n in enumerate(others) if n == len(done.tasks) - 1]
    parts = decompose(done.dag)
    assert [c for c in parts.cuts if c != VIRTUAL] == comparable
    homes = [{s.root, s.sink, *s.interior} for s in parts.subgraphs]
    assert all(any({u, v} <= home for home in homes) for u, v in done.dag.edges())
