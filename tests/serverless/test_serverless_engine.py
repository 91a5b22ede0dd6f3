"""The serverless engine: a call's parts, queueing theory, summaries, checks that can fail, replications."""

from dataclasses import replace
from heapq import heapify, heapreplace
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serverless_cases import (
    SMALLEST,
    assert_equal,
    function,
    interpreted,
    latencies,
    measured_latency,
    one_application,
    run,
    told,
    trace,
)
from sizes import examples

from nona.cluster.sharing.pool import BatchConfiguration, Invoker
from nona.core.errors import SimulationError
from nona.core.statistics import mean_interval
from nona.queries.simulation.run import Cancelled
from nona.scenario.arrivals import Arrivals
from nona.scenario.serverless import ContainersSpec, ServerlessPricesSpec, SharingSpec, TransferSpec
from nona.serverless.checks import checks_of, run_checks
from nona.serverless.engine.containers import give_back_container, take_container
from nona.serverless.engine.options import PlatformRunOptions, ServerlessProgress
from nona.serverless.engine.queues import account_queue, join, leave
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.functions import Function, TableTimes, grid
from nona.serverless.metrics import judge, summarise
from nona.serverless.policies.base import BatchPlan
from nona.serverless.policies.registry import get_policy
from nona.serverless.replications import run_policies
from nona.serverless.system import calls, noise_factors

TRANSFER = TransferSpec(local_latency=0.5, local_bandwidth=10.0, remote_latency=2.0, remote_bandwidth=1.0)


def test_a_call_alone_takes_the_sum_of_its_parts():
    functions = [function("a", 0.25, 0.125), function("b", 1.0, 0.5)]
    of = {"input_bytes": (3.0, 5.0), "transfer": TRANSFER, "arrivals": trace(0.0, 50.0, 100.0)}
    records = run(one_application(functions, [(0, 1)], **of), 3)
    entry = 2.0 + 3.0 + 0.25 + 0.125
    inner = 0.5 + 5.0 / 10 + 1.0 + 0.5
    assert latencies(records) == pytest.approx([entry + inner] * 3, abs=1e-12)
    assert records.batches.local.tolist() == [0, 1] * 3


def test_progress_is_told_two_hundred_times():
    system = one_application([function("a", 0.1)])
    seen = []
    simulate_serverless(system, SMALLEST, {}, PlatformRunOptions(calls=1000, warmup=0), seen.append)
    assert 200 <= len(seen) <= 210
    assert [p.fraction for p in seen[:200]] == pytest.approx([k / 200 for k in range(1, 201)])
    last = seen[199].snapshot
    assert last.completed + sum(last.queues) + (48 - last.free_vcpus[0]) == 1000


def test_snapshots_show_what_is_so_at_their_time():
    of = {"arrivals": trace(0.0, 1.0, 7.0, 20.0), "invokers": (Invoker(vcpus=1),)}
    records = run(one_application([function("a", 4.0)], **of), 3, snapshot_s=3.0)
    # Runs 0–4, 4–8, 8–12.
    seen = [(s.time_s, s.queues[0], s.free_vcpus[0], s.completed) for s in records.snapshots]
    assert seen == [(3.0, 1, 0, 0), (6.0, 0, 0, 1), (9.0, 0, 0, 2)]


def test_a_choice_that_a_function_has_no_time_for_is_refused():
    table = Function("t", TableTimes({BatchConfiguration(1, 1, 1): 3.0}))
    system = one_application([table], arrivals=trace(0.0, 50.0), space=grid([1], [1, 2], [1]))
    assert latencies(run(system, 1)) == [3.0]
    with pytest.raises(SimulationError, match=r"1 job, 2 vCPUs, 1 vGPU for function 't'.* no time"):
        run(system, 1, told(lambda ask: BatchPlan((1,))))


def test_expiries_are_looked_for_with_one_event_at_a_time():
    spec = ContainersSpec(warm=0, prewarm="none", keep_alive=100.0)
    state = interpreted(one_application([function("a", 1.0)], containers=spec))
    for now in range(0, 60, 2):
        state.clock.now_s = now
        cold, life = take_container(state, 0, 0, 0)
        state.clock.now_s = now + 1
        give_back_container(state, life)
        assert cold == (now == 0)
    assert state.clock.coming == 2, "the first call and one look"


def servers(count, rate, noise=0.0, **others):
    """``count`` invokers that run one job at a time, of 1 s on average."""
    return one_application(
        [function("a", 0.75, 0.25)],
        rate=rate,
        noise=noise,
        invokers=tuple(Invoker(vcpus=1) for _ in range(count)),
        **others,
    )


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_wait_for_one_server_is_that_of_pollaczek_and_khinchine(noise):
    """Wq = λ·E[S²] / (2·(1 − ρ)); M/D/1 without noise. Source: Kleinrock, Queueing Systems I, 1975, 5.6."""
    rate = 0.6
    system = servers(1, rate, noise)
    found = [measured_latency(run(system, 3000, warmup=300, replication=r)) for r in range(6)]
    expected = 1 + rate * (1 + noise**2) / (2 * (1 - rate))
    assert mean_interval(found, 0.99).covers(expected)


@given(
    count=st.integers(1, 4),
    load=st.floats(0.3, 1.5),
    noise=st.sampled_from([0.0, 0.4]),
    process=st.sampled_from([Arrivals(), Arrivals("gamma", cv=3.0), Arrivals("deterministic")]),
)
@examples(25)
def test_many_servers_start_calls_in_turn_as_they_become_free(count, load, noise, process):
    """Kiefer and Wolfowitz (1955): every call starts when it has come and the first server is free."""
    system = servers(count, load * count, noise, arrivals=process)
    records = run(system, 150)
    arrival_s, application = calls(system, 150)
    free_s = [0.0] * count
    heapify(free_s)
    for call, factor in enumerate(noise_factors(system, application)[:, 0].tolist()):
        end_s = max(float(arrival_s[call]), free_s[0]) + factor
        heapreplace(free_s, end_s)
        completion_s = float(records.calls.completion_s[call])
        assert np.isnan(completion_s) or completion_s == pytest.approx(end_s, abs=1e-9)
    done = records.calls.completion_s[:150]
    assert np.isnan(done).sum() == 0 or end_s > records.stopped_s


def test_turns_on_one_gpu_are_processor_sharing():
    """M/G/1-PS: the mean time is E[S]/(1 − ρ) whatever the services. Source: Kleinrock II, 1976, 4.4."""
    rate = 0.6
    system = one_application(
        [function("a", 1.0)],
        rate=rate,
        noise=0.5,
        invokers=(Invoker(vcpus=400),),
        sharing=SharingSpec(mode="time-slicing", oversubscription=48),
    )
    found = [measured_latency(run(system, 2500, warmup=300, replication=r)) for r in range(6)]
    mean = float(
        noise_factors(system, np.zeros(20000, dtype=np.int64))[:, 0].mean()
    )  # a little above 1: factors are at least 0.1
    assert mean_interval(found, 0.99).covers(mean / (1 - rate * mean))


def test_the_first_calls_of_many_are_the_calls_of_few():
    system = one_application([function("a", 1.0)], rate=3.0)
    many, few = calls(system, 5000, 1), calls(system, 10, 1)
    assert np.array_equal(many[0][:10], few[0])
    assert np.diff(many[0]).min() > 0
    assert not np.array_equal(calls(system, 10, 0)[0], few[0])
    noisy = servers(1, 1.0, 0.2)
    assert np.array_equal(noise_factors(noisy, many[1])[:10], noise_factors(noisy, few[1]))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.integers(1, 3)), max_size=40))
@examples(200)
def test_an_afw_queue_is_a_sorted_list(steps):
    """Order by (time, call), the oldest call, and ∫ jobs dt in a window from 3 to 9, second by second."""
    state = interpreted(one_application([function("a", 1.0)]))
    clock, queue, model, area = state.clock, state.queues[0], [], 0.0
    clock.start_s, clock.end_s, now = 3.0, 9.0, 0
    numbers = iter([7, 3, 9, 1, 5, 12, 2, 8, 11, 4, 10, 6, *range(13, 60)])
    for joins, passed, count in steps:
        for second in range(now, now + passed):
            area += len(model) if 3 <= second < 9 else 0
        now += passed
        clock.now_s = now
        if joins:
            call = next(numbers)
            join(state, 0, call)
            model = sorted([*model, (now, call)])
        elif model:
            count = min(count, len(model))
            assert state.joined_s[queue.head] == model[0][0]
            leave(state, 0, count)
            model = model[count:]
        at = queue.head
        for _, call in model:
            assert at == call
            at = state.next[at]
        assert queue.length == len(model)
        assert not model or queue.least_head == min(c for _, c in model)
    account_queue(state, 0)
    assert queue.area == area


@pytest.fixture(scope="module")
def busy():
    system = one_application(
        [function("a", 0.5), function("b", 0.5)],
        [(0, 1)],
        rate=3.0,
        noise=0.2,
        space=grid([1, 2], [1], [1, 2]),
        invokers=(Invoker(vcpus=2), Invoker(vcpus=2)),
    )
    return system, run(system, 600, told(lambda ask: BatchPlan((1, 0))), warmup=50)


def _batches(records, column, change):
    values = getattr(records.batches, column).copy()
    return replace(records, batches=replace(records.batches, **{column: change(values)}))


SPOILT = {
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
def test_checks_hold_and_each_can_fail(name, busy):
    system, records = busy
    assert [c.name for c in run_checks(system, records)] == list(SPOILT)
    assert all(c.ok for c in run_checks(system, records))
    spoilt = SPOILT[name](records)
    assert name in [c.name for c in run_checks(system, spoilt) if not c.ok]
    assert not {c.name: c.ok for c in checks_of(system, [records, spoilt])}[name]


def test_a_summary_of_calls_that_can_be_reckoned():
    """Calls at 0, 1, 10 of 2 s each on one server: latencies 2, 3, 2; the SLO is 2.5 s."""
    system = one_application(
        [function("a", 2.0)],
        arrivals=trace(0.0, 1.0, 10.0),
        slo_s=2.5,
        invokers=(Invoker(vcpus=1),),
        prices=ServerlessPricesSpec(vcpu_hour=3600.0, vgpu_hour=7200.0),
    )
    summary = summarise(system, [run(system, 3)])
    assert summary.slo_hit_rate.mean == pytest.approx(2 / 3)
    assert summary.cost_per_call_usd.mean == pytest.approx(2 * 3.0)
    assert summary.cost_per_hit_usd.mean == pytest.approx(9.0)
    assert summary.latency_s.mean == pytest.approx(7 / 3)
    assert summary.latency_s.p50 == pytest.approx(2.0)
    assert summary.utilization.vcpu == pytest.approx(0.4)  # busy 0–4 of the window 0–10
    assert summary.utilization.vgpu == pytest.approx(0.4 / 7)
    assert summary.rechecks == pytest.approx(1 / 3)
    assert (summary.calls.arrived, summary.calls.completed, summary.calls.in_flight) == (3, 3, 0)
    assert summary.configuration_miss_rate is None
    assert summary.locality is None
    (only,) = summary.applications.values()
    whole = (summary.slo_hit_rate.mean, summary.cost_per_call_usd.mean)
    assert (only.slo_hit_rate, only.cost_per_call_usd) == whole


def test_a_plan_that_does_not_fit_is_missed_once():
    """Each call carries a plan of two vCPUs for its second stage, on invokers that have one."""
    policy = told(lambda ask: BatchPlan((1, 0)) if ask.carried else BatchPlan((0,), memory=(0, 1)))
    functions, space = [function("a", 1.0), function("b", 1.0)], grid([1], [1, 2], [1])
    invokers = (Invoker(vcpus=1),) * 2
    system = one_application(functions, [(0, 1)], space=space, rate=0.2, invokers=invokers)
    records = run(system, 100, policy)
    assert records.batches.missed.tolist() == (records.batches.stage == 1).tolist()
    assert summarise(system, [records]).configuration_miss_rate.mean == 1.0


def test_part_of_a_nightly_batch_is_no_overload():
    night = Arrivals("trace", times_s=tuple(map(float, range(2000))), scale_to_rate=False, period_s=86_400.0)
    of = {"invokers": (Invoker(vcpus=1),), "slo_s": 5.0, "arrivals": night}
    system = one_application([function("a", 1.5)], rate=1.0, **of)
    state, reason = judge(system, run(system, 1000, warmup=100))
    assert (state, "% of the cycle of 86,400 s was run" in reason) == ("backlogged", True)


@pytest.mark.parametrize(("rate", "state"), [(0.5, "stable"), (3.0, "overloaded")])
def test_an_overload_is_told_from_a_steady_state(rate, state):
    system = one_application([function("a", 1.0)], rate=rate, invokers=(Invoker(vcpus=1),), slo_s=5.0)
    records = run(system, 1000, warmup=100)
    found, reason = judge(system, records)
    assert (found, bool(reason)) == (state, state != "stable")
    assert all(c.ok for c in run_checks(system, records))
    in_flight = int(np.isnan(records.calls.completion_s[records.calls.measured]).sum())
    assert (in_flight > 0) == (state == "overloaded")
    assert summarise(system, [records]).calls.in_flight == in_flight


@pytest.mark.verify
def test_processes_do_not_change_results():
    system = one_application([function("a", 0.5), function("b", 0.2)], [(0, 1)], rate=2.0, noise=0.3)
    chosen = [(get_policy("fixed"), {}), (get_policy("esg"), {})]
    options, told_of = PlatformRunOptions(calls=60, warmup=5, replication=3), list[ServerlessProgress]()
    here = run_policies(system, chosen, options, 2)
    there = run_policies(system, chosen, options, 2, 2, told_of.append)
    assert list(here) == list(there) == ["fixed", "esg"]
    assert [r.replication for r in here["esg"]] == [3, 4]
    for name in here:
        for a, b in zip(here[name], there[name], strict=True):
            assert_equal(a, b)
    assert np.array_equal(here["fixed"][0].calls.arrival_s, here["esg"][0].calls.arrival_s)
    fractions = [p.fraction for p in told_of]
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(1.0)
    ended = {(p.policy, p.replication) for p in told_of if p.run_fraction == 1.0}
    assert ended == {(name, r) for name in here for r in (3, 4)}


def test_replications_refuse_what_cannot_be_and_can_be_cancelled():
    system = one_application([function("a", 0.5)])

    with pytest.raises(Cancelled):
        run_policies(
            system, [(SMALLEST, {})], PlatformRunOptions(calls=50), 1, 1, Mock(side_effect=Cancelled)
        )
    for arguments, why in (
        (([], PlatformRunOptions(), 1, 1), "no policy"),
        (([(SMALLEST, {})] * 2, PlatformRunOptions(), 1, 1), "twice"),
        (([(SMALLEST, {})], PlatformRunOptions(), 0, 1), "replications=0"),
    ):
        with pytest.raises(SimulationError, match=why):
            run_policies(system, *arguments)
    for wrong in ({"calls": 0}, {"warmup": -1}, {"snapshot_s": 0.0}):
        with pytest.raises(SimulationError, match="must be"):
            PlatformRunOptions(**wrong)
