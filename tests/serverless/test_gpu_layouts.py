"""What runs held over time: rectangles that never overlap, legal slices, fixed ones paid for whole."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from nona.gpu_sharing.pool import Configuration, Invoker
from nona.gpu_sharing.registry import make_pool
from nona.hardware.mig import board, legal_layouts, parse_layout
from nona.report.serverless.layouts import Placed, layout_rows, placed
from nona.scenario.file import load_scenario
from nona.serverless.engine.options import RunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.held import held_vgpus
from nona.serverless.metrics import batch_cost
from nona.serverless.policies.base import Ask, Plan, Policy
from nona.serverless.records import ServerlessRecords
from nona.serverless.sharing import gpu_seconds, larger_slice_s, least_gpu_seconds
from nona.serverless.system import ServerlessSystem
from nona.sources.samples import scenario_path
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


def gpus(mode: str) -> list[list[Placed]]:
    """The rows of each GPU that :func:`layout_rows` draws."""
    system, records = run(mode)
    rows = layout_rows(records, system, most=10**9)
    return [placed([r for r in rows if r.invoker == i]) for i in range(4)]


@pytest.mark.parametrize("mode", MODES)
def test_no_two_rectangles_overlap_and_all_batches_of_the_window_are_there(mode: str) -> None:
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
def test_slices_in_use_are_legal_together_at_every_instant(mode: str) -> None:
    legal = {tuple((s.start, s.profile) for s in m.slices) for m in legal_layouts("a100-40gb")}
    fixed = {s.start: s.profile for s in BALANCED.slices}
    made = {p.compute_slices: p for p in board("a100-40gb").profiles if p.standard}

    def slice_of(row: Placed) -> tuple[int, str]:
        if mode == "mig-fixed":
            return row.low, fixed[row.low]
        profile = made[row.batch.vgpus]
        assert profile.memory_slices == row.high - row.low
        return row.low, profile.name

    for own in gpus(mode):
        for now in own:
            together = [r for r in own if r.from_s <= now.from_s + 1e-9 < r.to_s]
            assert tuple(sorted(map(slice_of, together))) in legal


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
        work_s = law.constant_s + law.per_query_s * batch
        assert on_it == max(law.floor_s, work_s / held[k] ** law.exponent)
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
