"""INFless: its documented rate window, candidates, waiting, and the choice of invoker by brute force."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.gpu_sharing.pool import Invoker
from nona.serverless.functions import grid
from nona.serverless.policies.base import Ask
from nona.serverless.policies.choices import profile_s, static_shares
from nona.serverless.policies.infless import POLICY, SMALLEST_LEFT, InflessPlanner, candidates, listed, window
from nona.serverless.system import ServerlessSystem
from tests.serverless.policy_cases import SPACE, CountedView, table_system, views, workflow_system

SYSTEM = workflow_system([0.3, 0.2], [(0, 1)], slo_s=1.2)
ALL = {"batch_vcpus": False, "gpu_share": 1.0}


def _planner(system: ServerlessSystem, **options: object) -> InflessPlanner:
    planner = POLICY.prepare(system, options)
    assert isinstance(planner, InflessPlanner)
    return planner


def test_the_rate_window_of_the_documented_row() -> None:
    """ResNet, b = 8, 115 ms of 300 ms: 69 and 43 jobs a second, a time-out of 185 ms."""
    row = window(8, 0.115, 0.300)
    assert (math.floor(row.most), math.floor(row.least)) == (69, 43)
    assert row.timeout_s == pytest.approx(0.185)
    assert window(1, 0.115, 0.300)[1:] == (pytest.approx(8.69, abs=0.01), 0.0)


def test_candidates_are_those_within_the_budget_and_the_lists() -> None:
    """One job may take the share, more jobs half of it; all of them and no others."""
    share_s = static_shares(SYSTEM, SYSTEM.applications[0])[0]
    time_s = profile_s(SYSTEM, SYSTEM.applications[0])[0]
    allowed = listed(SYSTEM, True, 0.5)
    groups = candidates(SYSTEM, 0, time_s, share_s, allowed)
    expected = {
        n
        for n, c in enumerate(SPACE.configurations)
        if time_s[n] <= (share_s if c.batch == 1 else share_s / 2)
        and c.vcpus <= max(2, c.batch)
        and c.vgpus <= 3.5
    }
    assert sorted(n for g in groups for n in g.numbers) == sorted(expected)
    assert [g.batch for g in groups] == sorted({SPACE[n].batch for n in expected}, reverse=True)
    for group in groups:
        assert (np.diff(time_s[list(group.numbers)]) >= 0).all()
        assert list(group.least) == sorted(group.least)


def test_a_batch_needs_the_load_that_fills_it_in_time() -> None:
    """Two jobs take 0.4 of 1 s: from 2/0.6 jobs a second on they are batched, and wait at most 0.6 s."""
    system = table_system([0.3, 0.4], slo_s=1.0, space=grid([1, 2], [1], [1]))
    planner = _planner(system)
    assert planner.plan(Ask(0, 0, 5, 1.0, rate=3.3)).ranked == (0,)
    assert planner.plan(Ask(0, 0, 5, 1.0, rate=3.4)).ranked == (1, 0)
    waiting = planner.plan(Ask(0, 0, 1, 1.0, waited_s=0.1, rate=3.4))
    assert waiting.ranked == ()
    assert waiting.wait_s == pytest.approx(0.5)
    assert waiting.wait_for == 2
    assert planner.plan(Ask(0, 0, 1, 1.0, waited_s=0.6, rate=3.4)).ranked == (0,)
    assert _planner(system, wait=False).plan(Ask(0, 0, 1, 1.0, rate=3.4)).ranked == (0,)


def test_the_scenarios_rule_holds_where_nothing_keeps_the_share() -> None:
    system = workflow_system([10.0], slo_s=0.1)
    ranked = _planner(system).plan(Ask(0, 0, 9, 0.1)).ranked
    assert {SPACE[n].batch for n in ranked} == {1}
    assert len(ranked) == 5


@examples(150)
@given(views(SYSTEM), st.integers(1, 5), st.floats(0, 60))
def test_the_place_is_the_argmax_over_invokers_and_configurations(
    view: CountedView, length: int, rate: float
) -> None:
    planner = _planner(SYSTEM, wait=False, **ALL)
    ask = Ask(0, 0, length, 1.0, rate=rate)
    ranked = planner.plan(ask).ranked
    assert planner.place is not None
    found = planner.place(ask, ranked, view)
    time_s = profile_s(SYSTEM, SYSTEM.applications[0])[0]

    def cre(n: int, invoker: int) -> float:
        c, node = SPACE[n], SYSTEM.invokers[invoker]
        weight = 14_200 / node.vgpus
        left = 64 * (view.free_vcpus[invoker] - c.vcpus) + weight * (view.free_vgpus[invoker] - c.vgpus)
        share = max(left / (64 * node.vcpus + weight * node.vgpus), SMALLEST_LEFT)
        return float(c.batch / time_s[n] / share)

    fitting = [(n, i) for n in ranked for i in range(len(SYSTEM.invokers)) if view.fits(i, n)]
    if not fitting:
        assert found is None
        return
    assert found is not None
    chosen, invoker = ranked[found[0]], found[1]
    assert (chosen, invoker) in fitting
    largest = max(SPACE[n].batch for n, _ in fitting)
    assert SPACE[chosen].batch == largest
    best = max(cre(n, i) for n, i in fitting if SPACE[n].batch == largest)
    assert cre(chosen, invoker) == pytest.approx(best, rel=1e-9)


def test_the_fullest_invoker_is_taken_for_equal_configurations() -> None:
    system = workflow_system([0.3], invokers=(Invoker(), Invoker(), Invoker()))
    planner = _planner(system)
    assert planner.place is not None
    view = CountedView(system, (16, 8, 12), (7, 3, 5))
    assert planner.place(Ask(0, 0, 1, 1.0), (0,), view) == (0, 1)
