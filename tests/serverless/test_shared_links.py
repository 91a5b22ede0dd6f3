"""Transfers that share links: against queueing theory, a recursion without events, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from engine_cases import function, one_application, run, trace

from nona.errors import ScenarioError
from nona.gpu_sharing.pool import Invoker
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.scenario.serverless import ContainersSpec, DispatchSpec
from nona.serverless.checks import run_checks
from nona.serverless.records import ServerlessRecords
from nona.serverless.system import ServerlessSystem, SharedNetwork
from nona.simulation.intervals import mean_interval
from nona.sources.samples import scenario_path
from nona.study.serverless.knees import over_number
from nona.study.serverless.run import report_of, simulate_serverless_scenario
from nona.system import Stream
from nona.topology import make_topology

SIZE, CAPACITY, LATENCY_S = 1e6, 1e7, 0.02  # 0.1 s a message


def one_link(rate: float, background: Stream = Stream(), **others: object) -> ServerlessSystem:  # noqa: B008
    """Calls that fetch one message each and then compute for a millisecond; nothing else is scarce."""
    return one_application(
        [function("a", 0.001)],
        rate=rate,
        input_bytes=[SIZE],
        network=SharedNetwork(make_topology(1, CAPACITY), LATENCY_S, background),
        **others,
    )


def mean_wait(records: ServerlessRecords) -> float:
    of = records.batches
    inside = of.dispatched_s >= records.sums.start_s
    return float((of.transfer_s - SIZE / CAPACITY - LATENCY_S)[inside].mean())


@pytest.mark.parametrize("rate", [3.0, 7.0])
def test_equal_transfers_wait_as_in_m_d_1(rate: float) -> None:
    """Wq = λ·S² / (2·(1 − ρ)). Source: Kleinrock, Queueing Systems I, 1975, 5.6."""
    waits = [mean_wait(run(one_link(rate), 3000, warmup=300, replication=r)) for r in range(8)]
    service_s = SIZE / CAPACITY
    expected = rate * service_s**2 / (2 * (1 - rate * service_s))
    found = mean_interval(waits, 0.99)
    assert found.covers(expected)
    assert found.relative < 0.2


def test_background_takes_its_part_of_the_link() -> None:
    """M/G/1: Wq = Σ λ·E[S²] / (2·(1 − ρ)) over transfers and background, of exponential sizes."""
    background = Stream(rate=2.0, mean=1.5e6, scv=1.0)
    waits = [mean_wait(run(one_link(3.0, background), 3000, warmup=300, replication=r)) for r in range(8)]
    own_s, other_s = SIZE / CAPACITY, background.mean / CAPACITY
    moment = 3.0 * own_s**2 + background.rate * 2 * other_s**2
    expected = moment / (2 * (1 - 3.0 * own_s - background.rate * other_s))
    found = mean_interval(waits, 0.99)
    assert found.covers(expected)
    assert found.relative < 0.2


def test_the_link_does_the_work_that_is_asked_of_it() -> None:
    """Lindley (1952): each transfer begins when it is asked for and the one before has been served."""
    records = run(one_link(9.0), 400)
    of, free_s = records.batches, 0.0
    for asked_s, transfer_s in zip(of.dispatched_s, of.transfer_s, strict=True):
        free_s = max(free_s, asked_s) + SIZE / CAPACITY
        assert asked_s + transfer_s == pytest.approx(free_s + LATENCY_S, abs=1e-9)
    used = records.transfers
    assert used is not None
    until_s = min(free_s, records.stopped_s)
    undone_s = free_s - until_s
    assert used.work_s[0] == pytest.approx(len(of.jobs) * SIZE / CAPACITY - undone_s)
    assert used.busy_s[0] == pytest.approx(used.work_s[0])
    assert all(check.ok for check in run_checks(one_link(9.0), records))


def test_inputs_are_asked_for_after_the_cold_start() -> None:
    """Both stages of a call start cold and ask 5 s after it came; one of them waits for the other."""
    system = one_application(
        [function("a", 0.001, cold_s=5.0), function("b", 0.001, cold_s=5.0)],
        input_bytes=[SIZE, SIZE],
        arrivals=trace(0.0, 5.05),
        containers=ContainersSpec(warm=0, prewarm="none"),
        network=SharedNetwork(make_topology(1, CAPACITY), 0.0),
    )
    records = run(system, 2)
    assert sorted(records.batches.transfer_s.tolist()) == pytest.approx([0.1, 0.1, 0.2, 0.2])
    assert sorted(records.batches.started_s.tolist()) == pytest.approx([5.1, 5.2, 10.15, 10.25])


@pytest.mark.parametrize(("nodes", "waits"), [(1, 0.1), (2, 0.0)])
def test_cards_are_waited_for_by_those_who_cross_them(nodes: int, waits: float) -> None:
    """Two calls at once, with cards a tenth of the core: on one node one waits, on two neither does."""
    system = one_application(
        [function("a", 0.001)],
        input_bytes=[SIZE],
        arrivals=trace(0.0, 1e-9),
        invokers=tuple(Invoker(vcpus=4) for _ in range(nodes)),
        dispatch=DispatchSpec(first=("most-free",)),
        network=SharedNetwork(make_topology(nodes, 1e12, nic=CAPACITY), 0.0),
    )
    records = run(system, 2)
    assert records.batches.transfer_s.max() == pytest.approx(0.1 + waits, abs=1e-5)


def test_a_later_stage_waits_only_for_what_is_elsewhere() -> None:
    """Its input lies on its own node: it does not cross the link, and the message of the other call does."""
    system = one_application(
        [function("a", 0.5), function("b", 0.001)],
        [(0, 1)],
        input_bytes=[0.0, SIZE],
        arrivals=trace(0.0, 0.0001),
        network=SharedNetwork(make_topology(1, CAPACITY), LATENCY_S),
    )
    records = run(system, 2)
    later = records.batches.stage == 1
    assert records.batches.transfer_s[later].tolist() == pytest.approx([SIZE / 10e9] * 2)
    assert records.transfers is not None
    assert records.transfers.work_s.tolist() == [0.0]


def _scenario(**network: object) -> dict[str, object]:
    data = scenario_to_mapping(load_scenario(scenario_path("strict_light")))
    data["serverless"]["transfer"] = {"remote": "network"}
    data["cluster"]["network"] = network
    return data


def test_a_scenario_says_so_and_the_result_tells_the_waits() -> None:
    slow = scenario_from_mapping(_scenario(capacity="0.5 Gbit/s"))
    report = report_of(
        simulate_serverless_scenario(slow, policies=["esg", "fixed"], calls=300, replications=2)
    )
    assert all(report.checks.values())
    for outcome in report.policies.values():
        used = outcome.transfers
        assert used is not None
        assert used.busiest_link == "core"
        assert used.wait_s.mean is not None
        assert used.mean_s.mean is not None
        assert 0 < used.wait_s.mean < used.mean_s.mean
        assert used.core_utilization is not None
        assert 0 < used.core_utilization < 1


def test_what_is_carried_is_the_work_of_the_core() -> None:
    """Utilisation law: the core's utilisation is bytes fetched over it / capacity / time."""
    scenario = scenario_from_mapping(_scenario(capacity="1 Gbit/s"))
    result = simulate_serverless_scenario(scenario, policies=["fixed"], calls=300, replications=1)
    (records,) = result.records["fixed"]
    system, of = result.system, records.batches
    calls, asked = records.calls, np.zeros(len(of.jobs))
    for app, batches in zip(calls.application.tolist(), calls.batch.tolist(), strict=True):
        dag, size = system.applications[app].dag, system.applications[app].input_bytes
        for stage, batch in enumerate(batches):
            if batch < 0 or stage >= len(size):
                continue
            before = dag.predecessors[stage]
            far = [of.invoker[batches[p]] != of.invoker[batch] for p in before]
            asked[batch] += size[stage] * (sum(far) / len(before) if before else 1)
    assert records.transfers is not None
    served = asked[records.transfers.known].sum() / 1.25e8
    most_open_s = asked[of.ended_s != of.ended_s].sum() / 1.25e8  # nan: in flight
    assert served - most_open_s - 1e-9 <= records.transfers.work_s[0] <= served + 1e-9


def test_processor_sharing_is_refused() -> None:
    scenario = scenario_from_mapping(_scenario(capacity="1 Gbit/s", discipline="processor-sharing"))
    with pytest.raises(ScenarioError, match=r"set cluster\.network\.discipline to fifo, or remote to alone"):
        simulate_serverless_scenario(scenario, policies=["fixed"], calls=10, replications=1)


def test_alone_is_the_default_and_tells_nothing() -> None:
    result = simulate_serverless_scenario(
        load_scenario(scenario_path("strict_light")), policies=["fixed"], calls=100, replications=1
    )
    assert report_of(result).policies["fixed"].transfers is None


def test_a_curve_over_the_network_needs_transfers_that_share_it() -> None:
    key = "cluster.network.capacity"
    assert over_number(scenario_from_mapping(_scenario(capacity="1 Gbit/s")), key).key == key
    with pytest.raises(ScenarioError, match="a serverless run does not depend on it"):
        over_number(load_scenario(scenario_path("strict_light")), key)
