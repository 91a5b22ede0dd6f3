"""What comes in: arrivals and traces, the warm-up, and transfers that share links."""

import math

import numpy as np
import pytest
from serverless_cases import function, one_application, run

from nona.cluster.topology import make_topology
from nona.core.errors import NonaError, ScenarioError
from nona.core.statistics import mean_interval
from nona.queries.simulation.sizes import auto_warmup
from nona.queries.sweeps.numbers import with_value
from nona.queries.system import BackgroundStream
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.scenario.lookup import Sources
from nona.scenario.sample_files import scenario_path
from nona.scenario.schema import Scenario
from nona.serverless.checks import run_checks
from nona.serverless.engine.options import PlatformRunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.metrics import hits, slo_ratios
from nona.serverless.policies.registry import get_policy
from nona.serverless.system import SharedNetwork
from nona.serverless.workflows.knees import over_number
from nona.serverless.workflows.preparation import prepare_serverless
from nona.serverless.workflows.run import (
    calls_per_s,
    may_start_cold,
    mser_calls,
    report_of,
    simulate_serverless_scenario,
    warmup_calls,
)

TRACE_S = np.cumsum(np.tile([0.1, 0.1, 0.8, 0.3, 0.05], 40))  # bursts: 200 calls, 3.7 a second


def traced(folder, arrivals):
    row = {"model": "image_classification", "rate": 4.0, "slo": "1 s", "arrivals": arrivals}
    workload = [row, {"model": "depth_recognition", "rate": 1.0, "slo": "2 s"}]
    given = {"seed": 3, "cluster": {"servers": [{"count": 4}]}, "workload": workload, "serverless": {}}
    return prepare_serverless(Scenario.model_validate(given), Sources(folder))


def own_s(made, replication=0):
    records = run(made, 400, get_policy("esg"), replication=replication)
    return records.calls.arrival_s[records.calls.application == 0]


def test_a_trace_that_keeps_its_time_is_replayed_again_and_from_elsewhere(tmp_path):
    (tmp_path / "calls.csv").write_text("\n".join(["time", *(f"{t:.6f}" for t in TRACE_S)]))
    made = traced(tmp_path, {"process": "trace", "trace": "calls.csv", "scale_to_rate": False})
    found = own_s(made)
    assert len(found) > len(TRACE_S)  # it begins anew at its end
    assert found[: len(TRACE_S)] == pytest.approx(TRACE_S - TRACE_S[0], abs=1e-5)
    other = own_s(made, replication=1)
    assert not np.allclose(other[:50], found[:50])
    with pytest.raises(NonaError, match=r"calls\.csv"):
        traced(None, {"process": "trace", "trace": "calls.csv"})


CALLS = 1000


def test_the_input_of_a_function_counts_where_it_begins_a_workflow_and_a_note_says_where_it_does_not():
    row = {"model": "image_classification", "rate": 4.0, "slo": "1 s"}

    def made(**functions):
        asked = {name: {"gpu": {"per_query": "20 ms"}, "input": "8 MB"} for name in functions}
        given = {
            "cluster": {"servers": [{"count": 4}]},
            "workload": [row],
            "serverless": {"functions": asked},
        }
        return prepare_serverless(Scenario.model_validate(given), Sources())

    plain = made()
    (app,) = plain.applications
    first, later = (plain.functions[app.function[k]].name for k in (0, -1))
    begun = made(**{first: True})
    assert begun.applications[0].input_bytes == (8e6, *app.input_bytes[1:])
    assert begun.notes == plain.notes
    idle = made(**{later: True})
    assert idle.applications[0].input_bytes == app.input_bytes
    assert f"the input of {later} does not count" in idle.notes[-1]


def with_containers(warm):
    return with_value(load_scenario(scenario_path("moderate_normal")), "serverless.containers.warm", warm)


def test_after_the_warm_up_a_run_that_began_with_one_container_is_as_it_stays():
    system = prepare_serverless(with_containers(1))
    warmup = warmup_calls(with_containers(1), system, CALLS)
    assert warmup > auto_warmup(CALLS)
    records = run(system, warmup + CALLS, get_policy("fast-gshare"))
    cold = np.searchsorted(records.calls.arrival_s, records.batches.dispatched_s[records.batches.cold])
    assert len(cold) > 10
    assert np.mean(cold >= warmup) < 0.02
    kept = hits(system, records)[: warmup + CALLS]
    usual = auto_warmup(CALLS)
    assert kept[warmup:].mean() > 0.99
    assert kept[usual : usual + CALLS].mean() < kept[warmup:].mean()  # the usual share is not enough


def test_enough_containers_start_nothing_cold_and_need_no_more():
    scenario = with_containers(7)
    system = prepare_serverless(scenario)
    assert not may_start_cold(system)
    assert may_start_cold(prepare_serverless(with_containers(6)))
    assert warmup_calls(scenario, system, CALLS) == auto_warmup(CALLS)
    assert not run(system, 300, get_policy("fixed")).batches.cold.any()


def test_a_stated_warm_up_is_taken_and_pilots_are_asked_where_wanted():
    scenario = with_value(with_containers(7), "simulation.warmup", 30)
    assert warmup_calls(scenario, prepare_serverless(scenario), CALLS) == 30
    piloted = with_value(scenario, "simulation.warmup", "mser")
    system = prepare_serverless(piloted)
    found = simulate_serverless_scenario(piloted, policies=("fixed",), calls=60, replications=1, oracle=False)
    usual = warmup_calls(piloted, system, 60)
    assert found.setting.warmup == mser_calls(system, [(get_policy("fixed"), {})], usual + 60)


@pytest.mark.parametrize("name", ["infless", "fast-gshare"])
def test_after_the_warm_up_instances_are_as_they_stay(name):
    """Four later stretches of calls are equally late, and the first calls are later."""
    scenario, options = with_containers(7), {"standing": True}
    system = prepare_serverless(scenario)
    warmup = warmup_calls(scenario, system, CALLS, [(name, options), ("esg", {})])
    looks_s = {"infless": 1.0, "fast-gshare": 10.0}[name]
    assert warmup == max(auto_warmup(CALLS), math.ceil(30 * looks_s * calls_per_s(system)))
    assert warmup_calls(scenario, system, CALLS, [(name, {})]) == auto_warmup(CALLS)
    size = PlatformRunOptions(calls=warmup + 4 * CALLS, warmup=0)
    late = slo_ratios(system, simulate_serverless(system, get_policy(name), options, size))
    begin = late[: auto_warmup(CALLS) // 2].mean()
    later = late[warmup:].reshape(4, CALLS).mean(axis=1)
    assert begin > later.max()
    assert later.max() < 1.3 * later.min()


SIZE, CAPACITY, LATENCY_S = 1e6, 1e7, 0.02  # 0.1 s a message


def one_link(rate, background):
    """Calls that fetch one message each and then compute for a millisecond; nothing else is scarce."""
    network = SharedNetwork(make_topology(1, CAPACITY), LATENCY_S, background)
    return one_application([function("a", 0.001)], rate=rate, input_bytes=[SIZE], network=network)


def mean_wait(records):
    of = records.batches
    inside = of.dispatched_s >= records.sums.start_s
    return float((of.transfer_s - SIZE / CAPACITY - LATENCY_S)[inside].mean())


@pytest.mark.parametrize(
    ("rate", "background"),
    [
        (3.0, BackgroundStream()),
        (7.0, BackgroundStream()),
        (3.0, BackgroundStream(rate=2.0, mean=1.5e6, scv=1.0)),
    ],
)
def test_equal_transfers_wait_as_in_m_d_1_and_beside_background_of_exponential_sizes_as_in_m_g_1(
    rate, background
):
    """Wq = Σ λ·E[S²] / (2·(1 − ρ)). Source: Kleinrock, Queueing Systems I, 1975, 5.6."""
    waits = [mean_wait(run(one_link(rate, background), 3000, warmup=300, replication=r)) for r in range(8)]
    own_s, other_s = SIZE / CAPACITY, background.mean / CAPACITY
    moment = rate * own_s**2 + background.rate * 2 * other_s**2
    expected = moment / (2 * (1 - rate * own_s - background.rate * other_s))
    found = mean_interval(waits, 0.99)
    assert found.covers(expected)
    assert found.relative < 0.2


def test_the_link_does_the_work_that_is_asked_of_it():
    """Lindley (1952): each transfer begins when it is asked for and the one before has been served."""
    system = one_link(9.0, BackgroundStream())
    records = run(system, 400)
    of, free_s = records.batches, 0.0
    for asked_s, transfer_s in zip(of.dispatched_s, of.transfer_s, strict=True):
        free_s = max(free_s, asked_s) + SIZE / CAPACITY
        assert asked_s + transfer_s == pytest.approx(free_s + LATENCY_S, abs=1e-9)
    used = records.transfers
    undone_s = max(free_s - records.stopped_s, 0.0)
    assert used.work_s[0] == pytest.approx(len(of.jobs) * SIZE / CAPACITY - undone_s)
    assert used.busy_s[0] == pytest.approx(used.work_s[0])
    assert all(check.ok for check in run_checks(system, records))


def _scenario(**network):
    data = scenario_to_mapping(load_scenario(scenario_path("strict_light")))
    data["serverless"]["transfer"] = {"remote": "network"}
    data["cluster"]["network"] = network
    return data


def test_a_scenario_says_so_and_the_result_tells_the_waits():
    slow = scenario_from_mapping(_scenario(capacity="0.5 Gbit/s"))
    how = {"policies": ["esg", "fixed"], "calls": 300, "replications": 2}
    report = report_of(simulate_serverless_scenario(slow, **how))
    assert all(report.checks.values())
    for outcome in report.policies.values():
        used = outcome.transfers
        assert used.busiest_link == "core"
        assert 0 < used.wait_s.mean < used.mean_s.mean
        assert 0 < used.core_utilization < 1


def test_transfers_share_a_link_first_come_first_served_and_a_curve_may_be_over_its_capacity():
    key = "cluster.network.capacity"
    assert over_number(scenario_from_mapping(_scenario(capacity="1 Gbit/s")), key).key == key
    scenario = scenario_from_mapping(_scenario(capacity="1 Gbit/s", discipline="processor-sharing"))
    with pytest.raises(ScenarioError, match=r"set cluster\.network\.discipline to fifo, or remote to alone"):
        simulate_serverless_scenario(scenario, policies=["fixed"], calls=10, replications=1)
