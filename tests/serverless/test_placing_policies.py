"""INFless and FaST-GShare: what they choose and where they put it; the order of invokers."""

from itertools import combinations
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serverless_cases import CHAIN, SPACE, CountedView, table_system, views, workflow_system
from sizes import examples

from nona.cluster.sharing.pool import Invoker
from nona.core.errors import SimulationError
from nona.scenario.serverless import DispatchSpec, ServerlessPricesSpec, SharingSpec
from nona.serverless.dispatch import home_and_step, home_invoker, name_hash, steps, walk
from nona.serverless.functions import grid
from nona.serverless.policies.base import WaitingQueue
from nona.serverless.policies.choices import profile_s, static_shares
from nona.serverless.policies.gshare import POLICY as GSHARE
from nona.serverless.policies.infless import POLICY, SMALLEST_LEFT, candidates, listed
from nona.serverless.policies.registry import get_policy


def _planner(system, **options):
    return POLICY.prepare(system, options)


SYSTEM = workflow_system([0.3, 0.2], [(0, 1)], slo_s=1.2)
ALL = {"batch_vcpus": False, "gpu_share": 1.0}


def test_candidates_are_those_within_the_budget_and_the_lists():
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


def test_a_batch_needs_the_load_that_fills_it_in_time():
    """Two jobs take 0.4 of 1 s: from 2/0.6 jobs a second on they are batched, and wait at most 0.6 s."""
    system = table_system([0.3, 0.4], slo_s=1.0, space=grid([1, 2], [1], [1]))
    planner = _planner(system)
    assert planner.plan(WaitingQueue(0, 0, 5, 1.0, rate=3.3)).ranked == (0,)
    assert planner.plan(WaitingQueue(0, 0, 5, 1.0, rate=3.4)).ranked == (1, 0)
    waiting = planner.plan(WaitingQueue(0, 0, 1, 1.0, waited_s=0.1, rate=3.4))
    assert (waiting.ranked, waiting.wait_s, waiting.wait_for) == ((), pytest.approx(0.5), 2)
    assert planner.plan(WaitingQueue(0, 0, 1, 1.0, waited_s=0.6, rate=3.4)).ranked == (0,)
    assert _planner(system, wait=False).plan(WaitingQueue(0, 0, 1, 1.0, rate=3.4)).ranked == (0,)


def test_the_scenarios_rule_holds_where_nothing_keeps_the_share():
    system = workflow_system([10.0], slo_s=0.1)
    ranked = _planner(system).plan(WaitingQueue(0, 0, 9, 0.1)).ranked
    assert {SPACE[n].batch for n in ranked} == {1}
    assert len(ranked) == 5


@examples(150)
@given(views(SYSTEM), st.integers(1, 5), st.floats(0, 60))
def test_the_place_is_the_argmax_over_invokers_and_configurations(view, length, rate):
    planner = _planner(SYSTEM, wait=False, **ALL)
    ask = WaitingQueue(0, 0, length, 1.0, rate=rate)
    ranked = planner.plan(ask).ranked
    found = planner.place(ask, ranked, view)
    time_s = profile_s(SYSTEM, SYSTEM.applications[0])[0]

    def cre(n, invoker):
        c, node = SPACE[n], SYSTEM.invokers[invoker]
        weight = 14_200 / node.vgpus
        left = 64 * (view.free_vcpus[invoker] - c.vcpus) + weight * (view.free_vgpus[invoker] - c.vgpus)
        share = max(left / (64 * node.vcpus + weight * node.vgpus), SMALLEST_LEFT)
        return float(c.batch / time_s[n] / share)

    fitting = [(n, i) for n in ranked for i in range(len(SYSTEM.invokers)) if view.fits(i, n)]
    if not fitting:
        assert found is None
        return
    chosen, invoker = ranked[found[0]], found[1]
    assert (chosen, invoker) in fitting
    largest = max(SPACE[n].batch for n, _ in fitting)
    assert SPACE[chosen].batch == largest
    best = max(cre(n, i) for n, i in fitting if SPACE[n].batch == largest)
    assert cre(chosen, invoker) == pytest.approx(best, rel=1e-9)


THREE = workflow_system([0.3, 0.1, 0.5], CHAIN, slo_s=0.9)


@examples(60)
@given(st.lists(st.floats(0.05, 1), min_size=3, max_size=3), st.floats(0.2, 3), st.integers(1, 6))
def test_the_first_one_has_the_largest_throughput_per_cost(times, slo_s, length):
    system = workflow_system(times, CHAIN, slo_s=slo_s)
    planner = GSHARE.prepare(system, {})
    for stage, share_s in enumerate(static_shares(system, system.applications[0])):
        kept = {
            n: c.batch / system.time_s[stage, n] / system.price_per_s[n]
            for n, c in enumerate(SPACE.configurations)
            if c.batch <= length and system.time_s[stage, n] <= share_s
        }
        ranked = planner.plan(WaitingQueue(0, stage, length, slo_s)).ranked
        if kept:
            efficiency = [kept[n] for n in ranked]
            assert efficiency[0] == pytest.approx(max(kept.values()))
            assert efficiency == pytest.approx(sorted(kept.values(), reverse=True)[:5])
        else:
            assert {SPACE[n].batch for n in ranked} == {1}
    free = workflow_system([0.3], prices=ServerlessPricesSpec(vcpu_hour=0, vgpu_hour=0))
    first = GSHARE.prepare(free, {}).plan(WaitingQueue(0, 0, 1, 1.0)).ranked[0]
    assert free.time_s[0, first] == free.time_s[0][SPACE.batch == 1].min(), "without prices the fastest"


@examples(100)
@given(views(THREE), st.permutations(range(len(SPACE))))
def test_the_place_takes_the_first_that_fits_on_the_fullest_gpu_in_use(view, order):
    place = GSHARE.prepare(THREE, {}).place
    ranked = tuple(order[:5])
    found = place(WaitingQueue(0, 0, 4, 0.9), ranked, view)
    fitting = [[i for i in range(3) if view.fits(i, n)] for n in ranked]
    if not any(fitting):
        assert found is None
        return
    first = next(k for k, invokers in enumerate(fitting) if invokers)
    assert found[0] == first
    free = view.free_vgpus
    assert found[1] == min(fitting[first], key=lambda i: (free[i] == 7, free[i], i))


def test_steps_among_no_invokers_are_refused():
    with pytest.raises(SimulationError, match="n=0"):
        steps(0)


@pytest.mark.parametrize("name", ["infless", "fast-gshare"])
@pytest.mark.parametrize(
    ("mode", "ready_first", "invoker"),
    [("mig-geometry", True, 1), ("mig-geometry", False, 0), ("mig-counter", True, 0)],
)
def test_existing_slices_come_first(name, mode, ready_first, invoker):
    """All four are empty and equal; on odd ones no slice need be made."""
    rules = {"sharing": SharingSpec(mode=mode), "dispatch": DispatchSpec(ready_first=ready_first)}
    system = workflow_system([0.3], invokers=(Invoker(board="a100-40gb"),) * 4, **rules)
    planner, ask = get_policy(name).prepare(system, {}), WaitingQueue(0, 0, 1, 1.0, rate=1.0)
    found = planner.place(ask, planner.plan(ask).ranked, CountedView(system, (16,) * 4, (7,) * 4))
    assert found[1] == invoker


RULES = ("home", "predecessor", "warm", "walk", "most-free")


@given(name=st.text(max_size=30), n=st.integers(1, 200))
def test_a_walk_visits_every_invoker_once_from_home_on(name, n):
    home, step = home_invoker(name, n)
    visited = walk(home, step, n)
    assert visited[0] == home == name_hash(name) % n
    assert sorted(visited) == list(range(n))
    assert walk(*home_and_step(13, 10), 10) == (3, 6, 9, 2, 5, 8, 1, 4, 7, 0), "the documented example"


def test_steps_are_coprime_to_n_and_to_each_other_and_none_is_missing():
    for n in range(1, 120):
        found = steps(n)
        assert all(gcd(a, b) == 1 for a, b in combinations((n, *found), 2))
        for other in set(range(1, n + 1)) - set(found):
            assert gcd(other, n) > 1 or any(gcd(other, s) > 1 for s in found if s < other)


@given(name=st.text(max_size=12))
def test_the_hash_is_the_sum_of_units_times_powers_of_31(name):
    units = name.encode("utf-16-be")
    values = [units[i] * 256 + units[i + 1] for i in range(0, len(units), 2)]
    total = sum(value * 31 ** (len(values) - 1 - i) for i, value in enumerate(values)) % 2**32
    assert name_hash(name) == min(total, 2**32 - total)
