"""Pools of every way of sharing: nothing is handed out twice, and what is given back is there again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sharing_cases import one_function
from sizes import examples

from nona.errors import SimulationError
from nona.gpu_sharing.pool import Configuration, Invoker, Lease, Pool
from nona.gpu_sharing.registry import WAYS, make_pool
from nona.hardware.mig import parse_layout
from nona.scenario.serverless import SharingSpec
from nona.serverless.functions import CpuLaw, Function, GpuLaw, LawTimes, TableTimes, grid
from nona.serverless.sharing import gpu_seconds
from nona.serverless.system import ServerlessSystem

LAYOUT = parse_layout("3g.20gb, 2g.10gb, 1g.5gb", "a100-40gb")
OVER = [name for name, way in WAYS.items() if way.oversubscribes]
SPECS = [
    *(SharingSpec(mode=name) for name, way in WAYS.items() if not way.oversubscribes),
    *(SharingSpec(mode=name, oversubscription=1.5, clients=3) for name in OVER),
    *(SharingSpec(mode=name, oversubscription=2.0, clients=4) for name in OVER),
]
REQUESTS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 30), st.integers(1, 6), st.integers(1, 7)), max_size=40
)


def _occupied(leases: list[Lease]) -> dict[int, int]:
    """Bits held of each GPU; two leases never hold the same."""
    bits: dict[int, int] = {}
    for lease in leases:
        assert not bits.get(lease.gpu, 0) & lease.slots
        bits[lease.gpu] = bits.get(lease.gpu, 0) | lease.slots
    return bits


def _state(pool: Pool) -> tuple[object, ...]:
    room = [pool.fits(Configuration(1, v, g)) for v in (1, 5, 16) for g in range(1, 9)]
    return pool.free_vcpus, pool.free_vgpus, pool.stranded, room


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.mode)
@given(gpus=st.integers(1, 2), requests=REQUESTS)
@examples(60)
def test_leases_never_overlap_and_amounts_are_conserved(
    spec: SharingSpec, gpus: int, requests: list[tuple[bool, int, int, int]]
) -> None:
    pool = make_pool(Invoker(vcpus=12, gpus=gpus, layout=LAYOUT), spec)
    empty, held = _state(pool), list[Lease]()
    for now, (give_back, which, vcpus, vgpus) in enumerate(requests):
        if give_back and held:
            pool.release(held.pop(which % len(held)), now)
        else:
            wanted = Configuration(1, vcpus, vgpus)
            fits, why, before = pool.fits(wanted), pool.why_not(wanted), _state(pool)
            lease = pool.take(wanted, now)
            assert (lease is not None) == fits == (not why)
            if lease is None:
                assert _state(pool) == before
                continue
            assert (lease.vcpus, lease.vgpus >= vgpus) == (vcpus, True)
            held.append(lease)
        _occupied(held)
        assert pool.free_vcpus + sum(h.vcpus for h in held) == 12
        assert pool.free_vgpus + sum(h.vgpus for h in held) == pool.vgpus
        assert 0 <= pool.stranded <= pool.free_vgpus
        if pool.free_vcpus and pool.stranded < pool.free_vgpus:
            assert any(pool.fits(Configuration(1, 1, g)) for g in range(1, 8))
        else:
            assert not any(pool.fits(Configuration(1, 1, g)) for g in range(1, 8))
    for lease in held:
        pool.release(lease, 99)
    assert _state(pool) == empty


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.mode)
def test_a_lease_is_given_back_once_and_where_it_was_taken(spec: SharingSpec) -> None:
    pool, other = (make_pool(Invoker(layout=LAYOUT), spec) for _ in range(2))
    lease = pool.take(Configuration(1, 1, 1), 0.0)
    assert lease is not None
    with pytest.raises(SimulationError, match="does not hold it"):
        other.release(lease, 1.0)
    pool.release(lease, 1.0)
    with pytest.raises(SimulationError, match="does not hold it"):
        pool.release(lease, 2.0)


@pytest.mark.parametrize(
    ("spec", "layout", "taken", "asked", "reason"),
    [
        (SharingSpec(), "", [(16, 1)], (1, 1), "vCPUs short: 0 free, 1 needed"),
        (SharingSpec(), "", [(1, 4)], (1, 4), "vGPUs short: 3 free on one GPU, 4 needed"),
        (SharingSpec(mode="mig-geometry"), "", [(1, 1)] * 2, (1, 6), "no slice has 6 vGPUs on this board"),
        (
            SharingSpec(mode="mig-geometry"),
            "",
            [(1, 4)] * 1,
            (1, 7),
            "vGPUs short: 3 free on one GPU, 7 needed",
        ),
        (
            SharingSpec(mode="mig-geometry"),
            "",
            [(1, 3)] * 2,
            (1, 1),
            "no legal place for a slice of 1 vGPUs next to those in use",
        ),
        (SharingSpec(mode="mig-fixed"), "2g.10gb, 1g.5gb", [], (1, 4), "no idle slice of at least 4 vGPUs"),
        (SharingSpec(mode="mps"), "", [(1, 5)], (1, 3), "vGPUs short: 2 free on one GPU, 3 needed"),
        (SharingSpec(mode="mps", oversubscription=2.0), "", [], (1, 8), "vGPUs short: a GPU has 7, 8 needed"),
        (
            SharingSpec(mode="mps", clients=1),
            "",
            [(1, 1)],
            (1, 1),
            "clients: a GPU with room already has the most, 1",
        ),
    ],
)
def test_a_refusal_names_what_is_short(
    spec: SharingSpec, layout: str, taken: list[tuple[int, int]], asked: tuple[int, int], reason: str
) -> None:
    pool = make_pool(Invoker(layout=parse_layout(layout, "a100-40gb") if layout else None), spec)
    for vcpus, vgpus in taken:
        assert pool.take(Configuration(1, vcpus, vgpus), 0.0) is not None
    assert pool.why_not(Configuration(1, *asked)) == reason


def test_without_a_free_vcpu_every_free_vgpu_is_stranded() -> None:
    for spec in SPECS:
        pool = make_pool(Invoker(vcpus=1, layout=LAYOUT), spec)
        assert pool.take(Configuration(1, 1, 1), 0.0) is not None
        assert pool.stranded == pool.free_vgpus > 0


@pytest.mark.parametrize("mode", ["mig-geometry", "mig-fixed"])
def test_slices_need_a_board_and_fixed_ones_a_layout(mode: str) -> None:
    with pytest.raises(SimulationError, match="no MIG"):
        WAYS[mode].make(Invoker(board=""), SharingSpec())
    with pytest.raises(SimulationError, match="needs the slices"):
        WAYS["mig-fixed"].make(Invoker(layout=None), SharingSpec())


def test_a_slice_is_made_once_and_then_used_again() -> None:
    pool = make_pool(Invoker(), SharingSpec(mode="mig-geometry", reconfiguration=3.0))
    first = pool.take(Configuration(1, 1, 2), 0.0)
    assert first is not None
    pool.release(first, 4.0)
    again, beside = (pool.take(Configuration(1, 1, 2), 5.0) for _ in range(2))
    assert again is not None
    assert beside is not None
    assert (first.setup_s, again.setup_s, beside.setup_s) == (3.0, 0.0, 3.0)
    assert again.slots == first.slots


def test_a_second_gpu_is_used_before_an_idle_slice_is_destroyed() -> None:
    layout = parse_layout("4g.20gb, 3g.20gb", "a100-40gb")
    pool = make_pool(Invoker(gpus=2, layout=layout), SharingSpec(mode="mig-geometry"))
    found = [pool.take(Configuration(1, 1, 4), 0.0) for _ in range(2)]
    assert [(f.gpu, f.setup_s) for f in found if f] == [(0, 0.0), (1, 0.0)]


CLIENTS = st.lists(st.integers(1, 7), min_size=1, max_size=8)


def _clients(mode: str, sizes: list[int], interference: float) -> tuple[Pool, tuple[Lease, ...]]:
    spec = SharingSpec.model_validate(
        {"mode": mode, "oversubscription": 48, "interference": interference, "clients": 48}
    )
    pool = make_pool(Invoker(), spec)
    found = [pool.take(Configuration(1, 1, size), 0.0) for size in sizes]
    return pool, tuple(lease for lease in found if lease is not None)


@given(sizes=CLIENTS, interference=st.floats(1, 4))
def test_mps_slows_nobody_until_caps_exceed_the_gpu_and_then_all_alike(
    sizes: list[int], interference: float
) -> None:
    pool, leases = _clients("mps", sizes, interference)
    speeds = {pool.speed(lease, leases) for lease in leases}
    assert len(speeds) == 1
    speed = speeds.pop()
    demand = sum(sizes) / 7
    assert 0 < speed <= 1
    if len(sizes) == 1 or interference * demand <= 1:
        assert speed == 1
    else:
        assert speed * demand == pytest.approx(1 / interference)


@given(sizes=CLIENTS)
def test_turns_keep_the_gpu_busy_and_go_by_weight(sizes: list[int]) -> None:
    pool, leases = _clients("time-slicing", sizes, 1.0)
    speeds = [pool.speed(lease, leases) for lease in leases]
    assert sum(speeds) == pytest.approx(1)
    assert [s / speeds[0] for s in speeds] == pytest.approx([size / sizes[0] for size in sizes])


def _system(*functions: Function) -> ServerlessSystem:
    return one_function(functions, grid([1, 2], [1], [1, 2]))


def test_times_are_those_of_the_whole_gpu_in_turns_and_of_all_its_sms_without_mig() -> None:
    system = _system(Function("f", LawTimes(GpuLaw(0.7, 0.05, exponent=1.0), CpuLaw(0.1))))
    invoker = Invoker(sms=108)
    for spec in (SharingSpec(), SharingSpec(mode="mig-geometry")):
        assert (gpu_seconds(system, make_pool(invoker, spec)) == system.gpu_s).all()
    capped = gpu_seconds(system, make_pool(invoker, SharingSpec(mode="mps")))
    assert capped == pytest.approx(system.gpu_s * 98 / 108)
    turns = gpu_seconds(system, make_pool(invoker, SharingSpec(mode="time-slicing")))
    assert turns[0] == pytest.approx([x * 98 / 108 for x in (0.1, 0.1, 0.2, 0.2)])
    without = gpu_seconds(system, make_pool(Invoker(board="", sms=80), SharingSpec(mode="mps")))
    assert (without == system.gpu_s).all()


def test_a_table_stands_in_with_its_most_vgpus() -> None:
    rows = {Configuration(1, 1, 1): 0.9, Configuration(1, 1, 2): 0.5, Configuration(2, 1, 1): 1.6}
    system = _system(Function("f", TableTimes(rows)))
    turns = gpu_seconds(system, make_pool(Invoker(), SharingSpec(mode="time-slicing")))
    assert turns[0].tolist() == [0.5, 0.5, 1.6, float("inf")]


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.mode)
@given(sizes=st.lists(st.integers(1, 7), min_size=1, max_size=10))
def test_nobody_is_slower_than_on_a_crowded_gpu(spec: SharingSpec, sizes: list[int]) -> None:
    pool = make_pool(Invoker(vcpus=100, layout=LAYOUT), spec)
    made = [(Configuration(1, 1, g), pool.take(Configuration(1, 1, g), 0.0)) for g in sizes]
    held = [(c, lease) for c, lease in made if lease is not None]
    active = tuple(lease for _, lease in held)
    for asked, lease in held:
        assert pool.speed(lease, active) * pool.crowded(asked) >= 1 - 1e-12


def test_a_full_gpu_runs_as_slowly_as_profiles_say() -> None:
    for spec in (
        SharingSpec(mode="mps", oversubscription=2.0, interference=1.5),
        SharingSpec(mode="time-slicing"),
    ):
        pool, one = make_pool(Invoker(vcpus=100), spec), Configuration(1, 1, 1)
        held = []
        while (lease := pool.take(one, 0.0)) is not None:
            held.append(lease)
        assert pool.speed(held[0], tuple(held)) * pool.crowded(one) == pytest.approx(1)
