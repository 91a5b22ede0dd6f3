"""Ways of sharing a GPU: leases, the automaton of MIG slices, times, and layouts as they are drawn."""

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pools import Lease, make_pool
from serverless_cases import one_application
from sizes import examples

from nona.cluster.hardware.mig import MigLayout, Slice, board, legal_layouts, parse_layout
from nona.cluster.sharing.pool import BatchConfiguration, Invoker
from nona.cluster.sharing.registry import SHARING_MODES, make_gpu
from nona.cluster.sharing.slices import board_states, idle_instances
from nona.core.errors import SimulationError
from nona.scenario.file import load_scenario
from nona.scenario.sample_files import scenario_path
from nona.scenario.serverless import SharingSpec
from nona.serverless.engine.options import PlatformRunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.functions import CpuLaw, Function, GpuLaw, LawTimes, TableTimes, grid
from nona.serverless.metrics import batch_cost
from nona.serverless.occupation import held_vgpus
from nona.serverless.policies.base import BatchPlan, ConfigurationPolicy
from nona.serverless.report.layouts import layout_rows, placed
from nona.serverless.sharing import gpu_seconds, larger_slice_s, least_gpu_seconds
from nona.serverless.workflows.preparation import prepare_serverless

POOL_LAYOUT = parse_layout("3g.20gb, 2g.10gb, 1g.5gb", "a100-40gb")
OVER = [name for name, way in SHARING_MODES.items() if way.oversubscribes]
SPECS = [
    *(SharingSpec(mode=name) for name, way in SHARING_MODES.items() if not way.oversubscribes),
    *(SharingSpec(mode=name, oversubscription=1.5, clients=3) for name in OVER),
    *(SharingSpec(mode=name, oversubscription=2.0, clients=4) for name in OVER),
]
GEOMETRY, MPS = {"mode": "mig-geometry"}, {"mode": "mps"}
REQUESTS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 30), st.integers(1, 6), st.integers(1, 7)), max_size=40
)


def _occupied(leases):
    """Bits held of each GPU; two leases never hold the same."""
    bits = {}
    for lease in leases:
        assert not bits.get(lease.gpu, 0) & lease.slots
        bits[lease.gpu] = bits.get(lease.gpu, 0) | lease.slots
    return bits


def _state(pool):
    room = [pool.fits(BatchConfiguration(1, v, g)) for v in (1, 5, 16) for g in range(1, 9)]
    return pool.free_vcpus, pool.free_vgpus, pool.stranded, room


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.mode)
@given(gpus=st.integers(1, 2), requests=REQUESTS)
@examples(60)
def test_leases_never_overlap_and_amounts_are_conserved(spec, gpus, requests):
    pool = make_pool(Invoker(vcpus=12, gpus=gpus, layout=POOL_LAYOUT), spec)
    empty, held = _state(pool), list[Lease]()
    for give_back, which, vcpus, vgpus in requests:
        if give_back and held:
            pool.release(held.pop(which % len(held)))
        else:
            wanted = BatchConfiguration(1, vcpus, vgpus)
            fits, before = pool.fits(wanted), _state(pool)
            lease = pool.take(wanted)
            assert (lease is not None) == fits
            if lease is None:
                assert _state(pool) == before
                continue
            assert (lease.vcpus, lease.vgpus >= vgpus) == (vcpus, True)
            held.append(lease)
        _occupied(held)
        assert pool.free_vcpus + sum(h.vcpus for h in held) == 12
        assert pool.free_vgpus + sum(h.vgpus for h in held) == pool.vgpus
        assert 0 <= pool.stranded <= pool.free_vgpus
        some = any(pool.fits(BatchConfiguration(1, 1, g)) for g in range(1, 8))
        assert some == (pool.stranded < pool.free_vgpus), "without a free vCPU all free vGPUs are stranded"
    for lease in held:
        pool.release(lease)
    assert _state(pool) == empty


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.mode)
def test_a_lease_is_given_back_once_and_where_it_was_taken(spec):
    pool, other = (make_pool(Invoker(layout=POOL_LAYOUT), spec) for _ in range(2))
    lease = pool.take(BatchConfiguration(1, 1, 1))
    with pytest.raises(SimulationError, match="does not hold it"):
        other.release(lease)
    pool.release(lease)
    with pytest.raises(SimulationError, match="does not hold it"):
        pool.release(lease)


@pytest.mark.parametrize("mode", ["mig-geometry", "mig-fixed"])
def test_slices_need_a_board_and_fixed_ones_a_layout(mode):
    with pytest.raises(SimulationError, match="no MIG"):
        SHARING_MODES[mode].make(Invoker(board=""), SharingSpec())
    with pytest.raises(SimulationError, match="needs the slices"):
        SHARING_MODES["mig-fixed"].make(Invoker(layout=None), SharingSpec())


def test_a_slice_is_made_once_then_used_again_and_a_second_gpu_comes_before_an_idle_slice_is_destroyed():
    pool = make_pool(Invoker(), SharingSpec(mode="mig-geometry", reconfiguration=3.0))
    first = pool.take(BatchConfiguration(1, 1, 2))
    pool.release(first)
    again, beside = (pool.take(BatchConfiguration(1, 1, 2)) for _ in range(2))
    assert (first.setup_s, again.setup_s, beside.setup_s) == (3.0, 0.0, 3.0)
    assert again.slots == first.slots
    layout = parse_layout("4g.20gb, 3g.20gb", "a100-40gb")
    pool = make_pool(Invoker(gpus=2, layout=layout), SharingSpec(mode="mig-geometry"))
    found = [pool.take(BatchConfiguration(1, 1, 4)) for _ in range(2)]
    assert [(f.gpu, f.setup_s) for f in found] == [(0, 0.0), (1, 0.0)]


CLIENTS = st.lists(st.integers(1, 7), min_size=1, max_size=8)


def _clients(mode, sizes, interference):
    spec = SharingSpec.model_validate(
        {"mode": mode, "oversubscription": 48, "interference": interference, "clients": 48}
    )
    pool = make_pool(Invoker(), spec)
    return pool, tuple(pool.take(BatchConfiguration(1, 1, size)) for size in sizes)


@given(sizes=CLIENTS, interference=st.floats(1, 4))
def test_mps_slows_nobody_until_caps_exceed_the_gpu_and_then_all_alike(sizes, interference):
    pool, leases = _clients("mps", sizes, interference)
    speeds = {pool.gpu.speed(lease.vgpus, sum(sizes)) for lease in leases}
    assert len(speeds) == 1
    speed = speeds.pop()
    demand = sum(sizes) / 7
    assert 0 < speed <= 1
    if len(sizes) == 1 or interference * demand <= 1:
        assert speed == 1
    else:
        assert speed * demand == pytest.approx(1 / interference)


@given(sizes=CLIENTS)
def test_turns_keep_the_gpu_busy_and_go_by_weight(sizes):
    pool, leases = _clients("time-slicing", sizes, 1.0)
    speeds = [pool.gpu.speed(lease.vgpus, sum(sizes)) for lease in leases]
    assert sum(speeds) == pytest.approx(1)
    assert [s / speeds[0] for s in speeds] == pytest.approx([size / sizes[0] for size in sizes])


def _system(times):
    return one_application([Function("f", times)], space=grid([1, 2], [1], [1, 2]))


def test_times_are_those_of_the_whole_gpu_in_turns_and_of_all_its_sms_without_mig():
    system = _system(LawTimes(GpuLaw(0.7, 0.05, exponent=1.0), CpuLaw(0.1)))

    def seconds(mode, invoker=None, of=system):
        return gpu_seconds(of, make_gpu(invoker or Invoker(sms=108), SharingSpec(mode=mode)))

    for whole in (seconds("mig-counter"), seconds("mig-geometry"), seconds("mps", Invoker(board="", sms=80))):
        assert (whole == system.gpu_s).all()
    assert seconds("mps") == pytest.approx(system.gpu_s * 98 / 108)
    assert seconds("time-slicing")[0] == pytest.approx([x * 98 / 108 for x in (0.1, 0.1, 0.2, 0.2)])
    rows = {
        BatchConfiguration(1, 1, 1): 0.9,
        BatchConfiguration(1, 1, 2): 0.5,
        BatchConfiguration(2, 1, 1): 1.6,
    }
    turns = seconds("time-slicing", Invoker(), _system(TableTimes(rows)))
    assert turns[0].tolist() == [0.5, 0.5, 1.6, float("inf")], "of a table the time with its most vGPUs"


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.mode)
@given(sizes=st.lists(st.integers(1, 7), min_size=1, max_size=10))
def test_nobody_is_slower_than_on_a_crowded_gpu(spec, sizes):
    pool = make_pool(Invoker(vcpus=100, layout=POOL_LAYOUT), spec)
    asked = [BatchConfiguration(1, 1, g) for g in sizes]
    held = [(c, lease) for c in asked if (lease := pool.take(c))]
    active = sum(lease.vgpus for _, lease in held)
    for asked, lease in held:
        assert pool.gpu.speed(lease.vgpus, active) * pool.gpu.crowded(asked) >= 1 - 1e-12


def test_a_full_gpu_runs_as_slowly_as_profiles_say():
    loud = SharingSpec(mode="mps", oversubscription=2.0, interference=1.5)
    for spec in (loud, SharingSpec(mode="time-slicing")):
        pool, one = make_pool(Invoker(vcpus=100), spec), BatchConfiguration(1, 1, 1)
        held = []
        while (lease := pool.take(one)) is not None:
            held.append(lease)
        active = sum(lease.vgpus for lease in held)
        assert pool.gpu.speed(1, active) * pool.gpu.crowded(one) == pytest.approx(1)


A100 = "a100-40gb"


def reachable(board_name, sizes, start=()):
    """Every state that takes of these sizes and releases lead to."""
    states = board_states(board_name)
    seen, todo = set(), {start}
    while todo:
        seen |= todo
        state = states.state_of(todo.pop())
        yield state
        after = {state.steps[k].after for k in sizes if k in state.steps}
        todo |= (after | set(state.after_release.values())) - seen


def held_slices(state):
    return tuple(Slice(i.start, i.profile) for i in state.instances if i.held)


def size_of(board_name, piece):
    return MigLayout(board_name, (piece,)).profiles[0].compute_slices


@pytest.mark.verify
@pytest.mark.parametrize(("board_name", "sizes"), [(A100, (1, 2, 3, 4, 7)), ("a30", (1, 2, 4))])
def test_reachable_states_are_legal_and_offer_whatever_a_legal_layout_allows(board_name, sizes):
    legal = {layout.slices for layout in legal_layouts(board_name)}
    more = {
        (tuple(s for s in slices if s != piece), size_of(board_name, piece))
        for slices in legal
        for piece in slices
    }
    for state in reachable(board_name, sizes):
        everything = tuple(Slice(i.start, i.profile) for i in state.instances)
        assert not everything or everything in legal
        assert set(state.steps) == {k for k in range(1, 8) if (held_slices(state), k) in more}
        assert all(k <= state.free for k in state.steps)  # the counter would allow it as well
        assert state.stranded == MigLayout(board_name, held_slices(state)).stranded_compute
        idle = {size_of(board_name, Slice(i.start, i.profile)) for i in state.instances if not i.held}
        for size, step in state.steps.items():
            after = board_states(board_name).state_of(step.after)
            gained = set(held_slices(after)) - set(held_slices(state))
            assert set(held_slices(state)) < set(held_slices(after)), "no other that is held is touched"
            assert [size_of(board_name, piece) for piece in gained] == [size]
            assert step.made == (size not in idle)
            back = board_states(board_name).state_of(after.after_release[step.slots])
            assert (held_slices(back), back.steps[size].made) == (held_slices(state), False)


@pytest.mark.parametrize("sizes", [*combinations((1, 2, 3, 4, 7), 1), *combinations((1, 2, 3, 4, 7), 2)])
def test_one_size_alone_or_with_the_whole_gpu_is_as_the_counter_says_and_any_other_pair_is_not(sizes):
    only_counted = any(k <= s.free and k not in s.steps for s in reachable(A100, sizes) for k in sizes)
    assert only_counted == (len(sizes) == 2 and 7 not in sizes)


@pytest.mark.parametrize(("size", "start"), [(1, 6), (2, 4), (3, 4), (4, 0), (7, 0)])
def test_the_first_slice_lies_where_the_largest_others_still_fit(size, start):
    step = board_states(A100).state_of(()).steps[size]
    assert [i.start for i in step.after] == [start]


def test_an_idle_slice_makes_way_only_where_it_must():
    states = board_states(A100)
    ready = states.state_of(idle_instances(parse_layout("1g.5gb, 1g.5gb, 1g.5gb, 4g.20gb", A100)))
    three = ready.steps[3]
    assert (three.made, three.slots) == (True, 0b11110000)
    assert [(i.start, i.held) for i in three.after] == [(0, False), (4, True)]


def test_fixed_slices_stay_and_the_smallest_that_is_large_enough_serves():
    layout = parse_layout("3g.20gb, 2g.10gb, 1g.5gb, 1g.5gb", A100)
    states = board_states(A100, fixed=True)
    state = states.state_of(idle_instances(layout))
    got = []
    for size in (1, 1, 1, 3):
        got.append(state.steps[size].vgpus)
        state = states.state_of(state.steps[size].after)
        assert tuple(Slice(i.start, i.profile) for i in state.instances) == layout.slices
    assert got == [1, 1, 2, 3]
    assert not state.steps


BALANCED = parse_layout("3g.20gb, 2g.10gb, 1g.5gb, 1g.5gb", "a100-40gb")
MODES = ("mig-counter", "mig-geometry", "mig-fixed", "mps")


@cache
def run(mode):
    """Four nodes, more load than they can serve, configurations of all sizes."""
    shipped = prepare_serverless(load_scenario(scenario_path("strict_light")))
    node = Invoker(layout=BALANCED if mode == "mig-fixed" else None)
    sharing = shipped.sharing.model_copy(update={"mode": mode, "reconfiguration": 0.3})
    system = replace(shipped, invokers=(node,) * 4, sharing=sharing)
    policy = ConfigurationPolicy(
        name="all sizes",
        build=lambda system, _: AllSizes(system),
        **dict.fromkeys(("summary", "source", "adaptation"), ""),
    )
    return system, simulate_serverless(system, policy, {}, PlatformRunOptions(calls=150, warmup=20))


class AllSizes:
    """One job and two vCPUs; the vGPUs as the last digits of the slack fall, then any others."""

    place = None

    def __init__(self, system):
        self.ranked = [n for n, c in enumerate(system.space.configurations) if (c.batch, c.vcpus) == (1, 2)]

    def plan(self, ask):
        first = int(1e6 * ask.slack_s) % len(self.ranked)
        return BatchPlan((*self.ranked[first:], *self.ranked[:first]))


def gpus(mode):
    system, records = run(mode)
    rows = layout_rows(records, system, most=10**9)
    return [placed([r for r in rows if r.invoker == i]) for i in range(4)]


@pytest.mark.parametrize("mode", MODES)
def test_no_two_rectangles_overlap_and_all_batches_of_the_window_are_there(mode):
    system, records = run(mode)
    b, drawn = records.batches, gpus(mode)
    for own in drawn:
        for one, other in combinations(own, 2):
            apart = one.to_s <= other.from_s + 1e-9 or other.to_s <= one.from_s + 1e-9
            assert apart or one.high <= other.low or other.high <= one.low
    inside = ~(b.ended_s <= records.sums.start_s)
    begun = sorted({(r.batch.invoker, r.from_s, r.batch.slots) for own in drawn for r in own})
    said = zip(b.invoker[inside], b.dispatched_s[inside] - records.sums.start_s, b.slots[inside], strict=True)
    assert begun == sorted({(int(i), float(t), int(s)) for i, t, s in said})
    if mode in ("mig-counter", "mps"):
        height = sum(r.high - r.low for own in drawn for r in own)
        assert height == system.space.vgpus[b.configuration[inside]].sum()


@pytest.mark.parametrize("mode", ["mig-geometry", "mig-fixed"])
def test_slices_in_use_are_legal_together_at_every_instant(mode):
    legal = {tuple((s.start, s.profile) for s in m.slices) for m in legal_layouts("a100-40gb")}
    fixed = {s.start: s.profile for s in BALANCED.slices}
    made = {p.compute_slices: p for p in board("a100-40gb").profiles if p.standard}

    def slice_of(row):
        profile = made[row.batch.vgpus]
        assert mode == "mig-fixed" or profile.memory_slices == row.high - row.low
        return row.low, fixed[row.low] if mode == "mig-fixed" else profile.name

    for own in gpus(mode):
        for now in own:
            together = [r for r in own if r.from_s <= now.from_s + 1e-9 < r.to_s]
            assert tuple(sorted(map(slice_of, together))) in legal


def test_a_larger_fixed_slice_is_used_and_paid_for_whole():
    system, records = run("mig-fixed")
    b = records.batches
    held, asked = held_vgpus(system, b), system.space.vgpus[b.configuration]
    assert (held >= asked).all()
    assert (held > asked).any()
    rate = (system.space.vcpus[b.configuration] * 0.034 + held * 0.67) / 3600
    done = ~np.isnan(b.ended_s)
    assert batch_cost(system, records)[done] == pytest.approx((rate * (b.ended_s - b.dispatched_s))[done])
    for k in np.flatnonzero(done & (held > asked))[:20].tolist():
        function = system.applications[b.application[k]].function[b.stage[k]]
        law = system.functions[function].times.gpu
        batch = system.space[int(b.configuration[k])].batch
        on_it = larger_slice_s(system, function, int(b.configuration[k]), int(held[k]))
        work_s = law.constant_s + law.per_query_s * batch
        assert on_it == max(law.floor_s, work_s / held[k] ** law.exponent)
        took = b.ended_s[k] - b.started_s[k] - system.cpu_s[function, b.configuration[k]]
        assert 0.5 * on_it < took < 2.0 * on_it + 0.2  # noise of a tenth, on the CPU part as well


def test_least_times_are_those_of_the_largest_slice_that_may_be_held():
    system, _ = run("mig-fixed")
    gpu = make_gpu(system.invokers[0], system.sharing)
    assert gpu.may_hold(BatchConfiguration(1, 1, 2)) == (2, 3)
    least, own = least_gpu_seconds(system, gpu), gpu_seconds(system, gpu)
    for c, configuration in enumerate(system.space.configurations):
        for f in range(len(system.functions)):
            on_three = larger_slice_s(system, f, c, 3)
            assert least[f, c] == (on_three if configuration.vgpus < 3 else own[f, c])
