"""Rules of contraction on random graphs: what is kept, steps, reasons, orders of merges, playback."""

import itertools
import random
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.contraction.contracted import Playback, summarize_contraction
from nona.contraction.merging import Quotient, Traffic
from nona.contraction.rules import DEFAULT_RULE, RULES, contract, contract_by
from nona.contraction.task_graph import TaskGraph
from nona.errors import GraphError
from nona.graph.model import Edge, ModelGraph, Operator


def model(n, arcs, sizes=(), shared=False):
    """Operators o0…, an edge per arc; with ``shared`` all arcs out of a node carry one tensor."""
    edges = []
    for i, (u, v) in enumerate(sorted(set(arcs))):
        size = sizes[(u if shared else i) % len(sizes)] if sizes else 8.0
        edges.append(Edge(f"o{u}", f"o{v}", f"t{u}" if shared else f"t{u}-{v}", size))
    return ModelGraph("g", tuple(Operator(f"o{i}") for i in range(n)), tuple(edges))


def arcs_of(graph):
    return [(graph.index[e.source], graph.index[e.target]) for e in graph.edges]


def all_dags(n):
    """Every set of arcs (u, v) with u < v < n."""
    pairs = list(itertools.combinations(range(n), 2))
    for mask in range(1 << len(pairs)):
        yield tuple(p for i, p in enumerate(pairs) if mask >> i & 1)


def deep_arcs(n, seed):
    """A deep network: chains, blocks of parallel branches, skips over some of them."""
    rng = random.Random(seed)
    arcs = []
    last, free, joints = 0, 1, [0]
    while free < n:
        ends = []
        for _ in range(rng.choice((1, 1, 2, 3))):
            length = rng.randint(1, 3)
            if free + length > n:
                break
            arcs += itertools.pairwise([last, *range(free, free + length)])
            free += length
            ends.append(free - 1)
        if free >= n:
            break
        arcs += [(end, free) for end in ends]
        if rng.random() < 0.5:
            arcs.append((rng.choice(joints[-3:]), free))
        if not ends:
            arcs.append((last, free))
        last, free = free, free + 1
        joints.append(last)
    return sorted(set(arcs))


def _sparse(n, seed, density):
    rng = random.Random(seed)
    return [(u, v) for u, v in itertools.combinations(range(n), 2) if rng.random() < density]


random_arcs = st.builds(
    lambda n, seed, density: (n, _sparse(n, seed, density)),
    st.integers(1, 12),
    st.integers(0, 10**9),
    st.floats(0.05, 0.9),
)
networks = st.builds(lambda n, seed: (n, deep_arcs(n, seed)), st.integers(2, 40), st.integers(0, 10**9))
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


every_rule = pytest.mark.parametrize("rule", RULES)
CONFLUENT = [name for name, rule in RULES.items() if rule.confluent]
confluent = pytest.mark.parametrize("rule", CONFLUENT)
modest = examples(120)
given_graphs = given(graph=graphs, seed=st.integers(0, 10**6))


def run(graph, rule, seed):
    """Half of the time with random priorities."""
    rng = random.Random(seed)
    order = None if seed % 2 else [rng.random() for _ in graph.index]
    return contract_by(graph, RULES[rule], order)


def blocks(contracted):
    index = contracted.graph.index
    return frozenset(frozenset(index[o] for o in t.operators) for t in contracted.tasks)


@every_rule
@modest
@given_graphs
def test_tasks_partition_the_operators_and_have_their_edges_and_times(rule, graph, seed):
    done, rng = run(graph, rule, seed), random.Random(seed)
    place, task_of, index = graph.index, done.task_of, done.index
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
def test_steps_replay_and_playback_shows_every_state_in_any_order(rule, graph, seed):
    done, rng = run(graph, rule, seed), random.Random(seed)
    film, place = Playback(done), graph.index
    tasks, states = {o: (o,) for o in place}, []
    arcs = {(e.source, e.target) for e in graph.edges}
    for k, step in enumerate(done.steps):
        states.append(dict(tasks))
        source, target = tasks.pop(step.source), tasks.pop(step.target)
        view = film.view(k)
        assert (view.step, view.source_operators, view.target_operators) == (step, source, target)
        assert step.edge in arcs
        assert step.edge[0] in source
        assert step.edge[1] in target
        both = tuple(sorted(source + target, key=place.__getitem__))
        assert step.into == both[0]
        tasks[step.into] = both
    states.append(tasks)
    assert len(film) == len(done.steps) == len(graph.operators) - len(done.tasks)
    for k in rng.sample(range(len(states)), len(states)):
        state = film.state(k)
        assert {t.id: t.operators for t in state.tasks} == states[k]
        assert state.steps == done.steps[:k]
        assert all(state.index[e.source] < state.index[e.target] for e in state.edges)
    assert film.state(len(film)) == done


@every_rule
@modest
@given_graphs
def test_reasons_name_the_true_neighbours(rule, graph, seed):
    check_reasons(run(graph, rule, seed))


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


@confluent
@pytest.mark.parametrize(("n", "every"), [(1, 1), (2, 1), (3, 1), (4, 1), (5, 6)])
def test_every_order_of_merges_on_every_small_dag(rule, n, every):
    """By the definition and, up to four operators, by all priorities; of the DAGs of five a sixth."""
    for arcs in itertools.islice(all_dags(n), every > 1, None, every):
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
    """a feeds d and, beside it, the chain b → c, both of whose operators read a's one tensor x."""
    arrows = ["abx", "acx", "adx", "bcy", "cez", "dew"]
    graph = ModelGraph("shared", tuple(map(Operator, "abcde")), tuple(Edge(*e, 8.0) for e in arrows))
    done = contract(graph)
    assert [t.id for t in done.tasks] == ["a", "b", "d", "e"]
    assert [e.source + e.target + e.tensor for e in done.edges] == ["abx", "adx", "bez", "dew"]


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


@examples(120)
@given_graphs
def test_the_condition_holds_at_each_step_and_nowhere_at_the_end(graph, seed):
    rng = random.Random(seed)
    at = graph.index
    orders = (None, [rng.random() for _ in graph.operators])
    for order in orders:
        partition = singletons(len(graph.operators))
        for step in contract_by(graph, RULES["size-aware"], order).steps:
            a, b = (next(p for p in partition if at[end] in p) for end in (step.source, step.target))
            assert size_aware_holds(graph, partition, a, b)
            partition = merged(partition, a, b)
        left = quotient(arcs_of(graph), partition).edges
        assert not any(size_aware_holds(graph, partition, a, b) for a, b in left)


@examples(150)
@given_graphs
def test_traffic_is_that_of_a_fresh_count_after_any_merges(graph, seed):
    rng = random.Random(seed)
    arcs, partition = arcs_of(graph), singletons(len(graph.operators))
    everything = set(range(len(graph.operators)))
    paths = Quotient(graph.dag)
    traffic = Traffic(graph, paths)
    while allowed_moves := moves(arcs, partition, direct_holds):
        a, b = rng.choice(allowed_moves)
        traffic.merge(min(a), min(b))
        paths.join(max(a), min(b))
        partition = merged(partition, a, b)
        for block in partition:
            assert traffic.into(min(block)) == crossing(graph, everything - block, set(block))
            assert traffic.out_of(min(block)) == crossing(graph, set(block), everything - block)
        for first, second in quotient(arcs, partition).edges:
            assert traffic.between(min(first), min(second)) == crossing(graph, set(first), set(second))


def test_a_cheap_cut_is_kept():
    """A branch that shrinks its tensor and then grows it again: the cut between stays."""
    sizes = {"ra": 100.0, "ab": 1.0, "bs": 50.0, "rc": 100.0, "cs": 10.0}
    edges = [Edge(k[0], k[1], "root" if k[0] == "r" else k, size) for k, size in sizes.items()]
    edges.sort(key=lambda e: "rabcs".index(e.source))
    graph = ModelGraph("shrink", tuple(map(Operator, "rabcs")), tuple(edges))
    assert [t.operators for t in contract(graph, "direct").tasks] == [("r",), ("a", "b"), ("c",), ("s",)]
    assert [t.operators for t in contract(graph, "size-aware").tasks] == [(i,) for i in "rabcs"]


def test_the_reason_gives_the_sizes():
    edges = (Edge("a", "b", "x", 2e6), Edge("b", "c", "y", 1e6))
    steps = contract(ModelGraph("chain", tuple(Operator(i) for i in "abc"), edges), "size-aware").steps
    assert steps[0].reason.endswith("the 2 MB between them are no less than the 0 B into 'a'.")
    edges = (Edge("x", "a", "big", 9e6), *edges)
    steps = contract(ModelGraph("chain", tuple(Operator(i) for i in "xabc"), edges), "size-aware").steps
    assert [s.edge for s in steps] == [("x", "a"), ("a", "b"), ("b", "c")]


def test_states_that_do_not_exist():
    film = Playback(contract(model(3, [(0, 1), (1, 2)])))
    for k in (-1, 3):
        with pytest.raises(GraphError, match=f"no state {k}; give a number from 0 to 2"):
            film.state(k)
    for k in (-1, 2):
        with pytest.raises(GraphError, match=f"no step {k}; it has 2"):
            film.view(k)


@pytest.mark.parametrize("change", [{"into": "o2"}, {"source": "nobody"}, {"target": "o0"}])
def test_steps_that_do_not_fit(change):
    done = contract(model(3, [(0, 1), (1, 2)]))
    steps = (replace(done.steps[0], **change), *done.steps[1:])
    with pytest.raises(GraphError, match=r"step 0: .* do not merge into .* contract the graph again"):
        Playback(replace(done, steps=steps))


@examples(60)
@given(graph=graphs)
def test_summary_counts(graph):
    done = contract(graph)
    summary = summarize_contraction(done)
    assert summary.operators - sum(summary.steps_by_rule.values()) == summary.tasks == len(done.tasks)
    assert summary.edges_after == sum(len(s) for s in done.dag.successors)
    assert summary.edges_before == sum(len(s) for s in graph.dag.successors)
    between = {(done.task_of[e.source], e.source, e.tensor): e.size_bytes for e in graph.edges}
    kept = {(e.source, e.tensor): e.size_bytes for e in done.edges}
    assert summary.bytes_before == sum(between.values())
    assert summary.bytes_after == sum(kept.values())
    assert summary.single == len([t for t in done.tasks if len(t.operators) == 1])
    assert len(summary.largest[0].operators) == max(len(t.operators) for t in done.tasks)


def test_summary_in_words():
    chain = summarize_contraction(contract(model(4, [(0, 1), (1, 2), (2, 3)])))
    assert chain.text == "4 operators became 1 task in 3 steps (3 by the direct rule)."
    assert (chain.bytes_before, chain.bytes_after) == (24.0, 0.0)
    diamond = summarize_contraction(contract(model(4, [(0, 1), (0, 2), (1, 3), (2, 3)])))
    assert diamond.text == "Nothing was merged: each of the 4 operators is a task."
    deep = summarize_contraction(contract(model(60, deep_arcs(60, 3))))
    assert len(deep.largest) <= 10


def test_edges_are_ordered_and_each_has_a_tensor_of_its_own():
    graph = TaskGraph.from_edges("g", [[1, 2, 3], [2, 4, 6]], [(1, 2, 5.0), (0, 2, 7.0), (0, 1, 9.0)])
    assert graph.compute_s.tolist() == [[1, 2, 3], [2, 4, 6]]
    assert graph.task_ids == ("t0", "t1", "t2")
    assert np.column_stack([graph.edge_source, graph.edge_target]).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert graph.tensor_bytes[graph.edge_tensor].tolist() == [9.0, 7.0, 5.0]
    assert (graph.tensor_source[graph.edge_tensor] == graph.edge_source).all()
    assert graph.dag.predecessors == ((), (0,), (0, 1))


@pytest.mark.parametrize("edge", [(1, 0), (1, 1), (-1, 1), (0, 2)])
def test_edges_that_lead_nowhere_or_back_are_refused(edge):
    with pytest.raises(GraphError, match="must lead from one of 2 tasks to a later one"):
        TaskGraph.from_edges("g", [1.0, 1.0], [(*edge, 1.0)])
