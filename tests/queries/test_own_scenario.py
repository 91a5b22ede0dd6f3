"""A person's own scenario: mixed GPUs, files in single precision, no demo's settings."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples, first

from nona.cluster.hardware.device import devices
from nona.cluster.hardware.executor import executor_class
from nona.models.cost.costing import cost_graph
from nona.models.cost.options import CostOptions, stacks
from nona.queries.placement.capacity import (
    ExecutorLoads,
    default_shares,
    executor_utilization,
    least_utilization,
)
from nona.queries.report.workloads import load_text, offered_load
from nona.queries.sweeps.numbers import LOAD
from nona.queries.sweeps.results import SweepRequest
from nona.queries.sweeps.sweep_points import SweepPoints, swept_scenario
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.simulation import simulate
from nona.scenario.file import parse_scenario
from nona.scenario.lookup import Sources
from nona.scenario.provenance import runs_as
from nona.scenario.sample_files import load_sample
from nona.scenario.values import NamedSpec
from nona.training.report.figures import one_more_finding
from nona.training.report.findings import training_finding
from nona.training.system import AloneKey, PairKey, Throughputs
from nona.training.workflows.preparation import prepare_training
from nona.training.workflows.rates import ModelledRates, with_all_types
from nona.training.workflows.run import one_more_gpu, simulate_training_scenario

NETWORK = "network: {capacity: 25 Gbit/s, latency: 20 us}"
L4_AND_SLICES = f"""{{version: 1, name: l4, seed: 1, cluster: {{servers: [{{count: 8, gpu: l4}},
  {{count: 2, gpu: a100-40gb, mig: "7 × 1g.5gb"}}], {NETWORK}}},
  workload: [{{model: bert_base, rate: 200/s, slo: 50 ms}}, {{model: resnet50, rate: 500/s, slo: 20 ms}}],
  schedulers: [nona, local, least-loaded]}}"""
OLD_AND_NEW = f"""{{cluster: {{servers: [{{count: 6, gpu: t4}}, {{count: 1, gpu: h100}}], {NETWORK}}},
  workload: [{{model: vit_b_16, rate: 60/s}}, {{model: mobilenet_v2, rate: 300/s}}],
  schedulers: [nona, local]}}"""
MIXED = (L4_AND_SLICES, OLD_AND_NEW)


def no(*_):
    """Says nothing, ends nothing."""


def bench_of(text):
    scenario = parse_scenario(text)
    settings = SweepRequest(
        number=LOAD, values=(1.0,), schedulers=("nona", "local"), jobs=300, replications=1, edges=False
    )
    at = lambda value: swept_scenario(scenario, settings, value)  # noqa: E731
    return SweepPoints(at, settings, Sources(), engine="simpy")


@pytest.mark.parametrize("text", MIXED)
def test_what_saturates_a_scheduler_leaves_it_no_steady_state_however_short_the_run(text):
    system = prepare(parse_scenario(text)).system
    blind = 1 / max(executor_utilization(system, default_shares(system))[1])
    best = 1 / least_utilization(system)
    bench = bench_of(text)
    for load in (1.02 * blind, 1.02 * best):
        bench.simulate(load, ["local"], 1)
        assert bench.points["local"][load].state == "overloaded"
    scenario = swept_scenario(parse_scenario(text), bench.settings, 1.02 * blind)
    scenario = scenario.model_copy(update={"schedulers": (NamedSpec(name="local"),)})
    (summary,) = simulate(prepare(scenario)).summaries.values()
    assert summary.result.jct_s.mean is None
    bench.simulate(0.9 * blind, ["local"], 1)
    assert bench.points["local"][0.9 * blind].state != "overloaded"


@pytest.mark.parametrize("text", first(1, MIXED))
def test_a_sweep_asks_nona_for_its_own_shares_not_for_a_uniform_draw(text):
    system = prepare(parse_scenario(text)).system
    blind = 1 / max(executor_utilization(system, default_shares(system))[1])
    loads = ExecutorLoads(
        np.array([q.rate * q.tasks.compute_s.sum(axis=1) for q in system.queries]) / system.class_counts,
        np.ones((2, 2), dtype=bool),
        0.0,
    )
    best = 1 / loads.least_peak()[0]
    assert blind < 0.75 * best
    with bench_of(text) as bench:
        for load, stable in ((blind * 1.2, True), (best * 1.03, False)):
            assert bench.predict(load, "nona") == stable, load
            assert bench.predict(load, "local") == (load < blind), load


def grid_peak(load):
    """The least peak over all shares in tenths, task by task."""
    steps = [i / 10 for i in range(11)]
    return min(
        max(
            sum(load[v][0] * s for v, s in enumerate(shares)),
            sum(load[v][1] * (1 - s) for v, s in enumerate(shares)),
        )
        for shares in itertools.product(steps, repeat=len(load))
    )


@examples(30)
@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)), min_size=1, max_size=3))
def test_the_least_peak_is_no_worse_than_any_shares_on_a_grid(load):
    peak, shares = ExecutorLoads(np.array(load), np.ones((len(load), 2), dtype=bool), 0.0).least_peak()
    assert peak <= grid_peak(load) + 1e-9
    assert peak >= max(0, grid_peak(load) - 0.1 * len(load))
    assert shares.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("text", MIXED)
def test_no_scheduler_is_promised_more_than_the_executors_have(text):
    system = prepare(parse_scenario(text)).system
    least = least_utilization(system)
    work = sum(q.rate * q.tasks.compute_s.min(axis=0).sum() for q in system.queries) / system.executors
    queries = ExecutorLoads(
        np.array([q.rate * q.tasks.compute_s.sum(axis=1) for q in system.queries]) / system.class_counts,
        np.ones((2, 2), dtype=bool),
        0.0,
    ).least_peak()[0]
    assert work <= least <= queries * (1 + 1e-9) <= max(executor_utilization(system)[1]) * (1 + 1e-9)


@pytest.mark.parametrize("text", MIXED)
def test_the_workload_page_says_the_range_between_the_best_shares_and_a_blind_draw(text):
    study = prepare(parse_scenario(text))
    system = study.system
    seconds = np.array([[c.total_compute_s for c in model.costed] for model in study.models])
    counts = dict(zip(system.class_names, system.class_counts.tolist(), strict=True))
    load = offered_load([q.rate for q in system.queries], seconds, counts, seconds > 0, 0.1)
    assert load.even == pytest.approx(max(executor_utilization(system)[1]))
    told = load_text("executors", 0.1, load.best, load.even)
    assert f"{0.9 / load.best:.3g} times the rate saturates them at best" in told
    assert f"{0.9 / load.even:.3g} times under local" in told


PRECISIONS = {"a100-80gb": "tf32", "l4": "tf32", "h100": "tf32", "t4": "fp32", "v100": "fp32"}


@pytest.mark.parametrize("gpu", PRECISIONS)
@pytest.mark.parametrize("stack", list(stacks()))
def test_a_file_in_single_precision_runs_as_its_stack_and_gpu_run_it(gpu, stack):
    def seconds(model, precision):
        return cost_graph(
            load_sample(model), executor_class(gpu), CostOptions(stack, precision)
        ).total_compute_s

    products, convolutions = "bert_base", "resnet50"
    short = PRECISIONS[gpu]
    assert seconds(convolutions, "auto") == pytest.approx(seconds(convolutions, short), rel=0.05)
    pytorch = stack in ("eager", "cuda-graphs")
    assert seconds(products, "auto") == pytest.approx(seconds(products, "fp32" if pytorch else short))
    assert seconds(products, "model") == seconds(products, "fp32")


def test_the_default_does_not_turn_the_order_of_a_gpu_and_a_slice_round():
    """In full single precision an L4 seems faster than 3/7 of an A100; it never runs so."""

    def seconds(executor, precision="auto"):
        return cost_graph(
            load_sample("bert_base"), executor_class(executor), CostOptions(precision=precision)
        ).total_compute_s

    l4, piece = "l4", "a100-40gb/3g.20gb"
    assert seconds(l4, "model") < seconds(piece, "model")
    assert seconds(l4) > seconds(piece)


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        ("{}", "tensorrt, fp32 in TF32 on l4"),
        ("{stack: eager}", "eager, fp32 convolutions in TF32 on l4"),
        ("{precision: fp16}", "tensorrt, fp16"),
        ("{precision: model}", "tensorrt, as in the file"),
    ],
)
def test_reports_say_how_the_models_run(cost, words):
    servers = "[{count: 1, gpu: l4}, {count: 1, gpu: t4}]"
    text = f"{{cluster: {{servers: {servers}}}, workload: [{{model: resnet50, rate: 5/s}}], cost: {cost}}}"
    assert runs_as(parse_scenario(text)) == words


TRAINING = """{seed: 1, cluster: {servers: [{count: 2, gpu: %s, gpus: 4}, {count: 1, gpu: v100, gpus: 4}]},
  training: {generate: {jobs: 12}, policies: [{name: max-min-fairness}]}, simulation: {replications: 1}}"""


@pytest.mark.parametrize("gpu", first(1, ["t4", "a100-40gb", "l4", "h100"]))
def test_gpus_without_measured_rates_run_jobs_at_modelled_ones_and_it_is_said(gpu):
    scenario = parse_scenario(TRAINING % gpu)
    system = prepare_training(scenario)
    rate = system.throughputs.rate
    assert system.modelled == (gpu,)
    faster = {
        m: rate(gpu, m, 1) / rate("v100", m, 1)
        for m in {job.model for job in system.jobs if job.workers == 1}
    }
    assert all((1 if gpu in ("a100-40gb", "h100") else 0.1) < f < 12 for f in faster.values())
    report = simulate_training_scenario(scenario).report
    told = f"Rates on {gpu} are modelled, not measured."
    assert training_finding(report).lead.endswith(told)
    assert any(f"Rates on {gpu} are modelled: rates on" in note for note in report.setting.notes)
    assert one_more_finding(one_more_gpu(scenario, "max-min-fairness")).endswith(told)


@pytest.mark.parametrize("gpu", ["a100-40gb", "l4"])
def test_jobs_are_drawn_where_no_type_of_the_cluster_was_measured(gpu):
    text = f"""{{cluster: {{servers: [{{count: 4, gpu: {gpu}}}]}}, training: {{generate: {{jobs: 6}}}}}}"""
    system = prepare_training(parse_scenario(text))
    assert system.modelled == (gpu,)
    assert len(system.jobs) == 6
    assert all(system.throughputs.rate(gpu, job.model, job.workers) > 0 for job in system.jobs)


def test_measured_types_alone_are_as_they_were():
    system = prepare_training(parse_scenario(TRAINING % "p100"))
    assert system.modelled == ()
    assert not any("modelled" in note for note in system.notes)


def test_models_that_are_measured_only_beside_others_are_carried_too():
    scenario = parse_scenario(TRAINING % "l4")
    types = {gpu: devices()[gpu] for gpu in ("l4", "v100")}
    modelled = ModelledRates(scenario, Sources(), types, prepare_training(scenario).cluster)
    pairs = {PairKey("v100", "own", "other", 1): (4.0, 2.0)}
    spread = {AloneKey("v100", "wide", 8): 3.0}
    table, carried_from = with_all_types(Throughputs({}, pairs, spread, {"v100": "measured"}), modelled)
    own, other = table.pair("l4", "own", "other", 1)
    assert carried_from == {"l4": "v100"}
    assert own / 4.0 == other / 2.0 == pytest.approx(table.spread[AloneKey("l4", "wide", 8)] / 3.0)
