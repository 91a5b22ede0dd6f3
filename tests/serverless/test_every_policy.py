"""What every policy owes the controller, and what its registry refuses."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serverless_cases import DIAMOND, SPACE, table_system, workflow_system
from sizes import examples

from nona.cluster.hardware.mig import parse_layout
from nona.cluster.sharing.pool import BatchConfiguration, Invoker
from nona.core.errors import SimulationError
from nona.scenario.serverless import DispatchSpec, ServerlessPricesSpec, ServerlessSpec, SharingSpec
from nona.serverless.policies.base import WaitingQueue
from nona.serverless.policies.choices import CarriedPlans, usable
from nona.serverless.policies.registry import POLICIES, get_policy, policy_names
from nona.serverless.sharing import least_times

QUICK = {"aquatope": {"initial": 4, "rounds": 1}}
SLOS = (0.05, 0.6, 3.0)


@cache
def _diamond(slo_s):
    return workflow_system([0.1, 0.3, 0.2, 0.4], DIAMOND, slo_s=slo_s, noise=0.1, input_bytes=1e6)


def prepared(name, system):
    return get_policy(name).prepare(system, QUICK.get(name, {}))


@cache
def _planner(name, slo_s):
    return prepared(name, _diamond(slo_s))


def asks(slo_s):
    numbers = st.integers(0, len(SPACE) - 1)
    return st.builds(
        WaitingQueue,
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
def test_answers_are_legal_and_equal_for_equal_asks(name, data):
    slo_s = data.draw(st.sampled_from(SLOS))
    ask = data.draw(asks(slo_s))
    planner = _planner(name, slo_s)
    plan = planner.plan(ask)
    assert plan == planner.plan(ask)
    assert plan == prepared(name, _diamond(slo_s)).plan(ask)
    possible = usable(_diamond(slo_s), _diamond(slo_s).applications[0].function[ask.stage])
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
def test_a_carried_plan_is_kept_or_missed(name, data):
    slo_s = data.draw(st.sampled_from(SLOS))
    ask = data.draw(asks(slo_s).filter(lambda a: a.carried is not None))
    plan = _planner(name, slo_s).plan(ask)
    chosen = ask.carried[ask.stage]
    assert plan.missed == (SPACE[chosen].batch > ask.length)
    assert (plan.search_s, plan.memory) == (0.0, ask.carried)
    first = SPACE[plan.ranked[0]]
    if plan.missed:
        assert (first.vcpus, first.vgpus) == (SPACE[chosen].vcpus, SPACE[chosen].vgpus)
        assert first.batch == max(b for b in (1, 2, 4) if b <= ask.length)
    else:
        assert plan.ranked[0] == chosen


def test_fall_backs_lie_around_the_plan_the_smaller_first_and_partial_batches_keep_it():
    system = workflow_system([0.3])
    chosen = SPACE.number[BatchConfiguration(2, 2, 2)]
    ranked = CarriedPlans(system).answer(WaitingQueue(0, 0, 4, 1.0, carried=(chosen,)), (chosen,)).ranked
    sizes = [(SPACE[n].batch, SPACE[n].vcpus, SPACE[n].vgpus) for n in ranked]
    assert sizes == [(2, 2, 2), (1, 2, 2), (2, 2, 1), (2, 1, 2), (4, 2, 2)]
    system = workflow_system([0.3], dispatch=DispatchSpec(partial=True))
    largest = len(SPACE) - 1
    plan = CarriedPlans(system).answer(WaitingQueue(0, 0, 1, 1.0, carried=(largest,)), (largest,))
    assert (plan.ranked[0], plan.missed) == (largest, False)


@pytest.mark.parametrize("name", policy_names())
def test_only_what_fixed_slices_can_hold_is_named(name):
    """Seven slices of one vGPU: two vGPUs exist by their count and can never be had."""
    invoker = Invoker(layout=parse_layout(", ".join(["1g.5gb"] * 7), "a100-40gb"))
    fixed = {"sharing": SharingSpec(mode="mig-fixed"), "invokers": (invoker,)}
    planner = prepared(name, workflow_system([0.2, 0.3], [(0, 1)], slo_s=0.4, **fixed))
    for stage in (0, 1):
        for length in (1, 5):
            ranked = planner.plan(WaitingQueue(0, stage, length, 0.4, rate=50.0, waited_s=9.0)).ranked
            assert ranked
            assert {SPACE[n].vgpus for n in ranked} == {1}


def test_a_gap_in_a_table_stays_closed_where_resources_are_free():
    seconds = [math.inf if n % 3 == 2 else 0.2 for n in range(len(SPACE))]
    paid = table_system(seconds, slo_s=1.0, space=SPACE)
    free = replace(paid, prices=ServerlessPricesSpec(vcpu_hour=0.0, vgpu_hour=0.0))
    for name in policy_names():
        named = get_policy(name).prepare(free, {}).plan(WaitingQueue(0, 0, 4, 1.0)).ranked
        assert named
        assert all(math.isfinite(seconds[n]) for n in named)
    assert np.isinf(least_times(free)[1][0, 2::3]).all()


SYSTEM = workflow_system([0.1, 0.2], [(0, 1)])


def test_every_policy_is_there_and_says_what_it_is():
    assert set(policy_names()) >= {p.name for p in ServerlessSpec().policies}
    for name in policy_names():
        policy = get_policy(name)
        assert policy.name == name
        assert all(setting.text for setting in policy.settings.values())
        assert policy.chosen({}) == policy.defaults
        assert all((policy.title, policy.summary, policy.source, policy.adaptation))


def test_an_unknown_name_and_a_taken_one_are_refused():
    with pytest.raises(
        SimulationError, match=f"'lass' is not known; choose from {', '.join(policy_names())}"
    ):
        get_policy("lass")
    with pytest.raises(SimulationError, match=r"'fixed': the name is taken"):
        POLICIES.register(replace(get_policy("fixed")))


@pytest.mark.parametrize("name", policy_names())
def test_an_unknown_option_is_refused_with_the_known_ones(name):
    policy = get_policy(name)
    with pytest.raises(SimulationError, match=rf"'{name}': option 'spead' is not known; choose from ") as e:
        policy.prepare(SYSTEM, {"spead": 1})
    assert all(option in str(e.value) for option in policy.defaults)
    assert "\n" not in str(e.value)


WRONG = {
    "esg": {"k": 0, "group": 2.5, "replan": "no", "later_batches": 4, "step_s": -1},
    "infless": {"wait": 1, "batch_vcpus": "yes", "gpu_share": 1.5, "vcpu_weight": 0, "search_s": -1},
    "fast-gshare": {"ranked": 0, "search_s": None},
    "orion": {"cutoff_s": "soon", "step_s": True, "rounds": 2.5, "percentile": 100, "priority": "luck"},
    "aquatope": {"initial": 0, "rounds": -1, "percentile": 101},
    "fixed": {"batch": 0, "vcpus": 1.0, "vgpus": "7"},
}
VALUES = [(name, option, value) for name, options in WRONG.items() for option, value in options.items()]


@pytest.mark.parametrize(("name", "option", "value"), [*VALUES, ("infless", "gpu_weight", float("nan"))])
def test_a_wrong_value_is_refused_in_one_line(name, option, value):
    with pytest.raises(SimulationError) as e:
        get_policy(name).prepare(SYSTEM, {option: value})
    assert option in str(e.value)
    assert repr(value) in str(e.value) or option == "gpu_weight"
    assert "\n" not in str(e.value)


def test_fixed_keeps_to_its_configuration_and_shrinks_the_batch():
    planner = get_policy("fixed").prepare(SYSTEM, {"batch": 4, "vcpus": 2, "vgpus": 7})
    batches = {}
    for length in (1, 2, 3, 4, 9):
        (chosen,) = planner.plan(WaitingQueue(0, 1, length, 0.5)).ranked
        assert (SPACE[chosen].vcpus, SPACE[chosen].vgpus) == (2, 7)
        batches[length] = SPACE[chosen].batch
    assert batches == {1: 1, 2: 2, 3: 2, 4: 4, 9: 4}
    assert get_policy("fixed").prepare(SYSTEM, {}).plan(WaitingQueue(0, 0, 9, 1.0)).ranked == (
        SPACE.smallest,
    )
    with pytest.raises(SimulationError, match="3 jobs, 1 vCPU, 1 vGPU is not among"):
        get_policy("fixed").prepare(SYSTEM, {"batch": 3})
