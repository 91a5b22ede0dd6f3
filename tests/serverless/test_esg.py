"""ESG: its search finds what other searches find, its shares of the SLO, its answers."""

from dataclasses import replace
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from other_searches import best_first, exhaustive, stage_by_stage
from serverless_cases import CHAIN, DIAMOND, dags, workflow_system
from sizes import examples

from nona.cluster.sharing.pool import Invoker
from nona.core.errors import SimulationError
from nona.models.graph.dag import Dag
from nona.scenario.serverless import DispatchSpec, TransferSpec
from nona.serverless.functions import grid
from nona.serverless.policies.base import WaitingQueue
from nona.serverless.policies.choices import split, static_shares
from nona.serverless.policies.esg.explain import explain, trace
from nona.serverless.policies.esg.policy import (
    BASE_S,
    POLICY,
    STEP_S,
    Fork,
    average_normalised_lengths,
    distribute,
    reduced,
)
from nona.serverless.policies.esg.search import GroupSearch
from nona.serverless.policies.esg.tables import make_tables
from nona.serverless.system import Application


@st.composite
def groups(draw):
    n, c = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    numbers = st.lists(st.integers(0, draw(st.sampled_from([2, 5, 1000]))), min_size=n * c, max_size=n * c)
    time = np.array(draw(numbers), dtype=float).reshape(n, c) / 8 + 0.125
    cost = np.array(draw(numbers), dtype=float).reshape(n, c) / 4
    low, high = time.min(axis=1).sum(), time.max(axis=1).sum()
    return (time, cost), low + draw(st.integers(-1, 12)) / 10 * (high - low)


@examples(150)
@given(groups(), st.sampled_from([1, 3, 5]))
def test_every_other_search_finds_the_same_paths(drawn, k):
    """Times and costs are sixteenths, so that every order of adding gives the same sums."""
    (time, cost), limit = drawn
    found = GroupSearch(time, cost).search(limit, k)
    expected = exhaustive(time, cost, limit, k)
    assert best_first(time, cost, limit, k) == stage_by_stage(time, cost, limit, k) == expected
    steps = trace(make_tables(time, cost, np.ones(time.shape, dtype=bool)), limit, k, 0)
    assert steps.paths == tuple(path for _, _, path in expected), "with both blades over all configurations"
    if expected:
        assert list(zip(found.cost_usd, found.time_s, found.paths, strict=True)) == expected
        assert found.feasible
    else:
        assert not found.feasible
        assert len(found.paths) == 1
        assert found.time_s[0] == time.min(axis=1).sum()


@pytest.mark.parametrize("seed", range(6))
def test_searches_agree_on_real_numbers(seed):
    draws, n = np.random.default_rng(seed), 30 if seed == 5 else 16
    time, cost = draws.lognormal(0, 1, (3, n)), draws.lognormal(-9, 1, (3, n))
    group = GroupSearch(time, cost)
    for limit in (np.quantile(time, [0.2, 0.5, 0.9, 0.99]) * 3).tolist():
        found = group.search(limit, 5)
        every = exhaustive(time, cost, limit, 5)
        assert list(found.paths) == [path for _, _, path in every]
        assert found.cost_usd == pytest.approx([usd for usd, _, _ in every], rel=1e-12)
        wide = trace(group.tables, limit, 5, 0)
        assert wide.paths == found.paths
        assert len(found.paths) <= found.opened <= found.looked <= wide.looked < n + n**2 + n**3


def test_what_cannot_run_is_in_no_path():
    draws = np.random.default_rng(0)
    time, cost = draws.lognormal(0, 1, (3, 12)), draws.lognormal(-9, 1, (3, 12))
    time[0, 3] = time[2, 5] = inf
    found = GroupSearch(time, cost).search(1e9, 12)
    assert len(found.paths) == 11
    assert all(path[0] != 3 and path[2] != 5 for path in found.paths)


def test_equal_paths_cost_no_enumeration():
    """Where all is free and equally fast, there are 40³ best paths; five are found at once."""
    group = GroupSearch(np.ones((3, 40)), np.zeros((3, 40)))
    found = group.search(3.0)
    assert found.paths == tuple((x, 0, 0) for x in range(5))
    assert found.looked < 200


LARGE = grid([1, 2, 4], [1, 2, 4, 16], [1, 2, 7])
TIMES = (0.3, 0.1, 0.2, 0.5, 0.1)


def chain(n=5, **rest):
    """One application of ``n`` functions in a row; its SLO is nine tenths of the time at the smallest."""
    edges, slo_s = [(i, i + 1) for i in range(n - 1)], 0.9 * sum(TIMES[:n])
    usual = {"space": LARGE, "invokers": (Invoker(),) * 2, "noise": 0.1, "transfer": TransferSpec()}
    return workflow_system(TIMES[:n], edges, slo_s=slo_s, **usual | rest)


def planner(system, **options):
    return POLICY.prepare(system, options)


@examples(40)
@given(st.integers(0, 4), st.integers(1, 9), st.floats(-0.2, 3.0))
def test_answers(stage, length, slack_s):
    """Batches that the queue fills, equal for equal asks."""
    system, ask = chain(), WaitingQueue(0, stage, length, slack_s)
    plan = planner(system).plan(ask)
    assert plan.ranked
    assert all(LARGE[c].batch <= length for c in plan.ranked)
    assert plan.search_s == pytest.approx(BASE_S + STEP_S * plan.steps)
    used = planner(system)
    for other in range(3):
        used.plan(WaitingQueue(0, other, length + 1, slack_s + 0.1))
    assert used.plan(ask) == plan == used.plan(ask)


def test_the_first_configuration_is_that_of_the_cheapest_way_through_the_group():
    system = chain(3, noise=0.0)
    ask = WaitingQueue(0, 0, 4, 0.55)
    exact = planner(system, slack_resolution=0.0)
    best = exact.group(0, (0, 1, 2), 4).search(0.55, 5)
    assert exact.plan(ask).ranked == tuple(dict.fromkeys(p[0] for p in best.paths))
    assert best.feasible
    spent, slack_s = 0.0, 0.55  # re-planning before every stage keeps the plan while all goes as planned
    for stage, chosen in enumerate(best.paths[0]):
        assert exact.plan(WaitingQueue(0, stage, 4, slack_s - spent + 1e-12)).ranked[0] == chosen
        tables = exact.group(0, (stage,), 4).tables
        spent += float(tables.time[0][tables.number[0] == chosen][0])


def test_too_late_is_answered_as_the_scenario_says():
    late = WaitingQueue(0, 0, 4, -1.0)
    for choice, best in (("keep", "job_cost"), ("fastest", "time_s"), ("drop", "time_s")):
        system = replace(chain(), dispatch=DispatchSpec(late=choice))
        first = planner(system).plan(late).ranked[0]
        values = getattr(system, best)[0]
        assert values[first] == values.min()


def test_a_plan_for_all_stages_is_carried():
    made = planner(chain(), replan=False)
    plan = made.plan(WaitingQueue(0, 0, 4, 0.9))
    assert plan.ranked[0] == plan.memory[0]
    assert plan.steps > 0
    later = made.plan(WaitingQueue(0, 3, 4, 0.1, carried=plan.memory))
    assert later.ranked[0] == plan.memory[3]
    assert (later.search_s, later.steps, later.missed) == (0.0, 0, False)
    free = planner(chain())
    assert free.plan(WaitingQueue(0, 0, 4, 0.9)).memory is None


@examples(40)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 3, 5]),
    st.floats(0, 1.2),
    st.booleans(),
)
def test_the_search_step_by_step_is_the_compiled_one(seed, k, part, coarse):
    draws = np.random.default_rng(seed)
    time, cost = (draws.integers(1, 5, (3, 12)) if coarse else draws.random((3, 12)) for _ in range(2))
    group = GroupSearch(time.astype(float), cost.astype(float))
    limit = group.tables.least_s[0] + (part - 0.1) * (group.longest_s - group.tables.least_s[0])
    found, tables = group.search(limit, k), group.searched(k)
    steps = trace(tables, limit, k, 10)
    if found.feasible:
        assert (steps.paths, steps.cost_usd, steps.time_s) == (found.paths, found.cost_usd, found.time_s)
        assert len(steps.steps) == min(10, steps.step_count)
    else:
        assert steps.paths == ()
    assert (steps.looked, steps.opened) == (found.looked, found.opened)
    whole = trace(tables, limit, k, steps.step_count)
    rows = [whole.start, *(r for s in whole.steps for r in (s.deeper, s.beside))]
    assert sum(r.looked for r in rows if r) == steps.looked
    assert sum(r.time_cuts for r in rows if r) == steps.time_cuts
    assert sum(r.cost_cuts for r in rows if r) == steps.cost_cuts
    assert [s.best for s in whole.steps if s.best] == list(range(1, len(steps.paths) + 1))
    low = [s.rsc_low_usd for s in whole.steps]
    assert low == sorted(low)


@pytest.mark.parametrize(
    "ask",
    [
        WaitingQueue(0, 0, 4, 1.0),
        WaitingQueue(0, 1, 1, 0.7),
        WaitingQueue(0, 4, 2, 0.2),
        WaitingQueue(0, 0, 1, 0.01),
    ],
)
def test_an_explanation_says_what_the_policy_does(ask):
    made = planner(chain())
    told, plan = explain(made, ask, 5), made.plan(ask)
    assert told.ranked == plan.ranked
    assert told.stages == made.stages(ask)
    assert len(told.trace.steps) <= 5
    assert told.limit_s == pytest.approx(told.share * told.slack_s)
    words = " ".join(told.lines)
    assert f"of {1e3 * ask.slack_s:.1f} ms that are left" in words
    assert f"{1e3 * told.slack_s:.1f} ms" in words  # what the search takes it for
    assert LARGE[plan.ranked[0]].text in words
    assert ("No path is in time" in words) != told.feasible
    assert told.share == pytest.approx(made.shares[0].of_rest(ask.stage))
    if told.feasible:
        assert told.trace.looked == plan.steps
        assert told.trace.time_s[0] <= told.limit_s + 1e-12


CLOSE = 1e-9


def paths(dag):
    open_paths = [(v,) for v in range(len(dag)) if not dag.predecessors[v]]
    while open_paths:
        path = open_paths.pop()
        if not dag.successors[path[-1]]:
            yield path
        open_paths += [(*path, v) for v in dag.successors[path[-1]]]


def stages_of(chain):
    found = []
    for element in chain:
        found += (
            [s for b in element.branches for s in stages_of(b)] if isinstance(element, Fork) else [element]
        )
    return found


@examples(150)
@given(dags(9), st.data())
def test_shares_of_groups_along_every_path_are_at_most_the_slo(dag, data):
    n = len(dag)
    length = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=n, max_size=n)))
    most = data.draw(st.integers(1, 4))
    shares = distribute(dag, length, most)
    assert sorted(stages_of(shares.chain)) == list(range(n))
    for path in paths(dag):
        assert sum(shares.of_slo([s]) for s in path) <= 1 + CLOSE
    for u, v in dag.edges():  # what is left after a stage covers what its successor may still use
        assert shares.rest[v] <= shares.rest[u] - shares.scaled[u] + CLOSE
    for s, group in enumerate(shares.group):
        assert group[0] == s
        assert len(group) <= most
        assert all(v in dag.successors[u] for u, v in pairwise(group))
        assert 0 < shares.of_rest(s) <= 1


@examples(40)
@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=9), st.integers(1, 4))
def test_a_chain_shares_in_proportion_to_length_and_uses_all(lengths, most):
    n, length = len(lengths), np.array(lengths)
    shares = distribute(Dag.from_edges(n, [(i, i + 1) for i in range(n - 1)]), length, most)
    heads = range(0, n, most)
    assert [shares.group[h] for h in heads] == [tuple(range(h, min(h + most, n))) for h in heads]
    parts = [shares.of_slo(shares.group[h]) for h in heads]
    assert parts == pytest.approx([length[h : h + most].sum() / length.sum() for h in heads])
    assert sum(parts) == pytest.approx(1)
    left = 1.0  # every group uses its share of what is left: the same shares, and nothing remains
    for head, part in zip(heads, parts, strict=True):
        assert left * shares.of_rest(head) == pytest.approx(part)
        left -= left * shares.of_rest(head)
    assert left == pytest.approx(0, abs=CLOSE)


def test_branches_inherit_the_share_of_their_pseudo_node_also_when_nested():
    # 0 → {1 → {2, 3} → 4, 5} → 6
    dag = Dag.from_edges(7, [(0, 1), (0, 5), (1, 2), (1, 3), (2, 4), (3, 4), (4, 6), (5, 6)])
    length = np.array([1.0, 1.0, 3.0, 2.0, 1.0, 1.0, 4.0])
    shares = distribute(dag, length)
    inner = Fork(((2,), (3,)))
    assert shares.chain == (0, Fork(((1, inner, 4), (5,))), 6)
    assert [shares.of_slo([s]) for s in range(7)] == pytest.approx([0.1, 0.1, 0.3, 0.3, 0.1, 0.5, 0.4])
    assert shares.group == ((0,), (1,), (2,), (3,), (4,), (5,), (6,))
    assert shares.of_rest(5) == pytest.approx(5 / 9)
    assert shares.of_rest(4) == pytest.approx(1 / 5)
    past = distribute(Dag.from_edges(3, [(0, 1), (1, 2), (0, 2)]), np.ones(3))
    assert (past.chain, past.group[0]) == ((0, 1, 2), (0, 1, 2)), "an edge past a stage makes no branch"
    crossed = Dag.from_edges(4, [(0, 2), (0, 3), (1, 3)])
    assert reduced(crossed) == (Fork(((0,), (1,))), Fork(((2,), (3,)))), "what does not nest goes by levels"


def test_lengths_add_up_and_leave_out_what_cannot_run():
    time = np.array([[1.0, 4.0, np.inf], [3.0, 4.0, 1.0]])
    assert average_normalised_lengths(time) == pytest.approx([3 / 8, 5 / 8])


SLO_S = 2.0


def _application(dag):
    n = len(dag)
    return Application("a", ("s",) * n, (0,) * n, dag, (0.0,) * n, SLO_S, 1.0)


@examples(150)
@given(dags(), st.data())
def test_shares_along_every_path_are_at_most_the_slo(dag, data):
    n = len(dag)
    weight = np.array(data.draw(st.lists(st.floats(0.01, 10), min_size=n, max_size=n)))
    shares = split(_application(dag), weight)
    every = list(paths(dag))
    totals = [sum(shares[s] for s in path) for path in every]
    assert max(totals) <= SLO_S * (1 + 1e-12)
    heaviest = max(every, key=lambda p: sum(weight[s] for s in p))
    assert sum(shares[s] for s in heaviest) == pytest.approx(SLO_S)
    assert min(shares) > 0


def test_shares_by_hand_of_a_chain_and_of_a_diamond_whose_light_branch_gets_more_than_it_needs():
    system = workflow_system([0.1, 0.3, 0.6], CHAIN, slo_s=SLO_S)
    assert static_shares(system, system.applications[0]) == pytest.approx((0.2, 0.6, 1.2))
    shares = split(_application(Dag.from_edges(4, DIAMOND)), np.array([1.0, 2.0, 1.0, 1.0]))
    assert shares == pytest.approx((0.5, 1.0, 2 / 3, 0.5))


def test_usable_configurations_only():
    time, cost = np.ones((2, 2)), np.array([[1.0, 9.0], [1.0, 9.0]])
    assert GroupSearch(time, cost, np.array([[False, True], [True, True]])).search(2.0, 1).paths == ((1, 0),)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: GroupSearch(*np.ones((2, 1, 2))).search(1.0, 0), "k=0 must be at least 1"),
        (lambda: GroupSearch(*np.ones((2, 9, 256))), "lower 'group'"),
        (lambda: GroupSearch(*np.ones((2, 1, 2)), np.array([[False, False]])), "no configuration"),
    ],
)
def test_what_cannot_be_searched_is_refused(make, says):
    with pytest.raises(SimulationError, match=says):
        make()
