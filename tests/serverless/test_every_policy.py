"""What every policy owes the controller: legal configurations, equal answers to equal asks, misses told."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.gpu_sharing.pool import Invoker
from nona.hardware.device import find_device
from nona.hardware.mig import parse_layout
from nona.scenario.serverless import DispatchSpec, PricesSpec, SharingSpec
from nona.serverless.policies.base import Ask, Planner
from nona.serverless.policies.choices import CarriedPlans, usable
from nona.serverless.policies.registry import get_policy, policy_names
from nona.serverless.sharing import least_times
from nona.serverless.system import ServerlessSystem
from tests.serverless.policy_cases import DIAMOND, SPACE, table_system, workflow_system

QUICK = {"aquatope": {"initial": 4, "rounds": 1}}
SLOS = (0.05, 0.6, 3.0)


@cache
def _system(slo_s: float) -> ServerlessSystem:
    return workflow_system([0.1, 0.3, 0.2, 0.4], DIAMOND, slo_s=slo_s, noise=0.1, input_bytes=1e6)


@cache
def _planner(name: str, slo_s: float) -> Planner:
    return get_policy(name).prepare(_system(slo_s), QUICK.get(name, {}))


def asks(slo_s: float) -> st.SearchStrategy[Ask]:
    """Any question about the system."""
    numbers = st.integers(0, len(SPACE) - 1)
    return st.builds(
        Ask,
        application=st.just(0),
        stage=st.integers(0, 3),
        length=st.integers(1, 9),
        slack_s=st.floats(-1, slo_s),
        waited_s=st.floats(0, 2),
        carried=st.none() | st.tuples(numbers, numbers, numbers, numbers),
        rate=st.floats(0, 100),
    )


@pytest.mark.parametrize("name", policy_names())
@examples(40)
@given(data=st.data())
def test_answers_are_legal_and_equal_for_equal_asks(name: str, data: st.DataObject) -> None:
    slo_s = data.draw(st.sampled_from(SLOS))
    ask = data.draw(asks(slo_s))
    planner = _planner(name, slo_s)
    plan = planner.plan(ask)
    assert plan == planner.plan(ask)
    assert plan == get_policy(name).prepare(_system(slo_s), QUICK.get(name, {})).plan(ask)
    possible = usable(_system(slo_s), _system(slo_s).applications[0].function[ask.stage])
    assert set(plan.ranked) <= set(possible)
    assert len(set(plan.ranked)) == len(plan.ranked)
    assert all(SPACE[n].batch <= ask.length for n in plan.ranked)
    assert plan.search_s >= 0
    if not plan.ranked:
        assert plan.wait_s > 0
        assert plan.wait_for > ask.length


@pytest.mark.parametrize("name", ["orion", "aquatope"])
@examples(40)
@given(data=st.data())
def test_a_carried_plan_is_kept_or_missed(name: str, data: st.DataObject) -> None:
    slo_s = data.draw(st.sampled_from(SLOS))
    ask = data.draw(asks(slo_s).filter(lambda a: a.carried is not None))
    assert ask.carried is not None
    plan = _planner(name, slo_s).plan(ask)
    chosen = ask.carried[ask.stage]
    assert plan.missed == (SPACE[chosen].batch > ask.length)
    assert (plan.search_s, plan.carry) == (0.0, ask.carried)
    first = SPACE[plan.ranked[0]]
    if plan.missed:
        same = (first.vcpus, first.vgpus) == (SPACE[chosen].vcpus, SPACE[chosen].vgpus)
        assert same
        assert first.batch == max(b for b in (1, 2, 4) if b <= ask.length)
    else:
        assert plan.ranked[0] == chosen


def test_fall_backs_lie_around_the_plan_the_smaller_first() -> None:
    system = workflow_system([0.3])
    chosen = next(n for n, c in enumerate(SPACE.configurations) if (c.batch, c.vcpus, c.vgpus) == (2, 2, 2))
    ranked = CarriedPlans(system).answer(Ask(0, 0, 4, 1.0, carried=(chosen,)), (chosen,)).ranked
    sizes = [(SPACE[n].batch, SPACE[n].vcpus, SPACE[n].vgpus) for n in ranked]
    assert sizes == [(2, 2, 2), (1, 2, 2), (2, 2, 1), (2, 1, 2), (4, 2, 2)]


def test_partial_batches_keep_a_carried_plan() -> None:
    system = workflow_system([0.3], dispatch=DispatchSpec(partial=True))
    largest = len(SPACE) - 1
    plan = CarriedPlans(system).answer(Ask(0, 0, 1, 1.0, carried=(largest,)), (largest,))
    assert (plan.ranked[0], plan.missed) == (largest, False)


@pytest.mark.parametrize("name", policy_names())
def test_only_what_fixed_slices_can_hold_is_named(name: str) -> None:
    """Seven slices of one vGPU: two vGPUs exist by their count and can never be had."""
    board = find_device("a100-40gb").mig
    assert board is not None
    layout = parse_layout(", ".join(["1g.5gb"] * 7), board)
    system = workflow_system(
        [0.2, 0.3],
        [(0, 1)],
        slo_s=0.4,
        sharing=SharingSpec(mode="mig-fixed"),
        invokers=(Invoker(board=board, layout=layout),),
    )
    planner = get_policy(name).prepare(system, QUICK.get(name, {}))
    for stage in (0, 1):
        for length in (1, 5):
            ranked = planner.plan(Ask(0, stage, length, 0.4, rate=50.0, waited_s=9.0)).ranked
            assert ranked
            assert {SPACE[n].vgpus for n in ranked} == {1}


def test_a_gap_in_a_table_stays_closed_where_resources_are_free() -> None:
    seconds = [math.inf if n % 3 == 2 else 0.2 for n in range(len(SPACE))]
    free = replace(
        table_system(seconds, slo_s=1.0, space=SPACE), prices=PricesSpec(vcpu_hour=0.0, vgpu_hour=0.0)
    )
    for name in policy_names():
        named = get_policy(name).prepare(free, {}).plan(Ask(0, 0, 4, 1.0)).ranked
        assert named
        assert all(math.isfinite(seconds[n]) for n in named)
    assert np.isinf(least_times(free)[1][0, 2::3]).all()
