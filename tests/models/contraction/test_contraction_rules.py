"""Rules of contraction on random graphs and samples: what is kept, steps, reasons, orders."""

import itertools
import random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.core.errors import GraphError
from nona.models.contraction.contracted import summarize_contraction
from nona.models.contraction.rules import DEFAULT_RULE, RULES, contract, contract_by
from nona.models.contraction.task_graph import TaskGraph
from nona.models.decomposition import VIRTUAL, decompose
from nona.models.graph.model import Edge, ModelGraph, Operator
from nona.scenario.sample_files import load_sample

SEEDS = st.integers(0, 10**9)


def model(n, arcs, sizes=(), shared=False):
    """Operators o0…, an edge per arc; with ``shared`` all arcs out of a node carry one tensor."""
    edges = []
    for i, (u, v) in enumerate(sorted(set(arcs))):
        size = sizes[(u if shared else i) % len(sizes)] if sizes else 8.0
        edges.append(Edge(f"o{u}", f"o{v}", f"t{u}" if shared else f"t{u}-{v}", size))
    return ModelGraph("g", tuple(Operator(f"o{i}") for i in range(n)), tuple(edges))


def arcs_of(graph):
    return [(graph.index[e.source], graph.index[e.target]) for e in graph.edges]


def deep(n, seed):
    """A deep network: chains, blocks of parallel branches, skips over some of them."""
    rng, joints, arcs, free = random.Random(seed), [0], [], 1
    while free < n:
        ends = []
        for length in rng.choices((1, 2, 3), k=rng.choice((1, 1, 2, 3))):
            arcs += itertools.pairwise([joints[-1], *range(free, free + length)])
            free += length
            ends.append(free - 1)
        arcs += [(end, free) for end in ends]
        arcs += [(rng.choice(joints[-3:]), free)] * rng.randint(0, 1)
        joints.append(free)
        free += 1
    return n, [(u, v) for u, v in arcs if v < n]


def sparse(n, seed, density):
    rng = random.Random(seed)
    return n, [pair for pair in itertools.combinations(range(n), 2) if rng.random() < density]


random_arcs = st.builds(sparse, st.integers(1, 12), SEEDS, st.floats(0.05, 0.9))
networks = st.builds(deep, st.integers(2, 40), SEEDS)


graphs = st.builds(
    lambda shape, sizes, shared: model(*shape, sizes=sizes, shared=shared),
    st.one_of(random_arcs, networks),
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, 5.0, 8.0]), min_size=1, max_size=12),
    st.booleans(),
)


def quotient(arcs, partition):
    block = {v: b for b in partition for v in b}
    graph = nx.DiGraph()
    graph.add_nodes_from(partition)
    graph.add_edges_from((block[u], block[v]) for u, v in arcs if block[u] != block[v])
    return graph


def direct_holds(graph, a, b):
    """Pred(b)∖{a} ⊆ Pred(a) and Succ(a)∖{b} ⊆ Succ(b)."""
    return set(graph.pred[b]) - {a} <= set(graph.pred[a]) and set(graph.succ[a]) - {b} <= set(graph.succ[b])


def poset_holds(graph, a, b):
    """Anc(b)∖{a} ⊆ Anc(a) and Desc(a)∖{b} ⊆ Desc(b)."""
    before = nx.ancestors(graph, b) - {a} <= nx.ancestors(graph, a)
    return before and nx.descendants(graph, a) - {b} <= nx.descendants(graph, b)


CONDITIONS = {"direct": direct_holds, "poset": poset_holds}


def singletons(n):
    return frozenset(frozenset({v}) for v in range(n))


def merged(partition, a, b):
    return (partition - {a, b}) | {a | b}


def moves(arcs, partition, holds):
    graph = quotient(arcs, partition)
    return [(a, b) for a, b in graph.edges if holds(graph, a, b)]


def all_fixpoints(n, arcs, holds):
    """Where every possible order of merges ends."""
    seen, stack, ends = {singletons(n)}, [singletons(n)], set()
    while stack:
        partition = stack.pop()
        following = {merged(partition, a, b) for a, b in moves(arcs, partition, holds)}
        if not following:
            ends.add(partition)
        stack += following - seen
        seen |= following
    return ends


def critical_path(graph, times):
    """Longest path with the sum of its operators' times on each block."""
    finish = {}
    for block in nx.topological_sort(graph):
        before = max((finish[p] for p in graph.pred[block]), default=0.0)
        finish[block] = before + sum(times[v] for v in block)
    return max(finish.values())


# The smallest serial graph that stops the direct rule; with priorities tasks grow at both ends.
SERIAL = model(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 3), (1, 4)])
every_rule = pytest.mark.parametrize("rule", RULES)
CONFLUENT = [name for name, rule in RULES.items() if rule.confluent]
confluent = pytest.mark.parametrize("rule", CONFLUENT)
modest = examples(120)
given_graphs = given(graph=graphs, seed=SEEDS)


def run(graph, rule, seed):
    """Half of the time with random priorities."""
    rng = random.Random(seed)
    return contract_by(graph, RULES[rule], None if seed % 2 else [rng.random() for _ in graph.index])


def blocks(contracted):
    index = contracted.graph.index
    return frozenset(frozenset(index[o] for o in t.operators) for t in contracted.tasks)


@every_rule
@modest
@given_graphs
def test_tasks_partition_the_operators_and_have_their_edges_and_times(rule, graph, seed):
    done, rng = run(graph, rule, seed), random.Random(seed)
    place, task_of, index = graph.index, done.task_of, done.index
    assert run(graph, rule, seed) == done
    assert sorted(o for t in done.tasks for o in t.operators) == sorted(place)
    for task in done.tasks:
        assert task.id == task.operators[0]
        assert list(task.operators) == sorted(task.operators, key=place.__getitem__)
        assert all(task_of[o] == task.id for o in task.operators)
    ends = [(index[task_of[e.source]], index[task_of[e.target]], e) for e in graph.edges]
    expected = {(u, v, e.tensor): e.size_bytes for u, v, e in ends if u != v}
    found = [((index[e.source], index[e.target], e.tensor), e.size_bytes) for e in done.edges]
    assert found == sorted(expected.items())
    assert all(source < target for (source, target, _), _ in found)
    for zeros in (0.0, 0.7):
        times = [float(rng.randint(1, 50)) * (rng.random() >= zeros) for _ in graph.operators]
        merged_times = done.sum_over_tasks(times)
        assert sum(merged_times) == sum(times)
        assert done.dag.critical_path(merged_times)[0] == graph.dag.critical_path(times)[0]


@every_rule
@modest
@given_graphs
def test_steps_replay(rule, graph, seed):
    done, place = run(graph, rule, seed), graph.index
    tasks = {o: (o,) for o in place}
    arcs = {(e.source, e.target) for e in graph.edges}
    for step in done.steps:
        source, target = tasks.pop(step.source), tasks.pop(step.target)
        assert step.edge in arcs
        assert step.edge[0] in source
        assert step.edge[1] in target
        both = tuple(sorted(source + target, key=place.__getitem__))
        assert step.into == both[0]
        tasks[step.into] = both
    assert len(done.steps) == len(graph.operators) - len(done.tasks)
    assert {t.id: t.operators for t in done.tasks} == tasks
    assert all(done.index[e.source] < done.index[e.target] for e in done.edges)


@every_rule
@modest
@given(graph=st.just(SERIAL) | graphs, seed=SEEDS)
def test_reasons_name_the_true_neighbours(rule, graph, seed):
    """What each reason lists are the neighbours at that time; by the poset rule, of the ends that meet."""
    done = run(graph, rule, 2 * seed if graph is SERIAL else seed)
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
        partition = merged(partition, a, b)


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


@confluent
@pytest.mark.parametrize(("n", "every"), [(1, 1), (2, 1), (3, 1), (4, 1), (5, 6)])
def test_every_order_of_merges_on_every_small_dag(rule, n, every):
    """By the definition and, up to four operators, by all priorities; of the DAGs of five a sixth."""
    pairs = list(itertools.combinations(range(n), 2))
    for mask in range(every > 1, 1 << len(pairs), every):
        arcs = [p for i, p in enumerate(pairs) if mask >> i & 1]
        graph = model(n, arcs)
        expected = blocks(contract(graph, rule))
        assert all_fixpoints(n, arcs, CONDITIONS[rule]) == {expected}
        for order in itertools.permutations(range(n)) if n == 4 else ():
            assert blocks(contract_by(graph, RULES[rule], order)) == expected


@confluent
@examples(80)
@given_graphs
def test_random_orders_against_the_definition(rule, graph, seed):
    """Merges drawn at random by the definition, until it allows none, end where the worklist ends."""
    rng = random.Random(seed)
    arcs, partition = arcs_of(graph), singletons(len(graph.operators))
    while allowed := moves(arcs, partition, CONDITIONS[rule]):
        partition = merged(partition, *rng.choice(allowed))
    assert partition == blocks(contract(graph, rule)) == blocks(run(graph, rule, 2 * seed))


@examples(80)
@given_graphs
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
            pairs = [(x, end) for x in set(range(n)) - {u, v} for end in (u, v)]
            ones = [[1.0 * (w in pair) for w in range(n)] for pair in pairs]
            assert any(critical_path(after, times) > critical_path(whole, times) for times in ones)


def test_only_the_poset_rule_sees_that_a_graph_is_serial():
    assert len(contract(SERIAL, "direct").tasks) == 5
    done = contract(SERIAL)
    assert [t.operators for t in done.tasks] == [("o0", "o1", "o2", "o3", "o4")]
    assert done.steps[0].reason == (
        "'o1' reads from 'o0' only; what else 'o0' feeds ('o3') comes after 'o1' starts anyway."
    )
    sized = contract(model(3, [(0, 1), (1, 2)]), "size-aware").steps[0].reason
    assert sized.endswith("the 8 B between them are no less than the 0 B into 'o0'.")


def test_an_unknown_rule_is_one_line():
    with pytest.raises(GraphError, match="'posset' is unknown; use one of direct, poset, size-aware"):
        contract(ModelGraph("g", (Operator("a"),), ()), "posset")
    assert DEFAULT_RULE == "poset"


def crossing(graph, sources, targets):
    """Bytes of the distinct tensors from ``sources`` to ``targets``."""
    at = graph.index
    found = [e for e in graph.edges if at[e.source] in sources and at[e.target] in targets]
    return sum({(e.source, e.tensor): e.size_bytes for e in found}.values())


def size_aware_holds(graph, partition, a, b):
    everything = set(range(len(graph.operators)))
    between = crossing(graph, set(a), set(b))
    into, out = crossing(graph, everything - a, set(a)), crossing(graph, set(b), everything - b)
    return direct_holds(quotient(arcs_of(graph), partition), a, b) and (between >= into or between >= out)


@modest
@given_graphs
def test_the_condition_holds_at_each_step_and_nowhere_at_the_end(graph, seed):
    at, partition = graph.index, singletons(len(graph.operators))
    for step in run(graph, "size-aware", seed).steps:
        a, b = (next(p for p in partition if at[end] in p) for end in (step.source, step.target))
        assert size_aware_holds(graph, partition, a, b)
        partition = merged(partition, a, b)
    left = quotient(arcs_of(graph), partition).edges
    assert not any(size_aware_holds(graph, partition, a, b) for a, b in left)


@examples(60)
@given(graph=graphs)
def test_summary_counts(graph):
    done = contract(graph)
    summary = summarize_contraction(done)
    assert summary.operators - sum(summary.steps_by_rule.values()) == summary.tasks == len(done.tasks)
    assert summary.single == len([t for t in done.tasks if len(t.operators) == 1])
    assert len(summary.largest) <= 10
    assert len(summary.largest[0].operators) == max(len(t.operators) for t in done.tasks)


@pytest.mark.parametrize(
    ("arcs", "text"),
    [
        ([(0, 1), (1, 2), (2, 3)], "4 operators became 1 task in 3 steps (3 by the direct rule)."),
        ([(0, 1), (0, 2), (1, 3), (2, 3)], "Nothing was merged: each of the 4 operators is a task."),
    ],
)
def test_summary_in_words(arcs, text):
    assert summarize_contraction(contract(model(4, arcs))).text == text


def test_edges_are_ordered_and_each_has_a_tensor_of_its_own_and_none_leads_nowhere_or_back():
    graph = TaskGraph.from_edges("g", [[1, 2, 3], [2, 4, 6]], [(1, 2, 5.0), (0, 2, 7.0), (0, 1, 9.0)])
    assert graph.compute_s.tolist() == [[1, 2, 3], [2, 4, 6]]
    assert graph.task_ids == ("t0", "t1", "t2")
    assert np.column_stack([graph.edge_source, graph.edge_target]).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert graph.tensor_bytes[graph.edge_tensor].tolist() == [9.0, 7.0, 5.0]
    assert (graph.tensor_source[graph.edge_tensor] == graph.edge_source).all()
    assert graph.dag.predecessors == ((), (0,), (0, 1))
    for edge in ((1, 0), (1, 1), (-1, 1), (0, 2)):
        with pytest.raises(GraphError, match="must lead from one of 2 tasks to a later one"):
            TaskGraph.from_edges("g", [1.0, 1.0], [(*edge, 1.0)])


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
    **dict.fromkeys(["gpt2_decode", "moe_block"], (None, None, None)),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_tasks_of_samples_and_no_skip_passes_a_task_that_is_comparable_with_all_others(name):
    """After the poset rule the cut tasks are exactly the tasks that come before or after every other."""
    direct, poset, interiors = SAMPLES[name]
    dag = contract(load_sample(name)).dag
    parts = decompose(dag)
    if poset is not None:
        assert (len(contract(load_sample(name), "direct").tasks), len(dag)) == (direct, poset)
    assert interiors in (None, [len(s.interior) for s in parts.subgraphs])
    graph = nx.DiGraph(dag.edges())
    graph.add_nodes_from(range(len(dag)))
    others = [len(nx.ancestors(graph, t) | nx.descendants(graph, t)) for t in range(len(dag))]
    assert [c for c in parts.cuts if c != VIRTUAL] == [t for t, n in enumerate(others) if n == len(dag) - 1]
