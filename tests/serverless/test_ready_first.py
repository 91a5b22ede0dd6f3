"""Policies that place by themselves look for existing slices first; the MPS demo's clients can collide."""

from __future__ import annotations

import pytest

from nona.gpu_sharing.pool import Configuration, Invoker
from nona.gpu_sharing.registry import make_pool
from nona.scenario.file import load_scenario
from nona.scenario.serverless import DispatchSpec, SharingSpec
from nona.serverless.policies.base import Ask
from nona.serverless.policies.registry import get_policy
from nona.sources.samples import scenario_path
from tests.serverless.policy_cases import CountedView, workflow_system


@pytest.mark.parametrize("name", ["infless", "fast-gshare"])
@pytest.mark.parametrize(
    ("mode", "ready_first", "invoker"),
    [("mig-geometry", True, 1), ("mig-geometry", False, 0), ("mig-counter", True, 0)],
)
def test_existing_slices_come_first(name: str, mode: str, ready_first: bool, invoker: int) -> None:
    """All four are empty and equal; on odd ones no slice need be made."""
    system = workflow_system(
        [0.3],
        invokers=(Invoker(board="a100-40gb"),) * 4,
        sharing=SharingSpec(mode=mode),
        dispatch=DispatchSpec(ready_first=ready_first),
    )
    planner = get_policy(name).prepare(system, {})
    assert planner.place is not None
    view = CountedView(system, (16,) * 4, (7,) * 4)
    ask = Ask(0, 0, 1, 1.0, rate=1.0)
    found = planner.place(ask, planner.plan(ask).ranked, view)
    assert found is not None
    assert found[1] == invoker


def test_in_the_mps_demo_clients_slow_each_other_down() -> None:
    """At the default, caps add up to at most one GPU, and nobody is slowed down."""
    spec = load_scenario(scenario_path("mig_or_mps")).serverless
    assert spec is not None
    for settings, slower in ((spec.sharing, True), (SharingSpec(), False)):
        pool = make_pool(Invoker(board="a100-40gb"), settings.model_copy(update={"mode": "mps"}))
        leases = []
        while lease := pool.take(Configuration(1, 1, 1), 0.0):
            leases.append(lease)
        assert (pool.speed(leases[0], tuple(leases)) < 1) == slower
