"""The direct and the poset rule end in the same tasks whatever the order, and poset is complete."""

import itertools
import random

import networkx as nx
import pytest
from contraction_cases import (
    CONDITIONS,
    all_dags,
    all_fixpoints,
    arcs_of,
    critical_path,
    deep_arcs,
    graphs,
    merged,
    model,
    moves,
    poset_holds,
    quotient,
    singletons,
)
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.contraction.rules import RULES, contract, contract_by

CONFLUENT = [name for name, rule in RULES.items() if rule.confluent]
confluent = pytest.mark.parametrize("rule", CONFLUENT)
modest = examples(80)


def blocks(contracted):
    index = contracted.graph.index
    return frozenset(frozenset(index[o] for o in t.operators) for t in contracted.tasks)


@confluent
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_order_of_merges_on_every_small_dag(rule, n):
    for arcs in all_dags(n):
        assert all_fixpoints(n, arcs, CONDITIONS[rule]) == {blocks(contract(model(n, arcs), rule))}


@confluent
def test_every_order_of_merges_on_a_sixth_of_the_dags_of_five(rule):
    for arcs in itertools.islice(all_dags(5), 1, None, 6):
        assert all_fixpoints(5, arcs, CONDITIONS[rule]) == {blocks(contract(model(5, arcs), rule))}


@confluent
def test_every_priority_on_every_dag_of_four(rule):
    for arcs in all_dags(4):
        graph = model(4, arcs)
        expected = blocks(contract(graph, rule))
        for order in itertools.permutations(range(4)):
            assert blocks(contract_by(graph, RULES[rule], order)) == expected


@confluent
@modest
@given(graph=graphs, seed=st.integers(0, 10**6))
def test_random_orders_against_the_definition(rule, graph, seed):
    """Merges drawn at random by the definition end where the worklist ends."""
    rng = random.Random(seed)
    arcs, partition = arcs_of(graph), singletons(len(graph.operators))
    while allowed := moves(arcs, partition, CONDITIONS[rule]):
        partition = merged(partition, *rng.choice(allowed))
    assert partition == blocks(contract(graph, rule))


@confluent
@pytest.mark.parametrize("seed", range(6))
def test_random_priorities_on_deep_networks(rule, seed):
    graph = model(600, deep_arcs(600, seed))
    expected = blocks(contract(graph, rule))
    rng = random.Random(seed)
    for _ in range(4):
        order = [rng.random() for _ in graph.operators]
        assert blocks(contract_by(graph, RULES[rule], order)) == expected
    assert 1 < len(expected) < 600


@modest
@given(graph=graphs, seed=st.integers(0, 10**6))
def test_the_poset_rule_is_complete(graph, seed):
    """Merging the ends of an edge keeps the critical path for all times iff the condition holds."""
    n, arcs = len(graph.operators), arcs_of(graph)
    whole = quotient(arcs, singletons(n))
    rng = random.Random(seed)
    for u, v in arcs:
        a, b = frozenset({u}), frozenset({v})
        after = quotient(arcs, merged(singletons(n), a, b))
        if poset_holds(whole, a, b):
            for _ in range(3):
                times = [float(rng.choice((0, 0, 1, 7, 30))) for _ in range(n)]
                assert critical_path(after, times) == critical_path(whole, times)
        elif nx.is_directed_acyclic_graph(after):
            assert any(
                critical_path(after, times) > critical_path(whole, times)
                for x in range(n)
                for end in (u, v)
                if x not in (u, v)
                for times in ([1.0 * (w in (x, end)) for w in range(n)],)
            )


@modest
@given(graph=graphs)
def test_nothing_more_may_be_merged(graph):
    for rule in CONFLUENT:
        assert not moves(arcs_of(graph), blocks(contract(graph, rule)), CONDITIONS[rule])
