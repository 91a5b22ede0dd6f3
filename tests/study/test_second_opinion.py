"""NetworkX as a second opinion: on shipped models, on random graphs, and when something is wrong."""

from __future__ import annotations

import itertools
import random

import pytest

from nona.contraction.rules import RULES, contract
from nona.decomposition import VIRTUAL
from nona.graph.dag import Dag
from nona.sources.samples import load_sample
from nona.study.self_checks import graph_differences

MODELS = ("slides_example", "googlenet", "densenet121", "inception_v3", "gpt2", "rag_pipeline")


@pytest.mark.parametrize("name", MODELS)
def test_shipped_models_are_seen_alike(name: str) -> None:
    assert graph_differences(load_sample(name).dag) == ()


@pytest.mark.parametrize("rule", RULES)
def test_contracted_models_are_seen_alike(rule: str) -> None:
    assert graph_differences(contract(load_sample("googlenet"), rule).dag) == ()


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs_are_seen_alike(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.randint(1, 60)
    names = rng.sample(range(n), n)
    pairs = list(itertools.combinations(range(n), 2))
    arcs = rng.sample(pairs, min(len(pairs), rng.randint(0, 4 * n)))
    assert graph_differences(Dag.from_edges(n, [(names[u], names[v]) for u, v in arcs])) == ()


def test_a_wrong_answer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    dag = Dag.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)])
    own = "nona.study.self_checks."
    monkeypatch.setattr(own + "immediate_dominators", lambda dag: (VIRTUAL, 0, 0, 1))
    assert graph_differences(dag) == ("dominators",)
    monkeypatch.setattr(own + "transitive_reduction", lambda dag: dag)
    assert graph_differences(dag) == ("transitive reduction", "dominators")
