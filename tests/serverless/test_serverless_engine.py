"""Runs so small that every instant is known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from engine_cases import SMALLEST, function, latencies, one_application, run, told, trace

from nona.errors import SimulationError
from nona.gpu_sharing.pool import Configuration, Invoker
from nona.gpu_sharing.registry import WAYS
from nona.graph.dag import Dag
from nona.hardware.mig import parse_layout
from nona.scenario.serverless import ContainersSpec, DispatchSpec, SharingSpec, TransferSpec
from nona.serverless.checks import run_checks
from nona.serverless.engine.options import RunOptions, ServerlessProgress
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.functions import Function, TableTimes, grid
from nona.serverless.policies.base import Ask, Plan
from nona.serverless.system import Application
from nona.simulation.run import Cancelled

TRANSFER = TransferSpec(local_latency=0.5, local_bandwidth=10.0, remote_latency=2.0, remote_bandwidth=1.0)


def test_a_call_alone_takes_the_sum_of_its_parts() -> None:
    functions = [function("a", 0.25, 0.125), function("b", 1.0, 0.5)]
    system = one_application(
        functions, [(0, 1)], input_bytes=(3.0, 5.0), transfer=TRANSFER, arrivals=trace(0.0, 50.0, 100.0)
    )
    records = run(system, 3)
    entry = 2.0 + 3.0 + 0.25 + 0.125
    inner = 0.5 + 5.0 / 10 + 1.0 + 0.5
    assert latencies(records) == pytest.approx([entry + inner] * 3, abs=1e-12)
    assert records.batches.local.tolist() == [0, 1] * 3


def test_a_stage_waits_for_its_last_predecessor_and_fetches_from_both() -> None:
    functions = [function(name, s) for name, s in zip("abcd", (1.0, 2.0, 4.0, 1.0), strict=True)]
    system = one_application(
        functions,
        [(0, 1), (0, 2), (1, 3), (2, 3)],
        input_bytes=(0.0, 0.0, 0.0, 8.0),
        transfer=TRANSFER,
        arrivals=trace(0.0, 100.0),
        invokers=(Invoker(vcpus=1), Invoker(vcpus=1)),
        dispatch=DispatchSpec(first=("walk",), later=("predecessor", "walk")),
    )
    records = run(system, 1)
    of = records.batches
    last = of.invoker[of.stage == 3][0]
    assert of.invoker[of.stage == 2][0] == last != of.invoker[of.stage == 1][0]
    # 4 of the 8 bytes come from either invoker, at once: 0.5 + 4/10 and 2 + 4.
    assert latencies(records) == pytest.approx([1.0 + 4.0 + 6.0 + 1.0])
    assert of.local[of.stage == 3].tolist() == [0]


def test_cold_starts_and_keep_alive() -> None:
    system = one_application(
        [function("a", 1.0, cold_s=5.0)],
        arrivals=trace(0.0, 10.0, 16.0, 40.0),
        containers=ContainersSpec(warm=0, prewarm="none", keep_alive=10.0),
    )
    # Ends at 6 (cold), 11, 17; the container goes at 27.
    records = run(system, 4)
    assert latencies(records) == pytest.approx([6.0, 1.0, 1.0, 6.0])
    assert records.batches.cold.tolist() == [True, False, False, True]
    assert records.sums.cold_starts == 2


def test_a_spare_container_spares_the_second_call_its_cold_start() -> None:
    system = one_application(
        [function("a", 10.0, cold_s=2.0)],
        arrivals=trace(0.0, 3.0, 6.0),
        containers=ContainersSpec(warm=1, prewarm="spare", spare=1, keep_alive=1e3),
    )
    records = run(system, 3)
    assert latencies(records) == pytest.approx([10.0, 10.0, 10.0])
    assert records.sums.prewarms == 3
    assert records.sums.cold_starts == 0


def test_a_batch_waits_for_its_jobs_or_for_its_time() -> None:
    def pair(ask: Ask) -> Plan:
        if ask.length >= 2:
            return Plan((1,))
        return Plan((0,)) if ask.waited_s >= 3.0 else Plan((), wait_s=3.0 - ask.waited_s, wait_for=2)

    system = one_application(
        [function("a", 1.0)], arrivals=trace(0.0, 2.0, 10.0, 20.0), space=grid([1, 2], [1], [1])
    )
    records = run(system, 3, told(pair))  # one GPU second a job
    assert latencies(records) == pytest.approx([4.0, 2.0, 4.0])
    assert records.batches.jobs.tolist() == [2, 1]


@pytest.mark.parametrize(("blocking", "second"), [(False, 3.0), (True, 5.0)])
def test_searches_take_time_of_the_queue_or_of_the_controller(blocking: bool, second: float) -> None:
    apps = tuple(
        Application(name, ("s",), (0,), Dag.from_edges(1, ()), (0.0,), 100.0, 1.0, trace(0.0, 50.0))
        for name in ("x", "y")
    )
    system = one_application([function("a", 1.0)], dispatch=DispatchSpec(blocking=blocking))
    records = run(replace(system, applications=apps), 2, told(lambda ask: Plan((0,), search_s=2.0, steps=7)))
    assert latencies(records) == pytest.approx([3.0, second])
    assert records.batches.steps.tolist()[:2] == [7, 7]
    assert (records.batches.dispatched_s - records.batches.decided_s)[:2].tolist() == [2.0, 2.0]


def test_what_finds_no_room_is_tried_at_every_release_and_forced_in_the_end() -> None:
    """Four calls hold a vCPU each for 10 s; the fifth is to have five, which nobody has."""
    answers = iter([0, 0, 0, 0, *[1] * 50])
    system = one_application(
        [function("a", 10.0)],
        arrivals=trace(0.0, 1.0, 2.0, 3.0, 3.5),
        space=grid([1], [1, 5], [1]),
        invokers=(Invoker(vcpus=4),),
        dispatch=DispatchSpec(rechecks=2),
    )
    # No room on arrival, nor at 10; at 11 the smallest is forced.
    records = run(system, 5, told(lambda ask: Plan((next(answers),))))
    assert latencies(records) == pytest.approx([10.0] * 4 + [11.0 - 3.5 + 10.0])
    assert records.batches.forced.tolist() == [False] * 4 + [True]
    assert records.sums.rechecks == 1  # the window ends with the last arrival


def test_batches_that_take_turns_share_the_gpu() -> None:
    """Processor sharing: of 4 s each, one from 0, one from 1: 1 s alone, 6 s at half speed, 1 s alone."""
    system = one_application(
        [function("a", 4.0, 0.5)],
        arrivals=trace(0.0, 1.0, 100.0),
        sharing=SharingSpec(mode="time-slicing"),
        invokers=(Invoker(),),
    )
    records = run(system, 2)
    assert latencies(records) == pytest.approx([0.5 + 7.0, 0.5 + 7.0])


@pytest.mark.parametrize("mode", WAYS)
def test_every_way_of_sharing_keeps_its_books(mode: str) -> None:
    layout = parse_layout("3g.20gb, 2g.10gb, 1g.5gb, 1g.5gb", "a100-40gb")
    system = one_application(
        [function("a", 0.2, 0.1), function("b", 0.3)],
        [(0, 1)],
        rate=6.0,
        space=grid([1, 2], [1, 2], [1, 2, 3]),
        invokers=(Invoker(vcpus=6, layout=layout), Invoker(vcpus=6, layout=layout)),
        sharing=SharingSpec(mode=mode, reconfiguration=0.05),
        noise=0.3,
    )
    size = len(system.space)
    policy = told(lambda ask: Plan(tuple((5 * ask.length + ask.stage + k) % size for k in range(4))))
    records = run(system, 400, policy, stories=5)
    assert [c for c in run_checks(system, records) if not c.ok] == []
    assert len(records.stories) == 5
    assert len(set(records.batches.configuration.tolist())) > 3


def test_stories_say_who_refused_and_why() -> None:
    system = one_application(
        [function("a", 10.0)],
        arrivals=trace(0.0, 1.0, 50.0),
        invokers=(Invoker(vcpus=1), Invoker(vcpus=2)),
        dispatch=DispatchSpec(first=("home", "walk")),
    )
    records = run(system, 2, stories=2)
    first, second = records.stories
    assert (first.batch, first.rule, first.refusals) == (0, "home", ())
    home = int(records.batches.invoker[0])
    refused = [(r.invoker, r.rule) for r in second.refusals]
    assert refused == ([(home, "home")] if home == 0 else [])
    assert all("vCPUs" in r.why for r in second.refusals)


def test_progress_is_told_two_hundred_times_and_can_end_a_run() -> None:
    system = one_application([function("a", 0.1)])
    seen: list[ServerlessProgress] = []
    simulate_serverless(system, SMALLEST, {}, RunOptions(calls=1000, warmup=0), seen.append)
    assert 200 <= len(seen) <= 210
    assert [p.fraction for p in seen[:200]] == pytest.approx([k / 200 for k in range(1, 201)])
    last = seen[199].snapshot
    assert last is not None
    assert last.completed + sum(last.queues) + (48 - last.free_vcpus[0]) == 1000

    def enough(progress: ServerlessProgress) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        simulate_serverless(system, SMALLEST, {}, RunOptions(calls=1000), enough)


def test_snapshots_show_what_is_so_at_their_time() -> None:
    system = one_application(
        [function("a", 4.0)], arrivals=trace(0.0, 1.0, 7.0, 20.0), invokers=(Invoker(vcpus=1),)
    )
    records = run(system, 3, snapshot_s=3.0)
    # Runs 0–4, 4–8, 8–12.
    seen = [(s.time_s, s.queues[0], s.free_vcpus[0], s.completed) for s in records.snapshots]
    assert seen == [(3.0, 1, 0, 0), (6.0, 0, 0, 1), (9.0, 0, 0, 2)]


def test_a_choice_that_a_function_has_no_time_for_is_refused() -> None:
    table = Function("t", TableTimes({Configuration(1, 1, 1): 3.0}))
    system = one_application([table], arrivals=trace(0.0, 50.0), space=grid([1], [1, 2], [1]))
    assert latencies(run(system, 1)) == [3.0]
    with pytest.raises(SimulationError, match=r"1 job, 2 vCPUs, 1 vGPU for function 't'.* no time"):
        run(system, 1, told(lambda ask: Plan((1,))))
