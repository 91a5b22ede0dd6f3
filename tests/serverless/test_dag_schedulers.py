"""The core's DAG schedulers on serverless workflows: what they are given, and what must come out."""

from __future__ import annotations

import numpy as np
import pytest

from nona.errors import ScenarioError
from nona.scenario.file import load_scenario
from nona.scenario.values import SchedulerSpec
from nona.serverless.system import calls
from nona.sources.samples import scenario_path
from nona.study.preparation import prepare
from nona.study.serverless.comparisons import dag_scenario, simulate_dag_schedulers
from nona.study.serverless.preparation import prepare_serverless

SCENARIO = load_scenario(scenario_path("strict_light"))
SYSTEM = prepare_serverless(SCENARIO)


def test_the_core_gets_the_smallest_slices_and_their_times() -> None:
    core = prepare(dag_scenario(SCENARIO, SYSTEM)).system
    assert set(core.class_names) == {"a100-40gb/1g.5gb"}
    assert len(core.executor_server) == sum(node.vgpus * node.gpus for node in SYSTEM.invokers)
    assert core.background_compute.rate == core.background_network.rate == 0
    for query, app in zip(core.queries, SYSTEM.applications, strict=True):
        work_s = sum(SYSTEM.time_s[f, 0] for f in app.function)
        assert query.tasks.compute_s[0].sum() == pytest.approx(work_s)
        assert (query.name, query.slo_s) == (app.name, app.slo_s)
        assert query.service_scv == pytest.approx(SYSTEM.noise**2)


def test_arrivals_have_the_mean_and_variation_of_what_each_row_gets() -> None:
    times, which = calls(SYSTEM, 100_000)
    for number, row in enumerate(dag_scenario(SCENARIO, SYSTEM).workload):
        gaps = np.diff(times[which == number])
        assert 1 / row.rate == pytest.approx(gaps.mean(), rel=0.03)
        assert row.arrivals.cv == pytest.approx(gaps.std() / gaps.mean(), rel=0.03)


def test_rows_keep_their_own_arrivals_without_an_interval() -> None:
    serverless = SCENARIO.serverless
    assert serverless is not None
    plain = SCENARIO.model_copy(update={"serverless": serverless.model_copy(update={"interval": None})})
    core = dag_scenario(plain, prepare_serverless(plain))
    assert [(r.rate, r.arrivals) for r in core.workload] == [(r.rate, r.arrivals) for r in plain.workload]


def test_a_call_costs_its_work_at_the_smallest_price() -> None:
    chosen = tuple(SchedulerSpec(name=n) for n in ("local", "spark-fair"))
    rows = simulate_dag_schedulers(
        SCENARIO.model_copy(update={"schedulers": chosen}), calls=2000, replications=2
    ).schedulers
    assert list(rows) == ["local", "spark-fair"]
    work_s = np.mean([SYSTEM.smallest_s(app) for app in SYSTEM.applications])
    for row in rows.values():
        assert row.cost_per_call_usd.mean == pytest.approx(work_s * SYSTEM.price_per_s[0], rel=0.05)
        assert (row.batch, row.mean_batch, row.configuration_miss_rate) == (1, 1.0, None)
        assert set(row.applications) == {app.name for app in SYSTEM.applications}
        for app in SYSTEM.applications:  # queues come on top of the work
            assert row.applications[app.name].latency_s.mean > 0.98 * SYSTEM.smallest_s(app)
        assert 0 <= row.slo_hit_rate.mean < 0.1  # 0.8 of the work without messages cannot be kept


def test_a_scenario_that_is_not_serverless_is_refused() -> None:
    with pytest.raises(ScenarioError, match="serverless: is missing"):
        dag_scenario(SCENARIO.model_copy(update={"serverless": None}), SYSTEM)
