"""What is made of runs: checks that can fail, summaries, states, replications in processes."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from engine_cases import SMALLEST, function, one_application, run, told, trace

from nona.errors import SimulationError
from nona.gpu_sharing.pool import Invoker
from nona.scenario.serverless import PricesSpec
from nona.serverless.checks import checks_of, run_checks
from nona.serverless.engine.options import RunOptions, ServerlessProgress
from nona.serverless.functions import grid
from nona.serverless.metrics import judge, summarise
from nona.serverless.policies.base import Plan
from nona.serverless.policies.registry import get_policy
from nona.serverless.records import ServerlessRecords
from nona.serverless.replications import run_policies
from nona.serverless.system import ServerlessSystem
from nona.simulation.run import Cancelled


@pytest.fixture(scope="module")
def busy() -> tuple[ServerlessSystem, ServerlessRecords]:
    """Two stages on two small invokers, with queues."""
    system = one_application(
        [function("a", 0.5), function("b", 0.5)],
        [(0, 1)],
        rate=3.0,
        noise=0.2,
        space=grid([1, 2], [1], [1, 2]),
        invokers=(Invoker(vcpus=2), Invoker(vcpus=2)),
    )
    return system, run(system, 600, told(lambda ask: Plan((1, 0))), warmup=50)


def _batches(records: ServerlessRecords, column: str, change: Any) -> ServerlessRecords:
    values = getattr(records.batches, column).copy()
    return replace(records, batches=replace(records.batches, **{column: change(values)}))


SPOILT: dict[str, Any] = {
    "conservation": lambda r: _batches(r, "jobs", lambda v: v + 1),
    "capacity": lambda r: _batches(r, "invoker", lambda v: v * 0),
    "slots": lambda r: _batches(r, "slots", lambda v: v * 0 + 1),
    "money": lambda r: replace(r, sums=replace(r.sums, vcpu_area=r.sums.vcpu_area * 1.01)),
    "Little's law": lambda r: replace(r, sums=replace(r.sums, queue_area=r.sums.queue_area * 1.01)),
    "causality": lambda r: _batches(r, "started_s", lambda v: v - 1.0),
    "first come, first served": lambda r: replace(
        r, calls=replace(r.calls, batch=np.vstack([r.calls.batch[60::-1], r.calls.batch[61:]]))
    ),
    "batches": lambda r: _batches(r, "local", lambda v: v + 5),
}


@pytest.mark.parametrize("name", SPOILT)
def test_checks_hold_and_each_can_fail(name: str, busy: tuple[ServerlessSystem, ServerlessRecords]) -> None:
    system, records = busy
    assert [c.name for c in run_checks(system, records)] == list(SPOILT)
    assert all(c.ok for c in run_checks(system, records))
    spoilt = SPOILT[name](records)
    assert name in [c.name for c in run_checks(system, spoilt) if not c.ok]
    assert not {c.name: c.ok for c in checks_of(system, [records, spoilt])}[name]


def test_a_summary_of_calls_that_can_be_reckoned() -> None:
    """Calls at 0, 1, 10 of 2 s each on one server: latencies 2, 3, 2; the SLO is 2.5 s."""
    system = one_application(
        [function("a", 2.0)],
        arrivals=trace(0.0, 1.0, 10.0),
        slo_s=2.5,
        invokers=(Invoker(vcpus=1),),
        prices=PricesSpec(vcpu_hour=3600.0, vgpu_hour=7200.0),
    )
    summary = summarise(system, [run(system, 3)])
    assert summary.slo_hit_rate.mean == pytest.approx(2 / 3)
    assert summary.cost_per_call_usd.mean == pytest.approx(2 * 3.0)
    assert summary.cost_per_hit_usd.mean == pytest.approx(9.0)
    assert summary.latency_s.mean.mean == pytest.approx(7 / 3)
    assert summary.latency_s.percentiles[50] == pytest.approx(2.0)
    assert summary.vcpu_utilization.mean == pytest.approx(0.4)  # busy 0–4 of the window 0–10
    assert summary.vgpu_utilization.mean == pytest.approx(0.4 / 7)
    assert summary.rechecks.mean == pytest.approx(1 / 3)
    assert (summary.arrived, summary.completed, summary.in_flight) == (3, 3, 0)
    assert summary.configuration_miss_rate is None
    assert math.isnan(summary.locality.mean)
    only = summary.applications[0]
    assert (only.slo_hit_rate, only.cost_per_call_usd) == (summary.slo_hit_rate, summary.cost_per_call_usd)


def test_a_plan_that_does_not_fit_is_missed_once() -> None:
    """Each call carries a plan of two vCPUs for its second stage, on invokers that have one."""

    def carry(ask: Any) -> Plan:
        return Plan((1, 0), carry=None) if ask.carried else Plan((0,), carry=(0, 1))

    system = one_application(
        [function("a", 1.0), function("b", 1.0)],
        [(0, 1)],
        space=grid([1], [1, 2], [1]),
        rate=0.2,
        invokers=(Invoker(vcpus=1), Invoker(vcpus=1)),
    )
    records = run(system, 100, told(carry))
    second = records.batches.stage == 1
    assert records.batches.missed.tolist() == second.tolist()
    summary = summarise(system, [records])
    assert summary.configuration_miss_rate is not None
    assert summary.configuration_miss_rate.mean == 1.0


@pytest.mark.parametrize(("rate", "state"), [(0.5, "stable"), (3.0, "overloaded")])
def test_an_overload_is_told_from_a_steady_state(rate: float, state: str) -> None:
    system = one_application([function("a", 1.0)], rate=rate, invokers=(Invoker(vcpus=1),), slo_s=5.0)
    records = run(system, 1000, warmup=100)
    found, reason = judge(records)
    assert (found, bool(reason)) == (state, state != "stable")
    assert all(c.ok for c in run_checks(system, records))
    in_flight = int(np.isnan(records.calls.completion_s[records.calls.measured]).sum())
    assert (in_flight > 0) == (state == "overloaded")
    assert summarise(system, [records]).in_flight == in_flight


def _equal(a: ServerlessRecords, b: ServerlessRecords) -> bool:
    pairs = [(a.calls, b.calls), (a.batches, b.batches), (a.sums, b.sums)]
    return all(
        np.array_equal(getattr(x, f.name), getattr(y, f.name), equal_nan=True)
        for x, y in pairs
        for f in fields(x)
    )


def test_processes_do_not_change_results() -> None:
    system = one_application([function("a", 0.5), function("b", 0.2)], [(0, 1)], rate=2.0, noise=0.3)
    chosen = [(get_policy("fixed"), {}), (get_policy("esg"), {})]
    options, told_of = RunOptions(calls=60, warmup=5, replication=3), list[ServerlessProgress]()
    here = run_policies(system, chosen, options, 2)
    there = run_policies(system, chosen, options, 2, 2, told_of.append)
    assert list(here) == list(there) == ["fixed", "esg"]
    assert [r.replication for r in here["esg"]] == [3, 4]
    assert all(_equal(a, b) for name in here for a, b in zip(here[name], there[name], strict=True))
    assert np.array_equal(here["fixed"][0].calls.arrival_s, here["esg"][0].calls.arrival_s)
    fractions = [p.fraction for p in told_of]
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(1.0)
    ended = {(p.policy, p.replication) for p in told_of if p.run_fraction == 1.0}
    assert ended == {(name, r) for name in here for r in (3, 4)}


def test_replications_refuse_what_cannot_be_and_can_be_cancelled() -> None:
    system = one_application([function("a", 0.5)])

    def enough(progress: ServerlessProgress) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        run_policies(system, [(SMALLEST, {})], RunOptions(calls=50), 1, 1, enough)
    for arguments, why in (
        (([], RunOptions(), 1, 1), "no policy"),
        (([(SMALLEST, {})] * 2, RunOptions(), 1, 1), "twice"),
        (([(SMALLEST, {})], RunOptions(), 0, 1), "replications=0"),
    ):
        with pytest.raises(SimulationError, match=why):
            run_policies(system, *arguments)
    for wrong in ({"calls": 0}, {"warmup": -1}, {"snapshot_s": 0.0}):
        with pytest.raises(SimulationError, match="must be"):
            RunOptions(**wrong)
