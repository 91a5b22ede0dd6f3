"""The engine against queueing theory, and against recursions that need no events."""

from __future__ import annotations

from heapq import heapify, heapreplace

import numpy as np
import pytest
from engine_cases import function, latencies, measured_latency, one_application, run
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.gpu_sharing.pool import Invoker
from nona.scenario.serverless import SharingSpec
from nona.serverless.engine.queues import AfwQueue
from nona.serverless.system import ServerlessSystem, calls, noise_factors
from nona.simulation.intervals import mean_interval
from nona.system import Arrivals


def servers(count: int, rate: float, noise: float = 0.0, **others: object) -> ServerlessSystem:
    """``count`` invokers that run one job at a time, of 1 s on average."""
    return one_application(
        [function("a", 0.75, 0.25)],
        rate=rate,
        noise=noise,
        invokers=tuple(Invoker(vcpus=1) for _ in range(count)),
        **others,
    )


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_wait_for_one_server_is_that_of_pollaczek_and_khinchine(noise: float) -> None:
    """Wq = λ·E[S²] / (2·(1 − ρ)); M/D/1 without noise. Source: Kleinrock, Queueing Systems I, 1975, 5.6."""
    rate = 0.6
    found = [
        measured_latency(run(servers(1, rate, noise), 3000, warmup=300, replication=r)) for r in range(6)
    ]
    expected = 1 + rate * (1 + noise**2) / (2 * (1 - rate))
    assert mean_interval(found, 0.99).covers(expected)


@given(
    count=st.integers(1, 4),
    load=st.floats(0.3, 1.5),
    noise=st.sampled_from([0.0, 0.4]),
    process=st.sampled_from([Arrivals(), Arrivals("gamma", cv=3.0), Arrivals("deterministic")]),
)
@examples(25)
def test_many_servers_start_calls_in_turn_as_they_become_free(
    count: int, load: float, noise: float, process: Arrivals
) -> None:
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


def test_turns_on_one_gpu_are_processor_sharing() -> None:
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
    factors = noise_factors(system, np.zeros(20000, dtype=np.int64))[:, 0]
    mean = float(factors.mean())  # a little above 1: factors are at least 0.1
    assert mean_interval(found, 0.99).covers(mean / (1 - rate * mean))


def test_what_is_held_is_the_offered_load() -> None:
    """Utilisation law: mean vCPUs held = rate · E[S], where nobody waits for resources."""
    system = servers(1, 5.0, 0.2)
    system = one_application(system.functions, rate=5.0, noise=0.2)
    shares = [run(system, 3000, warmup=200, replication=r).sums for r in range(5)]
    found = mean_interval([s.vcpu_area / (s.end_s - s.start_s) for s in shares], 0.99)
    assert found.covers(5.0)
    assert found.relative < 0.1


def test_the_first_calls_of_many_are_the_calls_of_few() -> None:
    system = one_application([function("a", 1.0)], rate=3.0)
    many, few = calls(system, 5000, 1), calls(system, 10, 1)
    assert np.array_equal(many[0][:10], few[0])
    assert np.diff(many[0]).min() > 0
    assert not np.array_equal(calls(system, 10, 0)[0], few[0])
    noisy = servers(1, 1.0, 0.2)
    assert np.array_equal(noise_factors(noisy, many[1])[:10], noise_factors(noisy, few[1]))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.integers(1, 3)), max_size=40))
@examples(200)
def test_an_afw_queue_is_a_sorted_list(steps: list[tuple[bool, int, int]]) -> None:
    """Order by (time, call), the oldest call, and ∫ jobs dt in a window from 3 to 9, second by second."""
    queue, model, now, area = AfwQueue(3.0, 9.0), [], 0, 0.0
    numbers = iter([7, 3, 9, 1, 5, 12, 2, 8, 11, 4, 10, 6, *range(13, 60)])
    for joins, passed, count in steps:
        for second in range(now, now + passed):
            area += len(model) if 3 <= second < 9 else 0
        now += passed
        if joins:
            call = next(numbers)
            queue.push(call, float(now))
            model = sorted([*model, (now, call)])
        elif model:
            count = min(count, len(model))
            taken, joined_s = queue.take(count, float(now))
            assert taken == [c for _, c in model[:count]]
            assert joined_s == model[0][0]
            model = model[count:]
        assert list(queue.calls) == [c for _, c in model]
        assert not model or queue.oldest == min(c for _, c in model)
    queue.account(float(now))
    assert queue.area == area


def test_latencies_of_a_run_do_not_depend_on_when_it_is_run() -> None:
    system = servers(2, 1.6, 0.3)
    assert latencies(run(system, 500)) == latencies(run(system, 500))
