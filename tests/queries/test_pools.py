"""Instances, pools and closed loops against formulas and against published measurements of servers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from nona.core.errors import ScenarioError
from nona.queries.placement.capacity import default_shares, executor_utilization
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.workflows.outcome import cautions_of
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.simulation import beyond_capacity
from nona.scenario.file import dump_scenario, parse_scenario
from nona.scenario.schema import Scenario
from nona.scenario.values import NamedSpec

ENGINE = "compiled"


def chain(*times_ms: float) -> dict[str, object]:
    """A model whose tasks a, b, … follow one another and take these times on any device."""
    names = "abcdefgh"[: len(times_ms)]
    nodes = [{"id": n, "compute_ms": t} for n, t in zip(names, times_ms, strict=True)]
    links = [{"source": u, "target": v, "bytes": 8} for u, v in pairwise(names)]
    return {"directed": True, "nodes": nodes, "edges": links}


def scenario(model: dict[str, object], row: dict[str, object], **group: object) -> Scenario:
    data = {
        "cluster": {"servers": [{"gpu": "t4", **group}], "network": {"latency": 0}},
        "workload": [{"model": "m", **row}],
        "models": {"m": model},
    }
    return Scenario.model_validate(data)


def run(given: Scenario, jobs: int = 100_000, seed: int = 0, scheduler: str = "random"):
    system = prepare(given).system
    found = get_scheduler(scheduler)
    options = RunOptions(jobs=jobs, replication=seed, engine=ENGINE)
    records = simulate_run(system, found, found.prepare(system, None, {}), options)
    assert [check.name for check in records.checks if not check.ok] == []
    return records, records.completion_s - records.arrival_s


@pytest.mark.parametrize(("rate", "mean_ms"), [(200, 5.18), (300, 9.54)])
def test_four_instances_that_divide_a_gpu(rate, mean_ms):
    """Triton issue 6267: one stage of 2.6 ms; reported 4.67 and 9.30 ms, limited sharing gives 5.18, 9.54."""
    _, times = run(scenario(chain(2.6), {"rate": rate}, instances={"most": 4}), 400_000)
    assert times.mean() == pytest.approx(mean_ms / 1e3, rel=0.03)


def test_the_gpu_saturates_at_one_query_in_each_service_time():
    stable, _ = run(scenario(chain(2.6), {"rate": 370}, instances={"most": 4}))
    over, _ = run(scenario(chain(2.6), {"rate": 400}, instances={"most": 4}))
    assert (stable.state, over.state) == ("stable", "overloaded")


@pytest.mark.parametrize("speed", ["1, 0.6098", "5 ms, 8.2 ms", [1, 0.6098], ["10 ms", "16.4 ms"]])
def test_speeds_are_given_or_come_from_measured_times(speed):
    found = prepare(scenario(chain(5.0), {"rate": 50}, instances={"most": 2, "speed": speed})).system.pools
    assert found.speed[0].tolist() == [1.0, 0.6098]


@pytest.mark.parametrize("speed", ["5 ms, 4 ms", "5 ms, 0.61", "0 ms, 1 ms", "5 apples, 3", "0.9, 0.5"])
def test_speeds_that_grow_or_lack_a_unit_are_refused(speed):
    with pytest.raises(ValueError, match=r"speed"):
        scenario(chain(5.0), {"rate": 50}, instances={"most": 2, "speed": speed})


@pytest.mark.parametrize("scv", [0.0, 1.0, 4.0])
def test_processor_sharing_is_insensitive_to_the_distribution(scv):
    """M/G/1 with equal sharing: mean s/(1 − ρ), whatever the distribution of service times."""
    row = {"rate": 60, "service_scv": scv}
    means = [
        run(scenario(chain(10.0), row, instances={"most": 64}), 200_000, seed)[1].mean() for seed in range(4)
    ]
    error = np.std(means, ddof=1) / 2
    assert abs(np.mean(means) - 0.010 / 0.4) < 4 * error + 1e-4


def test_instances_at_full_speed_are_servers_of_one_queue():
    """M/M/3 by Erlang's formula."""
    rate, mean_s, servers = 240.0, 0.010, 3
    load = rate * mean_s
    terms = [load**n / float(np.prod(np.arange(1, n + 1))) for n in range(servers)]
    tail = load**servers / 6 / (1 - load / servers)
    waits = tail / (sum(terms) + tail) * mean_s / (servers - load)
    given = scenario(chain(10.0), {"rate": rate, "service_scv": 1}, instances={"most": 3, "speed": [1, 1, 1]})
    means = [run(given, 200_000, seed)[1].mean() for seed in range(4)]
    assert np.mean(means) == pytest.approx(waits + mean_s, abs=4 * np.std(means, ddof=1) / 2 + 1e-5)


def test_one_instance_is_an_executor():
    """Bit for bit, as no key at all."""
    row = {"rate": 200, "service_scv": 1}
    _, one = run(scenario(chain(2.0, 1.0), row, instances={"most": 1}), 5000)
    _, none = run(scenario(chain(2.0, 1.0), row), 5000)
    assert np.array_equal(one, none)


def test_instances_at_full_speed_are_gpus_with_one_queue():
    """Bit for bit: three instances that do not slow one another, and three GPUs with one queue."""
    row = {"rate": 240, "service_scv": 1}
    _, instances = run(scenario(chain(10.0), row, instances={"most": 3, "speed": [1, 1, 1]}), 5000)
    _, gpus = run(scenario(chain(10.0), {**row, "queue": "model"}, gpus=3), 5000)
    assert np.array_equal(instances, gpus)


def test_two_models_that_are_always_busy_get_half_each():
    """Triton issue 2698: alone 35 and 68 frames a second, together about half of each."""
    data = {
        "cluster": {"servers": [{"gpu": "t4"}]},
        "workload": [
            {"model": name, "concurrency": 1, "queue": "model", "name": name} for name in ("slow", "quick")
        ],
        "models": {"slow": chain(1e3 / 35), "quick": chain(1e3 / 68)},
    }
    records, _ = run(Scenario.model_validate(data), 5000)
    length = records.window_s[1] - records.window_s[0]
    rates = np.bincount(records.query, minlength=2) / length
    assert rates == pytest.approx([17.5, 34.0], rel=0.01)


STAGES = (4.57, 11.11, 4.24)  # ms alone: Triton issue 3245


def in_pools(count: int = 1) -> dict[str, object]:
    return {name: {"instances": [{"group": 0, "count": count}]} for name in "abc"}


def test_a_pool_for_each_stage_carries_what_the_slowest_stage_does():
    """One executor carries 50.2/s; three GPUs with a stage each min(219, 90, 236) = 90/s."""
    together, _ = run(scenario(chain(*STAGES), {"concurrency": 64}), 5000)
    assert _rate(together) == pytest.approx(50.2, rel=0.01)
    servers = [{"gpu": "t4"} for _ in range(3)]
    data = {
        "cluster": {"servers": servers, "network": {"capacity": "100 Gbit/s", "latency": 0}},
        "workload": [
            {
                "model": "m",
                "concurrency": 64,
                "stages": {name: {"instances": [{"group": k}]} for k, name in enumerate("abc")},
            }
        ],
        "models": {"m": chain(*STAGES)},
    }
    apart, _ = run(Scenario.model_validate(data), 5000)
    assert _rate(apart) == pytest.approx(90.0, rel=0.01)
    idle = {**data, "workload": [{**data["workload"][0], "concurrency": 1}]}
    _, alone = run(Scenario.model_validate(idle), 2000)
    assert alone.mean() == pytest.approx(sum(STAGES) / 1e3, rel=0.001)


@pytest.mark.parametrize("where", ["row", "stage", "scenario"])
def test_users_cannot_wait_for_full_batches(where):
    """One user sends one query and waits for it: a batch of two that starts when it is full never does."""
    static = {"max_batch": 2, "rule": "static"}
    row = (
        {"concurrency": 1, "stages": {"a": {"batching": static}}} if where == "stage" else {"concurrency": 1}
    )
    row |= {"batching": static} if where == "row" else {}
    data = scenario(chain(4.0), {"concurrency": 1}).model_dump(mode="json")
    data |= {"batching": static} if where == "scenario" else {}
    data["workload"] = [{"model": "m", **row}]
    with pytest.raises(ValueError, match="users in a closed loop may never fill"):
        Scenario.model_validate(data)


def test_users_who_have_just_begun_are_a_backlog_and_no_overload():
    """Of 1,000 users 400 have answers: the number in the system still grows, but it has an end."""
    model, row = chain(4.0), {"concurrency": 1000, "think": "200 ms"}
    found, _ = run(scenario(model, row), 400)
    assert found.state == "backlogged"
    assert "of 1000 users" in found.state_reason


def _rate(records) -> float:
    return len(records.completion_s) / (records.window_s[1] - records.window_s[0])


def test_processes_of_the_host_hold_no_gpu():
    """A stage of 30 ms on four processes of the host: the GPU carries what its own stage does."""
    stages = {"a": {"cpu": 4}}
    found, _ = run(scenario(chain(30.0, 10.0), {"concurrency": 64, "stages": stages}), 5000)
    assert _rate(found) == pytest.approx(100.0, rel=0.01)


@pytest.mark.parametrize(
    ("queue", "mean_ms", "late_ms", "batch"), [("model", 3.33, 4.96, 6.0), ("executor", 2.9, 4.2, 3.6)]
)
def test_one_queue_for_two_gpus_makes_larger_batches(queue, mean_ms, late_ms, batch):
    """2,500/s on two GPUs, at most 16, delay 2 ms, s(b) = 1.0 + (b − 1)·2.99/15 ms."""
    step = 2.99 / 15
    batching = {"max_batch": 16, "rule": "triton", "delay": "2 ms", "per_query": step}
    given = scenario(chain(1.0), {"rate": 2500, "queue": queue, "batching": batching}, gpus=2)
    records, times = run(given, 200_000)
    steps = records.batch_sizes.sum(axis=0)
    mean_batch = float(steps @ np.arange(len(steps)) / steps.sum())
    assert times.mean() * 1e3 == pytest.approx(mean_ms, rel=0.03)
    assert np.quantile(times, 0.99) * 1e3 == pytest.approx(late_ms, rel=0.04)
    assert mean_batch == pytest.approx(batch, rel=0.04)


def test_a_thousand_users_in_batches_of_sixteen():
    """Triton issue 7986: steps of 16 in 3.994 ms give 4,006/s and 249.6 ms; 247.6 ms were reported."""
    batching = {"max_batch": 16, "per_query": 0.0}
    records, times = run(scenario(chain(3.994), {"concurrency": 1000, "batching": batching}), 50_000)
    assert _rate(records) == pytest.approx(4006, rel=0.003)
    assert times.mean() * 1e3 == pytest.approx(249.6, rel=0.003)


@pytest.mark.parametrize("users", [1, 3, 12])
def test_the_machine_repairman(users):
    """M/M/1//N: the throughput in closed form, and N = X·(R + think)."""
    think, mean = 0.050, 0.010
    row = {"concurrency": users, "think": think, "service_scv": 1}
    rates, products = [], []
    for seed in range(4):
        records, times = run(scenario(chain(10.0), row), 100_000, seed)
        rates.append(_rate(records))
        products.append(_rate(records) * (times.mean() + think))
    weights = np.cumprod([1.0, *((users - n) * mean / think for n in range(users))])
    exact = (1 - weights[0] / weights.sum()) / mean
    assert np.mean(rates) == pytest.approx(exact, abs=4 * np.std(rates, ddof=1) / 2 + 1e-3 * exact)
    assert np.mean(products) == pytest.approx(users, rel=0.005)


def test_speed_from_two_measured_times():
    """Two instances always busy at f(2) = 0.61 carry 1.22 times what one does."""
    given = scenario(chain(10.0), {"concurrency": 8}, instances={"most": 2, "speed": [1, 0.61]})
    records, _ = run(given, 5000)
    assert _rate(records) == pytest.approx(122.0, rel=0.005)


@pytest.mark.parametrize(
    ("row", "group", "words"),
    [
        ({"rate": 1, "stages": {"x": {"cpu": 1}}}, {}, "'x' is no task of the model"),
        ({"rate": 1, "stages": {"a": {"cpu": 1, "instances": [{}]}}}, {}, "leave one of them out"),
        ({"rate": 1, "stages": {"a": {"instances": [{"group": 3}]}}}, {}, "group 3 does not exist"),
        ({"rate": 1, "concurrency": 2}, {}, "leave one out"),
        ({}, {}, "rate is missing"),
        ({"rate": 1, "think": 1}, {}, "give a concurrency"),
        ({"rate": 1}, {"instances": {"most": 2, "speed": [0.9]}}, "must begin with 1"),
        ({"rate": 1}, {"instances": {"most": 3, "speed": [1, 0.4, 0.5]}}, "must not grow"),
        ({"rate": 1}, {"instances": {"most": 2}, "mps": 2}, "leave one of them out"),
    ],
)
def test_what_contradicts_itself_is_refused(row, group, words):
    with pytest.raises(ValueError, match=words):
        prepare(scenario(chain(1.0), row, **group))


def test_what_is_written_of_stages_and_users_is_read_again():
    row = {
        "concurrency": 8,
        "think": 0.5,
        "queue": "model",
        "stages": {"a": {"cpu": 2}, "b": {"instances": [{}]}},
    }
    given = scenario(chain(1.0, 2.0), row, instances={"most": 3, "speed": [1, 0.6, 0.5]})
    assert Scenario.model_validate(given.model_dump(mode="json")) == given
    assert parse_scenario(dump_scenario(given)) == given


def test_a_scheduler_that_cannot_run_is_named_and_the_scenario_of_the_result_stays_as_it_was():
    given = scenario(chain(1.0), {"rate": 50}, instances={"most": 2})
    given = given.model_copy(
        update={"schedulers": (NamedSpec(name="least-loaded"), NamedSpec(name="spark-fair"))}
    )
    prepared = prepare(given)
    assert prepared.scenario == given
    assert [entry.name for entry in prepared.schedulers] == ["least-loaded"]
    assert cautions_of(prepared)[-1].startswith("spark-fair cannot run here: it picks tasks")
    with pytest.raises(ScenarioError, match="add one that can run"):
        prepare(given.model_copy(update={"schedulers": given.schedulers[1:]}))


@pytest.mark.parametrize(("rate", "overloaded"), [(10, False), (410, True)])
def test_users_of_a_closed_loop_overload_nothing_but_open_rows_beside_them_may(rate, overloaded):
    """Two kinds of GPU of unlike speed: shares drawn at random ask too much of the slow ones."""
    model = {"directed": True, "edges": [], "nodes": [{"id": "a", "compute_ms": {"t4": 10, "l4": 1}}]}
    data = {
        "cluster": {"servers": [{"count": 2, "gpu": "t4"}, {"count": 2, "gpu": "l4"}]},
        "workload": [{"model": "m", "concurrency": 40, "name": "users"}, {"model": "m", "rate": rate}],
        "models": {"m": model},
    }
    system = prepare(Scenario.model_validate(data)).system
    assert max(executor_utilization(system, default_shares(system))[1]) > 1
    assert beyond_capacity(system, "local", None) is overloaded
