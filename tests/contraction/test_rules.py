"""Certificates that every registered rule must pass, on random graphs."""

import itertools
import random

import networkx as nx
import pytest
from contraction_cases import arcs_of, critical_path, graphs, model, quotient, singletons
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.contraction.rules import DEFAULT_RULE, RULES, contract, contract_by
from nona.errors import GraphError
from nona.graph.model import Edge, ModelGraph, Operator

every_rule = pytest.mark.parametrize("rule", RULES)
modest = examples(120)
orders = st.one_of(st.none(), st.integers(0, 10**6))


def run(graph, rule, order):
    if order is None:
        return contract(graph, rule)
    rng = random.Random(order)
    return contract_by(graph, RULES[rule], [rng.random() for _ in graph.operators])


def blocks(contracted):
    index = contracted.graph.index
    return frozenset(frozenset(index[o] for o in t.operators) for t in contracted.tasks)


@every_rule
@modest
@given(graph=graphs, order=orders)
def test_tasks_partition_the_operators_and_lift_back(rule, graph, order):
    done = run(graph, rule, order)
    place = graph.index
    assert sorted(o for t in done.tasks for o in t.operators) == sorted(place)
    for task in done.tasks:
        assert task.id == task.operators[0]
        assert list(task.operators) == sorted(task.operators, key=place.__getitem__)
        assert all(done.task_of[o] == task.id for o in task.operators)
    assert len(done.tasks) == len(graph.operators) - len(done.steps)


@every_rule
@modest
@given(graph=graphs, order=orders)
def test_the_result_is_acyclic_and_its_edges_are_those_of_the_operators(rule, graph, order):
    done = run(graph, rule, order)
    task_of, index = done.task_of, done.index
    expected = {
        (index[task_of[e.source]], index[task_of[e.target]], e.tensor): e.size_bytes
        for e in graph.edges
        if task_of[e.source] != task_of[e.target]
    }
    found = [((index[e.source], index[e.target], e.tensor), e.size_bytes) for e in done.edges]
    assert found == sorted(expected.items())
    assert all(e.source != e.target and index[e.source] < index[e.target] for e in done.edges)


@every_rule
@modest
@given(graph=graphs, order=orders, seed=st.integers(0, 10**6))
def test_totals_and_the_critical_path_stay(rule, graph, order, seed):
    done = run(graph, rule, order)
    rng = random.Random(seed)
    for zeros in (0.0, 0.7):
        times = [float(rng.randint(1, 50)) * (rng.random() >= zeros) for _ in graph.operators]
        merged = done.sum_over_tasks(times)
        assert sum(merged) == sum(times)
        assert done.dag.critical_path(merged)[0] == graph.dag.critical_path(times)[0]


@every_rule
@modest
@given(graph=graphs, order=orders)
def test_steps_replay(rule, graph, order):
    done = run(graph, rule, order)
    place = graph.index
    tasks = {o: {o} for o in place}
    arcs = {(e.source, e.target) for e in graph.edges}
    for step in done.steps:
        source, target = tasks.pop(step.source), tasks.pop(step.target)
        assert step.edge in arcs
        assert step.edge[0] in source
        assert step.edge[1] in target
        assert step.into == min(source | target, key=place.__getitem__)
        tasks[step.into] = source | target
    assert tasks == {t.id: set(t.operators) for t in done.tasks}


@every_rule
@modest
@given(graph=graphs, order=orders)
def test_reasons_name_the_true_neighbours(rule, graph, order):
    check_reasons(run(graph, rule, order))


def check_reasons(done):
    """What each reason lists are the neighbours at that time; by the poset rule, of the ends that meet."""
    graph = done.graph
    arcs, names = arcs_of(graph), [o.id for o in graph.operators]
    partition = singletons(len(names))
    after_direct = blocks(contract(graph, "direct"))
    for step in done.steps:
        a, b = (next(p for p in partition if names[min(p)] == end) for end in (step.source, step.target))
        home = after_direct if step.rule == "poset" else partition
        end, start = (next(p for p in home if graph.index[o] in p) for o in step.edge)
        inputs = {p for p in partition - {a, b} for u, v in arcs if u in p and v in start}
        consumers = {p for p in partition - {a, b} for u, v in arcs if u in end and v in p}
        source, target = repr(step.source), repr(step.target)
        end_name = f"the end of {source}" if end != a else source
        start_name = f"the start of {target}" if start != b else target
        assert (f"{start_name} reads from {source} only" in step.reason) == (not inputs)
        assert (f"{end_name} feeds {target} only" in step.reason) == (not consumers)
        for neighbours in (inputs, consumers):
            listed = ", ".join(repr(names[i]) for i in sorted(min(p) for p in neighbours)[:3])
            more = f" and {len(neighbours) - 3} more" if len(neighbours) > 3 else ""
            assert f"({listed}{more})" in step.reason or not neighbours
        assert step.rule in RULES
        assert "\n" not in step.reason
        partition = (partition - {a, b}) | {a | b}


@every_rule
@modest
@given(graph=graphs)
def test_contraction_is_repeatable_and_idempotent(rule, graph):
    done = contract(graph, rule)
    assert contract(graph, rule) == done
    edges = tuple(Edge(e.source, e.target, e.tensor, e.size_bytes) for e in done.edges)
    again = contract(ModelGraph("again", tuple(Operator(t.id) for t in done.tasks), edges), rule)
    assert again.steps == ()


@modest
@given(graph=graphs)
def test_the_rules_are_nested(graph):
    """Size-aware merges no more than direct, and direct no more than poset."""
    fine, middle, coarse = (blocks(contract(graph, r)) for r in ("size-aware", "direct", "poset"))
    for finer, coarser in itertools.pairwise((fine, middle, coarse)):
        assert all(any(f <= c for c in coarser) for f in finer)


@modest
@given(graph=graphs)
def test_poset_is_the_path_compression_of_the_transitive_reduction(graph):
    other = nx.DiGraph(arcs_of(graph))
    other.add_nodes_from(range(len(graph.operators)))
    hasse = nx.transitive_reduction(other)
    paths = nx.Graph((u, v) for u, v in hasse.edges if hasse.out_degree(u) == 1 == hasse.in_degree(v))
    paths.add_nodes_from(hasse)
    assert blocks(contract(graph)) == {frozenset(c) for c in nx.connected_components(paths)}


def serial_skips():
    """The smallest serial graph that stops the direct rule."""
    return model(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 3), (1, 4)])


def test_only_the_poset_rule_sees_that_a_graph_is_serial():
    assert len(contract(serial_skips(), "direct").tasks) == 5
    done = contract(serial_skips(), "poset")
    assert [t.operators for t in done.tasks] == [("o0", "o1", "o2", "o3", "o4")]
    assert done.steps[0].reason == (
        "'o1' reads from 'o0' only; what else 'o0' feeds ('o3') comes after 'o1' starts anyway."
    )
    assert {s.rule for s in done.steps} == {"poset"}


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_reasons_when_tasks_grow_at_both_ends(order):
    check_reasons(contract_by(serial_skips(), RULES["poset"], [*order, 4]))


def test_one_tensor_to_several_operators_of_a_task_is_one_edge():
    """a feeds c and, beside it, the chain b1 → b2, both of whose operators read a's one tensor."""
    edges = [
        ("a", "b1", "x"),
        ("a", "b2", "x"),
        ("a", "c", "x"),
        ("b1", "b2", "y"),
        ("b2", "d", "z"),
        ("c", "d", "w"),
    ]
    graph = ModelGraph(
        "shared", tuple(Operator(i) for i in ("a", "b1", "b2", "c", "d")), tuple(Edge(*e, 8.0) for e in edges)
    )
    done = contract(graph)
    assert [t.id for t in done.tasks] == ["a", "b1", "c", "d"]
    assert [(e.source, e.target, e.tensor) for e in done.edges] == [
        ("a", "b1", "x"),
        ("a", "c", "x"),
        ("b1", "d", "z"),
        ("c", "d", "w"),
    ]


def test_an_unknown_rule_is_one_line():
    with pytest.raises(GraphError, match="'posset' is unknown; use one of direct, poset, size-aware"):
        contract(ModelGraph("g", (Operator("a"),), ()), "posset")
    assert DEFAULT_RULE == "poset"


def test_critical_path_helper_agrees_with_the_dag():
    graph = ModelGraph("g", tuple(Operator(i) for i in "abc"), (Edge("a", "c", "t", 1.0),))
    assert critical_path(quotient(arcs_of(graph), singletons(3)), [1.0, 5.0, 2.0]) == 5.0
