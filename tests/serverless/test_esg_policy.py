"""ESG as a policy, and its explanation."""

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import SimulationError
from nona.gpu_sharing.pool import Invoker
from nona.graph.dag import Dag
from nona.scenario.serverless import DispatchSpec
from nona.serverless.functions import Function, default_times, grid
from nona.serverless.policies.base import Ask
from nona.serverless.policies.esg.explain import explain, trace
from nona.serverless.policies.esg.policy import BASE_S, POLICY, STEP_S, EsgPlanner
from nona.serverless.policies.esg.search import VARIANTS, GroupSearch
from nona.serverless.system import Application, ServerlessSystem

SPACE = grid([1, 2, 4], [1, 2, 4, 16], [1, 2, 7])
TIMES = (0.3, 0.1, 0.2, 0.5, 0.1)


def chain(n: int = 5, **rest: Any) -> ServerlessSystem:
    """One application of ``n`` functions in a row; its SLO is nine tenths of the time at the smallest."""
    functions = tuple(Function(f"f{i}", default_times(t)) for i, t in enumerate(TIMES[:n]))
    dag = Dag.from_edges(n, [(i, i + 1) for i in range(n - 1)])
    slo_s = 0.9 * sum(TIMES[:n])
    names = tuple(f"s{i}" for i in range(n))
    app = Application("app", names, tuple(range(n)), dag, (0.0,) * n, slo_s, 1.0)
    return ServerlessSystem(SPACE, functions, (app,), (Invoker(),) * 2, **rest)


def planner(system: ServerlessSystem, **options: Any) -> EsgPlanner:
    """ESG, prepared."""
    made = POLICY.prepare(system, options)
    assert isinstance(made, EsgPlanner)
    return made


@examples(40)
@given(st.integers(0, 4), st.integers(1, 9), st.floats(-0.2, 3.0))
def test_answers(stage: int, length: int, slack_s: float) -> None:
    """Batches that the queue fills, the same from every form of the search, equal for equal asks."""
    system, ask = chain(), Ask(0, stage, length, slack_s)
    plans = {v: planner(system, search=v).plan(ask) for v in VARIANTS}
    plan = plans["thinned"]
    assert plan.ranked
    assert all(p.ranked == plan.ranked for p in plans.values())
    assert all(SPACE[c].batch <= length for c in plan.ranked)
    assert plan.search_s == pytest.approx(BASE_S + STEP_S["thinned"] * plan.steps)
    used = planner(system)
    for other in range(3):
        used.plan(Ask(0, other, length + 1, slack_s + 0.1))
    assert used.plan(ask) == plan == used.plan(ask)


def test_the_first_configuration_is_that_of_the_cheapest_way_through_the_group() -> None:
    system = chain(3, noise=0.0)
    ask = Ask(0, 0, 4, 0.55)
    exact = planner(system, slack_resolution=0.0)
    best = exact.group(0, (0, 1, 2), 4).search(0.55, 5, "exhaustive")
    assert exact.plan(ask).ranked == tuple(dict.fromkeys(p[0] for p in best.paths))
    assert best.feasible
    spent, slack_s = 0.0, 0.55  # re-planning before every stage keeps the plan while all goes as planned
    for stage, chosen in enumerate(best.paths[0]):
        assert exact.plan(Ask(0, stage, 4, slack_s - spent + 1e-12)).ranked[0] == chosen
        spent += float(exact.group(0, (stage,), 4).tables.time[0][_row(exact, stage, chosen)])


def _row(made: EsgPlanner, stage: int, chosen: int) -> int:
    return int(np.flatnonzero(made.group(0, (stage,), 4).tables.number[0] == chosen)[0])


def test_less_time_left_never_means_a_cheaper_way() -> None:
    made = planner(chain())
    for stage in range(5):
        costs = []
        for slack_s in (1.2, 0.8, 0.5, 0.4, 0.3, 0.2):
            ask = Ask(0, stage, 1, slack_s)
            found = made.found(0, made.stages(ask), 1, made.limit_s(ask, slack_s))
            costs.append(found.cost_usd[0] if found.feasible else inf)
        assert costs == sorted(costs)
        assert costs[0] < costs[-1] or stage == 4  # which 0.2 s are enough for


def test_too_late_is_answered_as_the_scenario_says() -> None:
    late = Ask(0, 0, 4, -1.0)
    for choice, best in (("keep", "job_cost"), ("fastest", "time_s"), ("drop", "time_s")):
        system = replace(chain(), dispatch=DispatchSpec(late=choice))
        first = planner(system).plan(late).ranked[0]
        values = getattr(system, best)[0]
        assert values[first] == values.min()


def test_a_plan_for_all_stages_is_carried() -> None:
    made = planner(chain(), replan=False)
    plan = made.plan(Ask(0, 0, 4, 0.9))
    assert plan.carry is not None
    assert plan.ranked[0] == plan.carry[0]
    assert plan.steps > 0
    later = made.plan(Ask(0, 3, 4, 0.1, carried=plan.carry))
    assert later.ranked[0] == plan.carry[3]
    assert (later.search_s, later.steps, later.missed) == (0.0, 0, False)
    free = planner(chain())
    assert free.plan(Ask(0, 0, 4, 0.9)).carry is None


def test_shares_of_what_is_left() -> None:
    """Groups of 3 and 2; while all takes its share, the second gets the rest of the SLO."""
    made = planner(chain(), group=3)
    assert made.shares[0].group == ((0, 1, 2), (1, 2), (2,), (3, 4), (4,))
    first = made.limit_s(Ask(0, 0, 1, 1.0), 1.0)
    assert 0 < first < 1
    assert made.limit_s(Ask(0, 3, 1, 1.0), 1.0 - first) == pytest.approx(1.0 - first)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"k": 0}, "k=0 must be a whole number"),
        ({"group": 2.5}, "group=2.5 must be a whole number"),
        ({"search": "blades"}, "search='blades' must be one of thinned"),
        ({"replan": "no"}, "replan='no' must be one of true, false"),
        ({"later_batches": 4}, "later_batches=4 must be one of queue, any"),
        ({"step_s": -1}, "step_s=-1 must be a number"),
        ({"blades": 3}, "option 'blades' is not known"),
    ],
)
def test_options_are_checked(options: dict[str, Any], says: str) -> None:
    with pytest.raises(SimulationError, match=says):
        POLICY.prepare(chain(), options)
    assert set(POLICY.option_help) == set(POLICY.defaults)


@examples(40)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 3, 5]),
    st.floats(0, 1.2),
    st.booleans(),
    st.sampled_from(["thinned", "two-blades"]),
)
def test_the_search_step_by_step_is_the_compiled_one(
    seed: int, k: int, part: float, coarse: bool, variant: str
) -> None:
    draws = np.random.default_rng(seed)
    time, cost = (draws.integers(1, 5, (3, 12)) if coarse else draws.random((3, 12)) for _ in range(2))
    group = GroupSearch(time.astype(float), cost.astype(float))
    limit = group.tables.least_s[0] + (part - 0.1) * (group.longest_s - group.tables.least_s[0])
    found, tables = group.search(limit, k, variant), group.searched(variant, k)
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


@pytest.mark.parametrize("ask", [Ask(0, 0, 4, 1.0), Ask(0, 1, 1, 0.7), Ask(0, 4, 2, 0.2), Ask(0, 0, 1, 0.01)])
def test_an_explanation_says_what_the_policy_does(ask: Ask) -> None:
    made = planner(chain())
    told, plan = explain(made, ask, 5), made.plan(ask)
    assert told.ranked == plan.ranked
    assert told.stages == made.stages(ask)
    assert len(told.trace.steps) <= 5
    assert told.limit_s == pytest.approx(told.share * told.slack_s)
    words = " ".join(told.lines)
    assert f"of {1e3 * ask.slack_s:.1f} ms that are left" in words
    assert f"{1e3 * told.slack_s:.1f} ms" in words  # what the search takes it for
    assert SPACE[plan.ranked[0]].text in words
    assert ("No path is in time" in words) != told.feasible
    if told.feasible:
        assert told.trace.looked == plan.steps
        assert told.trace.time_s[0] <= told.limit_s + 1e-12
