"""What runs held over time: rectangles that never overlap, fixed slices, and their files."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from nona.errors import HardwareError, SimulationError
from nona.hardware.geometry import board
from nona.hardware.mig import legal_layouts, parse_layout
from nona.hardware.mig_parted import write_mig_parted
from nona.samples import scenario_path
from nona.scenario_file import load_scenario
from nona.serverless.configuration import Configuration
from nona.serverless.engine.options import RunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.measured_run import batch_cost
from nona.serverless.policy import Ask, Plan, Policy
from nona.serverless.records import ServerlessRecords
from nona.serverless.sharing.layouts import Rectangle, held_vgpus, layout_rectangles
from nona.serverless.sharing.parted import read_layouts, write_layouts
from nona.serverless.sharing.registry import make_pool
from nona.serverless.sharing.times import gpu_seconds, larger_slice_s, least_gpu_seconds
from nona.serverless.system import Invoker, ServerlessSystem
from nona.study.serverless.preparation import prepare_serverless

BALANCED = parse_layout("3g.20gb, 2g.10gb, 1g.5gb, 1g.5gb", "a100-40gb")
MODES = ("mig-counter", "mig-geometry", "mig-fixed", "mps")


@cache
def run(mode: str) -> tuple[ServerlessSystem, ServerlessRecords]:
    """Four nodes, more load than they can serve, configurations of all sizes."""
    shipped = prepare_serverless(load_scenario(scenario_path("strict_light")))
    node = Invoker(layout=BALANCED if mode == "mig-fixed" else None)
    sharing = shipped.sharing.model_copy(update={"mode": mode, "reconfiguration": 0.3})
    system = replace(shipped, invokers=(node,) * 4, sharing=sharing)
    policy = Policy("all sizes", "", "", "", "", lambda system, _: AllSizes(system), {}, {})
    return system, simulate_serverless(system, policy, {}, RunOptions(calls=150, warmup=20))


class AllSizes:
    """One job and two vCPUs; the vGPUs as the last digits of the slack fall, then any others."""

    place = None

    def __init__(self, system: ServerlessSystem) -> None:
        self.ranked = [n for n, c in enumerate(system.space.configurations) if (c.batch, c.vcpus) == (1, 2)]

    def plan(self, ask: Ask) -> Plan:
        first = int(1e6 * ask.slack_s) % len(self.ranked)
        return Plan((*self.ranked[first:], *self.ranked[:first]))


def rectangles(mode: str) -> list[tuple[Rectangle, ...]]:
    system, records = run(mode)
    end_s = records.stopped_s + 1.0
    return [layout_rectangles(system, records, i, 0.0, end_s) for i in range(4)]


@pytest.mark.parametrize("mode", MODES)
def test_no_two_rectangles_overlap_and_all_batches_are_there(mode: str) -> None:
    system, records = run(mode)
    sizes = system.space.vgpus[records.batches.configuration]
    assert len(set(sizes.tolist())) >= (2 if mode == "mig-fixed" else 4)
    drawn = rectangles(mode)
    for own in drawn:
        for a, b in combinations(own, 2):
            apart = a.gpu != b.gpu or a.to_s <= b.from_s or b.to_s <= a.from_s
            assert apart or a.slot + a.height <= b.slot or b.slot + b.height <= a.slot
    assert {r.batch for own in drawn for r in own} == set(range(len(sizes)))
    if mode in ("mig-counter", "mps"):
        heights = np.zeros(len(sizes), dtype=int)
        for r in (r for own in drawn for r in own):
            heights[r.batch] += r.height
        assert heights.tolist() == sizes.tolist()


@pytest.mark.parametrize("mode", ["mig-geometry", "mig-fixed"])
def test_slices_in_use_are_legal_together_at_every_instant(mode: str) -> None:
    legal = {tuple((s.start, s.profile) for s in m.slices) for m in legal_layouts("a100-40gb")}
    fixed = {(s.start, s.profile) for s in BALANCED.slices}
    for own in rectangles(mode):
        for now in own:
            together = sorted((r.slot, r.profile) for r in own if r.from_s <= now.from_s < r.to_s)
            assert tuple(together) in legal
            assert mode != "mig-fixed" or set(together) <= fixed
            assert board("a100-40gb").profile(now.profile).memory_slices == now.height


def test_a_picture_is_cut_at_its_instants() -> None:
    system, records = run("mig-counter")
    middle = float(np.nanmax(records.batches.ended_s)) / 2
    found = layout_rectangles(system, records, 1, middle, middle + 0.2)
    assert found
    assert all(middle <= r.from_s <= r.ready_s <= r.to_s <= middle + 0.2 for r in found)
    with pytest.raises(SimulationError, match="Invoker 4"):
        layout_rectangles(system, records, 4, 0.0, 1.0)


def test_a_larger_fixed_slice_is_used_and_paid_for_whole() -> None:
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
        assert on_it == max(law.floor_s, law.per_query_s * batch / held[k] ** law.exponent)
        took = b.ended_s[k] - b.started_s[k] - system.cpu_s[function, b.configuration[k]]
        assert 0.5 * on_it < took < 2.0 * on_it + 0.2  # noise of a tenth, on the CPU part as well


def test_least_times_are_those_of_the_largest_slice_that_may_be_held() -> None:
    system, _ = run("mig-fixed")
    pool = make_pool(system.invokers[0], system.sharing)
    assert pool.may_hold(Configuration(1, 1, 2)) == (2, 3)
    least, own = least_gpu_seconds(system, pool), gpu_seconds(system, pool)
    for c, configuration in enumerate(system.space.configurations):
        for f in range(len(system.functions)):
            on_three = larger_slice_s(system, f, c, 3)
            assert least[f, c] == (on_three if configuration.vgpus < 3 else own[f, c])


def test_fixed_slices_go_to_a_mig_parted_file_and_back() -> None:
    system, _ = run("mig-fixed")
    other = parse_layout("4g.20gb, 3g.20gb", "a100-40gb")
    nodes = (*system.invokers[:2], *(replace(node, layout=other) for node in system.invokers[2:]))
    text = write_layouts(replace(system, invokers=nodes))
    assert [line for line in text.splitlines() if "invoker" in line] == ["  invoker-0:", "  invoker-2:"]
    for name, layout in (("invoker-0", BALANCED), ("invoker-2", other)):
        again = read_layouts(run("mig-counter")[0], text, name)
        assert {node.layout for node in again.invokers} == {layout}
        assert again.sharing.mode == "mig-fixed"
    assert read_layouts(system, text).invokers[0].layout == BALANCED


def test_what_cannot_be_written_or_read_says_so() -> None:
    system, _ = run("mig-counter")
    text = write_mig_parted({"two": parse_layout("3g.20gb, 3g.20gb", "a100-40gb")})
    with pytest.raises(SimulationError, match="none has MIG slices"):
        write_layouts(system)
    with pytest.raises(SimulationError, match="'three' is no configuration"):
        read_layouts(system, text, "three")
    with pytest.raises(SimulationError, match="without MIG"):
        read_layouts(replace(system, invokers=(Invoker(board=""),)), text)
    with pytest.raises(HardwareError, match="mig-configs"):
        read_layouts(system, "version: v1")
