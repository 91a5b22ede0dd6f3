"""FaST-GShare: the most throughput per cost within a share of the SLO, and few GPUs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.gpu_sharing.pool import Configuration, Invoker
from nona.scenario.serverless import PricesSpec
from nona.serverless.policies.base import Ask
from nona.serverless.policies.choices import static_shares
from nona.serverless.policies.gshare import POLICY, WHOLE_TIME, FastGsharePlanner, FreeRectangles, best_fit
from nona.serverless.system import ServerlessSystem
from tests.serverless.policy_cases import CHAIN, SPACE, CountedView, views, workflow_system

SYSTEM = workflow_system([0.3, 0.1, 0.5], CHAIN, slo_s=0.9)


def _planner(system: ServerlessSystem, **options: object) -> FastGsharePlanner:
    planner = POLICY.prepare(system, options)
    assert isinstance(planner, FastGsharePlanner)
    return planner


@examples(60)
@given(st.lists(st.floats(0.05, 1), min_size=3, max_size=3), st.floats(0.2, 3), st.integers(1, 6))
def test_the_first_one_has_the_largest_throughput_per_cost(
    times: list[float], slo_s: float, length: int
) -> None:
    system = workflow_system(times, CHAIN, slo_s=slo_s)
    planner = _planner(system)
    for stage, share_s in enumerate(static_shares(system, system.applications[0])):
        kept = {
            n: c.batch / system.time_s[stage, n] / system.price_per_s[n]
            for n, c in enumerate(SPACE.configurations)
            if c.batch <= length and system.time_s[stage, n] <= share_s
        }
        ranked = planner.plan(Ask(0, stage, length, slo_s)).ranked
        if kept:
            efficiency = [kept[n] for n in ranked]
            assert efficiency[0] == pytest.approx(max(kept.values()))
            assert efficiency == pytest.approx(sorted(kept.values(), reverse=True)[:5])
        else:
            assert {SPACE[n].batch for n in ranked} == {1}


@examples(100)
@given(views(SYSTEM), st.permutations(range(len(SPACE))))
def test_the_place_takes_the_first_that_fits_on_the_fullest_gpu_in_use(
    view: CountedView, order: list[int]
) -> None:
    place = _planner(SYSTEM).place
    assert place is not None
    ranked = tuple(order[:5])
    found = place(Ask(0, 0, 4, 0.9), ranked, view)
    fitting = [[i for i in range(3) if view.fits(i, n)] for n in ranked]
    if not any(fitting):
        assert found is None
        return
    assert found is not None
    first = next(k for k, invokers in enumerate(fitting) if invokers)
    assert found[0] == first
    free = view.free_vgpus
    assert found[1] == min(fitting[first], key=lambda i: (free[i] == 7, free[i], i))


@examples(60)
@given(st.lists(st.sampled_from([1, 2, 7]), max_size=12))
def test_batches_that_hold_slices_all_the_time_go_where_rectangles_would(sizes: list[int]) -> None:
    """Strips of a GPU's whole time, put down one after the other by best-area fit."""
    system = workflow_system([0.1], invokers=(Invoker(),) * 4)
    place = _planner(system).place
    assert place is not None
    gpus = [FreeRectangles(WHOLE_TIME, 7) for _ in range(4)]
    for vgpus in sizes:
        n = SPACE.number[Configuration(1, 1, vgpus)]
        free = [gpu.free_area // WHOLE_TIME for gpu in gpus]
        found = place(Ask(0, 0, 1, 1.0), (n,), CountedView(system, (16,) * 4, free))
        assert (found[1] if found else None) == best_fit(gpus, WHOLE_TIME, vgpus)
        if found:
            gpus[found[1]].place(WHOLE_TIME, vgpus)


def test_without_prices_the_fastest_comes_first() -> None:
    system = workflow_system([0.3], prices=PricesSpec(vcpu_hour=0, vgpu_hour=0))
    ranked = _planner(system).plan(Ask(0, 0, 1, 1.0)).ranked
    assert system.time_s[0, ranked[0]] == system.time_s[0][SPACE.batch == 1].min()
