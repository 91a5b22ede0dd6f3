"""Networks made by rule read clean and have the sizes that they state; NetworkX as a second opinion."""

import json

import networkx as nx
import pytest

from evidence.network_layers import BYTES_PER_S, FLOPS, LAUNCH_S, TaskGraphBuilder
from evidence.networks import NETWORKS, mixture_of_experts
from nona.models.contraction.rules import RULES, contract
from nona.models.decomposition import VIRTUAL, dominator_tree
from nona.models.graph.dag import Dag, transitive_reduction
from nona.queries.workflows.preparation import prepare
from nona.scenario.file import scenario_from_mapping
from nona.scenario.sample_files import load_sample


def scenario(name):
    return scenario_from_mapping(
        {
            "version": 1,
            "cluster": {"servers": [{"count": 2}]},
            "workload": [{"model": name, "rate": 1}],
            "models": {name: NETWORKS[name].build()},
        }
    )


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_acyclic_and_has_the_interior_that_it_states(name):
    data = NETWORKS[name].build()
    assert data == NETWORKS[name].build()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    graph = nx.node_link_graph(data, edges="edges", directed=True)
    assert nx.is_directed_acyclic_graph(graph)
    assert nx.is_weakly_connected(graph)
    model = prepare(scenario(name)).models[0]
    assert model.graph.warnings == ()
    assert max(len(s.interior) for s in model.decomposition.subgraphs) == NETWORKS[name].interior
    assert model.tasks.compute_s.sum() == pytest.approx(sum(n["compute_ms"] for n in data["nodes"]) / 1e3)


def test_a_task_takes_what_the_roofline_says():
    graph = TaskGraphBuilder()
    source = graph.task("source", 0, 6e8)
    graph.task("computes", 1.2e12, 10, source)
    graph.task("reads", 0, 10, source, weights=6e8)
    times = [n["compute_ms"] / 1e3 for n in graph.mapping()["nodes"]]
    assert times[0] == pytest.approx(LAUNCH_S + 2 * 6e8 / BYTES_PER_S)
    assert times[1] == pytest.approx(LAUNCH_S + 1.2e12 / FLOPS)
    assert times[2] == pytest.approx(LAUNCH_S + 2 * (12e8 + 10) / BYTES_PER_S)


def test_experts_of_any_number_do_the_same_work():
    """The matrices of all experts together, read or multiplied, whatever their number."""

    def of_experts_s(experts):
        nodes = mixture_of_experts(experts)["nodes"]
        parts = [n for n in nodes if n["id"].endswith((".gate", ".up"))]
        return sum(n["compute_ms"] / 1e3 - LAUNCH_S for n in parts)

    flop = 2 * 2 * 128 * 4096 * 8 * 14_336  # gate and up, 128 of 512 tokens each
    assert of_experts_s(8) == pytest.approx(flop / FLOPS)
    assert of_experts_s(8) == pytest.approx(of_experts_s(64), rel=0.05)


MODELS = ("slides_example", "googlenet", "densenet121", "inception_v3", "gpt2", "rag_pipeline")


SOURCE = "source"


def graph_differences(dag: Dag) -> tuple[str, ...]:
    """Name the results that differ from NetworkX: order, dominators, transitive reduction.

    >>> graph_differences(Dag.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)]))
    ()
    """
    other = nx.DiGraph()
    other.add_nodes_from(range(len(dag)))
    other.add_edges_from(dag.edges())
    place = {v: k for k, v in enumerate(dag.topological_order())}
    ordered = nx.is_directed_acyclic_graph(other) and all(place[u] < place[v] for u, v in other.edges)
    reduced = set(transitive_reduction(dag).edges()) == set(nx.transitive_reduction(other).edges)
    other.add_edges_from((SOURCE, v) for v in range(len(dag)) if not dag.predecessors[v])
    above = nx.immediate_dominators(other, SOURCE)
    wanted = tuple(VIRTUAL if above[v] == SOURCE else above[v] for v in range(len(dag)))
    tree = dominator_tree(dag, dag.topological_order())
    dominated = tuple(map(tree.parent, range(len(dag)))) == wanted
    agrees = {"order": ordered, "transitive reduction": reduced, "dominators": dominated}
    return tuple(what for what, same in agrees.items() if not same)


@pytest.mark.parametrize(("name", "rule"), [*((m, None) for m in MODELS), *(("googlenet", r) for r in RULES)])
def test_shipped_and_contracted_models_are_seen_alike(name, rule):
    graph = load_sample(name)
    assert graph_differences((contract(graph, rule) if rule else graph).dag) == ()
