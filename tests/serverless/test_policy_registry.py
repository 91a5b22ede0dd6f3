"""Policies by name, and the options that they refuse."""

from dataclasses import replace

import pytest

from nona.errors import SimulationError
from nona.scenario.serverless import ServerlessSpec
from nona.serverless.policies.base import Ask, known_options
from nona.serverless.policies.registry import POLICIES, get_policy, policy_names
from tests.serverless.policy_cases import SPACE, workflow_system

SYSTEM = workflow_system([0.1, 0.2], [(0, 1)])


def test_every_policy_is_there_and_says_what_it_is() -> None:
    assert set(policy_names()) >= {p.name for p in ServerlessSpec().policies}
    for name in policy_names():
        policy = get_policy(name)
        assert policy.name == name
        assert set(policy.option_help) == set(policy.defaults)
        assert all((policy.title, policy.summary, policy.source, policy.adaptation))


def test_an_unknown_name_and_a_taken_one_are_refused() -> None:
    with pytest.raises(
        SimulationError, match=f"'lass' is not known; choose from {', '.join(policy_names())}"
    ):
        get_policy("lass")
    with pytest.raises(SimulationError, match=r"'fixed': the name is taken"):
        POLICIES.register(replace(get_policy("fixed")))


@pytest.mark.parametrize("name", policy_names())
def test_an_unknown_option_is_refused_with_the_known_ones(name: str) -> None:
    policy = get_policy(name)
    with pytest.raises(SimulationError, match=rf"'{name}': option 'spead' is not known; choose from ") as e:
        policy.prepare(SYSTEM, {"spead": 1})
    assert all(option in str(e.value) for option in policy.defaults)
    assert "\n" not in str(e.value)


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("infless", "wait", 1),
        ("infless", "batch_vcpus", "yes"),
        ("infless", "gpu_share", 1.5),
        ("infless", "vcpu_weight", 0),
        ("infless", "gpu_weight", float("nan")),
        ("infless", "search_s", -1),
        ("fast-gshare", "ranked", 0),
        ("fast-gshare", "search_s", None),
        ("orion", "cutoff_s", "soon"),
        ("orion", "step_s", True),
        ("orion", "rounds", 2.5),
        ("orion", "percentile", 100),
        ("orion", "priority", "luck"),
        ("aquatope", "initial", 0),
        ("aquatope", "rounds", -1),
        ("aquatope", "percentile", 101),
        ("fixed", "batch", 0),
        ("fixed", "vcpus", 1.0),
        ("fixed", "vgpus", "7"),
    ],
)
def test_a_wrong_value_is_refused_in_one_line(name: str, option: str, value: object) -> None:
    with pytest.raises(SimulationError) as e:
        get_policy(name).prepare(SYSTEM, {option: value})
    assert option in str(e.value)
    assert repr(value) in str(e.value) or option == "gpu_weight"
    assert "\n" not in str(e.value)


def test_defaults_stay_and_given_values_win() -> None:
    assert known_options("x", {"b": 3}, {"a": 1, "b": 2}) == {"a": 1, "b": 3}
    with pytest.raises(SimulationError, match="it takes no options"):
        known_options("x", {"b": 3}, {})


def test_fixed_keeps_to_its_configuration_and_shrinks_the_batch() -> None:
    planner = get_policy("fixed").prepare(SYSTEM, {"batch": 4, "vcpus": 2, "vgpus": 7})
    batches = {}
    for length in (1, 2, 3, 4, 9):
        (chosen,) = planner.plan(Ask(0, 1, length, 0.5)).ranked
        assert (SPACE[chosen].vcpus, SPACE[chosen].vgpus) == (2, 7)
        batches[length] = SPACE[chosen].batch
    assert batches == {1: 1, 2: 2, 3: 2, 4: 4, 9: 4}
    assert get_policy("fixed").prepare(SYSTEM, {}).plan(Ask(0, 0, 9, 1.0)).ranked == (SPACE.smallest,)


def test_fixed_refuses_what_the_scenario_does_not_list() -> None:
    with pytest.raises(SimulationError, match="3 jobs, 1 vCPU, 1 vGPU is not among"):
        get_policy("fixed").prepare(SYSTEM, {"batch": 3})
