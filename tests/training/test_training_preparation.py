"""The training part of a scenario: what is refused, its files, and the system that it becomes."""

from itertools import product
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.cluster.hardware.device import find_device
from nona.core.errors import NonaError, ScenarioError
from nona.models.cost.options import CostOptions
from nona.scenario.file import load_scenario, parse_scenario, scenario_hash
from nona.scenario.lookup import Sources, file_names, named_files, with_files_renamed
from nona.scenario.opening import open_bytes, pack_bundle, read_bundle
from nona.scenario.sample_files import load_sample, scenario_names, scenario_path
from nona.scenario.training import GenerateSpec
from nona.training.generated_jobs import MOST_LOAD, choose_replicas, generate, replica_capacity
from nona.training.job_files import trace_jobs
from nona.training.throughput_table import STACK, all_reduce_s, shipped_throughputs, training_step
from nona.training.workflows.preparation import prepare_training
from nona.training.workflows.rates import drawn_models
from tests.cli.calling import refusal

TABLE = shipped_throughputs()
CLUSTER = "[{gpu: v100, count: 2, gpus: 4}, {gpu: k80, count: 3, gpus: 2}, {gpu: v100}]"


def prepared(training, servers=CLUSTER, more="", replication=0):
    text = f"{{cluster: {{servers: {servers}}}, training: {training}{more}}}"
    return prepare_training(parse_scenario(text), replication=replication)


def problems(training, servers=CLUSTER):
    with pytest.raises(NonaError) as caught:
        prepared(training, servers)
    return getattr(caught.value, "problems", (str(caught.value),))


def test_servers_are_nodes_and_prices_are_those_of_the_list_or_given():
    system = prepared("{generate: {jobs: 5}, prices: {k80: 0.1}, round: 5 min, reallocation: 0}")
    assert system.cluster.gpus == {"k80": 6, "v100": 9}
    assert system.cluster.nodes == {"k80": (2, 2, 2), "v100": (4, 4, 1)}
    assert system.cluster.prices == {"v100": 2.48, "k80": 0.1}
    assert (system.round_s, system.reallocation_s) == (300, 0)


def test_generated_jobs_are_those_of_the_generator_and_replications_differ():
    drawn = trace_jobs(generate(GenerateSpec(jobs=30, mean_gap=600), TABLE, 4), TABLE)
    assert prepared("{generate: {jobs: 30, measured: [5, 9]}}", more=", seed: 4").jobs == drawn
    first, second = (prepared("{generate: {jobs: 30}}", replication=r).jobs for r in (0, 1))
    assert first != second
    given_jobs = "{jobs: [{name: a, model: A3C, steps: 9}]}"
    assert prepared(given_jobs).jobs == prepared(given_jobs, replication=1).jobs


def test_jobs_come_from_a_table_beside_the_scenario(tmp_path):
    """That they come from a trace: drawn jobs come back exactly."""
    (tmp_path / "jobs.csv").write_text("name,model,steps,arrival\nlate,A3C,5,1 h\nearly,CycleGAN,6,\n")
    text = f"{{cluster: {{servers: {CLUSTER}}}, training: {{trace: jobs.csv}}}}"
    jobs = prepare_training(parse_scenario(text), Sources(tmp_path)).jobs
    assert [(job.name, job.arrival_s) for job in jobs] == [("early", 0), ("late", 3600)]


def test_own_rates_stand_beside_the_table_and_an_interactive_job_may_take_any_gpu_that_runs_it():
    jobs = "[{name: A3C, throughputs: {v100: 3, k80: 0}, steps: 5}, {name: t, model: A3C, steps: 5}]"
    system = prepared(f"{{jobs: {jobs}}}")
    own, other = system.jobs
    rates = [[system.throughputs.rate(g, job.model, 1) for g in ("v100", "k80")] for job in (own, other)]
    assert rates == [[3, 0], [TABLE.rate("v100", "A3C", 1), TABLE.rate("k80", "A3C", 1)]]
    for given_, expected in (("", [1, 1]), ("throughputs: {v100: 7}, ", [0, 1])):
        system = prepared(f"{{jobs: [{{name: n, {given_}duration: 30 min, kind: interactive}}]}}")
        (job,) = system.jobs
        assert job.steps == 1800
        assert [system.throughputs.rate(g, job.model, 1) for g in system.cluster.types] == expected


def test_all_jobs_that_cannot_run_are_told_at_once():
    jobs = [
        "{name: a, model: A3D, steps: 5}",
        "{name: b, model: A3C, steps: 5, workers: 2}",
        "{name: c, model: LM (batch size 5), steps: 5, workers: 64}",
        "{name: d, steps: 5, throughputs: {p100: 3}}",
        "{name: e, steps: 5, throughputs: {k80: 3}, workers: 8}",
        "{name: f, steps: 5, kind: interactive, workers: 10}",
        "{name: g, model: gpt2, steps: 5, kind: inference, rate: 9000/s}",
    ]
    told = problems(f"{{jobs: [{', '.join(jobs)}]}}")
    assert [p.partition(": ")[0] for p in told] == [f"training.jobs[{i}]" for i in range(len(jobs))]
    assert "use one of A3C" in told[0]
    assert "more than the 6 GPUs" in told[4]
    assert "9000 queries/s" in told[6]


OF_GPT2 = "{{throughputs: modelled, jobs: [{{name: a, model: gpt2 (batch size {}), steps: 5}}]}}"


@pytest.mark.parametrize(
    ("servers", "training", "why"),
    [
        ("[{gpu: v100, mps: 2}]", "{generate: {}}", "divides a GPU"),
        ("[{gpu: a100-40gb, mig: '1g.5gb'}]", "{generate: {}}", "divides a GPU"),
        ("[{gpu: v100}]", "{generate: {}, regions: {groups: {eu: [1]}}}", "no server group 1"),
        ("[{gpu: v100}]", OF_GPT2.format(64), "does not fit"),
        ("[{gpu: v100}]", OF_GPT2.format(99999), "larger than 4096"),
    ],
)
def test_what_cannot_be_prepared_is_refused(servers, training, why):
    assert any(why in problem for problem in problems(training, servers))


def test_entities_regions_and_measured_jobs_are_carried_over():
    jobs = "[{name: a, model: A3C, steps: 5, entity: two}, {name: b, model: A3C, steps: 5}]"
    system = prepared(f"{{jobs: {jobs}, regions: {{groups: {{eu: [0, 2], us: [1]}}}}}}")
    assert [g.region for g in system.cluster.groups] == ["eu", "us", "eu"]
    assert [j.entity for j in system.jobs] == ["two", ""]
    assert prepared("{generate: {jobs: 9, measured: [2, 5]}}").window == (2, 5)


def test_inference_replicas_serve_the_rate_on_different_servers():
    jobs = "[{name: web, model: resnet50, steps: 3600, kind: inference, rate: 600/s, workers: 4}]"
    system = prepared(f"{{jobs: {jobs}}}")
    held = {job.name: job.workers for job in system.jobs}
    assert held == {"web on k80": 3, "web on v100": 1}
    assert sum(job.rate for job in system.jobs) == pytest.approx(600)
    for job in system.jobs:
        gpu = job.name.rpartition(" ")[2]
        assert job.workers <= len(system.cluster.nodes[gpu])
        assert system.throughputs.rate(gpu, job.model, job.workers) == 1
    assert any("queries/s on" in note for note in system.notes)


def test_the_slo_bounds_the_load_of_a_replica():
    """With exponential response times of rate μ − λ, 95 % are within the SLO exactly at the bound."""
    mu, slo = 40.0, 0.1
    most = replica_capacity(mu, slo)
    assert 1 - exp(-(mu - most) * slo) == pytest.approx(0.95)
    assert replica_capacity(mu, 100.0) == MOST_LOAD * mu
    assert replica_capacity(mu, 0.0) == 0


@examples(40)
@given(
    st.lists(st.tuples(st.floats(0, 9), st.integers(0, 3), st.floats(0, 5)), min_size=1, max_size=3),
    st.integers(1, 5),
    st.floats(0.1, 20),
)
def test_the_cheapest_replicas_are_found(types, replicas, rate):
    """Against every possible choice."""
    names = [f"g{i}" for i in range(len(types))]
    capacity, servers, prices = (dict(zip(names, column, strict=True)) for column in zip(*types, strict=True))
    found = choose_replicas(rate, replicas, capacity, servers, prices)
    costs = [
        sum(n * prices[g] for g, n in zip(names, counts, strict=True))
        for counts in product(*(range(servers[g] + 1 if capacity[g] > 0 else 1) for g in names))
        if sum(counts) == replicas
        and sum(n * capacity[g] for g, n in zip(names, counts, strict=True)) >= rate * (1 - 1e-9)
    ]
    assert (found is None) == (not costs)
    if found is not None:
        assert sum(found.values()) == replicas
        assert sum(n * prices[g] for g, n in found.items()) == pytest.approx(min(costs))


@pytest.mark.parametrize("batch", [16, 32, 64, 128])
def test_modelled_resnet50_is_near_what_was_measured(batch):
    """Ratio modelled/measured on one V100: 1.28, 1.04, 1.01, 0.91; P100 1.01 to 1.26; K80 1.4 to 1.6."""
    graph, measured = load_sample("resnet50"), f"ResNet-50 (batch size {batch})"
    for gpu, least, most in (("v100", 0.85, 1.35), ("p100", 0.9, 1.35), ("k80", 0.9, 2.4)):
        step = training_step(graph, find_device(gpu), CostOptions(STACK, "fp32", batch))
        ratio = step.steps_per_s(1, 1e9, 0.0) / TABLE.rate(gpu, measured, 1)
        assert least < ratio < most, (gpu, ratio)


def test_modelled_rates_scale_less_than_linearly_and_worse_when_spread():
    training = "{throughputs: modelled, generate: {jobs: 5, multi_gpu: true}}"
    system = prepared(training, "[{gpu: a100-40gb, gpus: 8, count: 2}, {gpu: t4, count: 8}]")
    table = system.throughputs
    assert set(table.provenance.values()) == {"modelled"}
    assert "modelled" in system.notes[0]
    for gpu in ("a100-40gb", "t4"):
        single = table.rate(gpu, "resnet50 (batch size 64)", 1)
        rates = [table.rate(gpu, "resnet50 (batch size 64)", k) for k in (1, 2, 4, 8)]
        assert rates == sorted(rates)
        assert all(rate <= k * single for k, rate in zip((1, 2, 4, 8), rates, strict=True))
    apart = [table.spread[key] / rate for key, rate in table.alone.items() if key.workers > 1]
    assert min(apart) < 0.999
    assert max(apart) <= 1
    assert {key.model for key in table.alone} <= set(drawn_models())
    # a ring moves every byte twice but a part
    for workers in (2, 4, 8):
        assert all_reduce_s(1e9, workers, 1e9, 0) == pytest.approx(2 * (workers - 1) / workers)
    assert all_reduce_s(0, 8, 1e9, 1e-3) == pytest.approx(14e-3)


BAD = """
version: 1
cluster: {servers: [{gpu: v1000}]}
training:
  throughputs: gavle
  trace: missing.trace
  policies: [isolated, isolatedd]
  prices: {k800: 1}
  entities: {team: {weight: -1}}
  jobs:
    - {name: a, model: ResNet-50 (batch size 65), steps: 5, entity: teem}
    - {name: b, throughputs: {p10: 3}, steps: 0}
    - {name: c, steps: 5}
"""
FILES = """
version: 1
cluster: {servers: [{gpu: v100}]}
training:
  throughputs: tables/mine.csv
  jobs:
    - {name: a, model: x, steps: 5}
    - {name: s, model: nets/own.onnx, steps: 60, kind: inference, rate: 5/s}
"""


def open_problems(text, folder):
    with pytest.raises(ScenarioError) as caught:
        open_bytes(text.encode(), "a.yaml", Sources(folder))
    return caught.value.problems


def test_one_pass_lists_every_problem_and_missing_files(tmp_path):
    parts = "throughputs trace policies[1] prices entities.team.weight jobs[0].entity jobs[1].throughputs"
    wanted = {f"training.{part}" for part in (*parts.split(), "jobs[1].steps", "jobs[2]")}
    assert {p.partition(": ")[0] for p in open_problems(BAD, tmp_path)} >= {"cluster.servers[0].gpu", *wanted}
    near = open_problems(BAD.replace("gavle", "gavel"), tmp_path)
    assert any("use ResNet-50 (batch size 64)" in problem for problem in near)
    assert any(p.startswith("training.trace: 'missing.trace' is not a file here") for p in near)


@pytest.mark.parametrize(
    ("training", "why"),
    [
        ("{}", "give exactly one of the four"),
        ("{generate: {}, jobs: [{name: a, model: A3C, steps: 1}]}", "give exactly one of the four"),
        ("{generate: {jobs: 10, measured: [0, 10]}}", "first and last number"),
        ("{generate: {jobs: 10, measured: [5, 4]}}", "first and last number"),
        ("{jobs: [{name: a, model: A3C, steps: 1}, {name: a, model: A3C, steps: 1}]}", "called 'a'"),
        ("{jobs: [{name: a, model: gpt2, steps: 1, kind: inference}]}", "go together"),
        ("{jobs: [{name: a, model: A3C, steps: 1, rate: 3/s}]}", "go together"),
        ("{jobs: [{name: a, model: A3C, duration: 3 h}]}", "in place of steps"),
        ("{jobs: [{name: a, steps: 5, duration: 3 h, kind: interactive}]}", "in place of steps"),
        ("{jobs: [{name: a, duration: long, kind: interactive}]}", "is not a time"),
        ("{jobs: [{name: a, model: A3C, steps: 1, latency_slo: 1 s}]}", "use slo for a deadline"),
    ],
)
def test_what_does_not_go_together_is_refused(training, why):
    text = f"{{version: 1, cluster: {{servers: [{{gpu: v100}}]}}, training: {training}}}"
    with pytest.raises(ScenarioError, match=why):
        parse_scenario(text)


@pytest.mark.parametrize("broken", ["1", "[]", "{jobs: 3}", "{jobs: [1], policies: {a: 1}}", "{prices: [1]}"])
def test_whatever_the_part_holds_the_look_at_its_names_does_not_break(broken, tmp_path):
    assert open_problems(f"version: 1\ncluster: {{servers: [{{}}]}}\ntraining: {broken}\n", tmp_path)


def test_trace_table_and_models_travel_in_a_bundle(tmp_path):
    for folder, name in (("tables", "mine.csv"), ("nets", "own.onnx")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes(name.encode())
    scenario = parse_scenario(FILES)
    assert [(f.place, f.name, f.kind) for f in named_files(scenario)] == [
        ("training.jobs[1].model", "nets/own.onnx", "model"),
        ("training.throughputs", "tables/mine.csv", "throughputs"),
    ]
    data = pack_bundle(scenario, Sources(tmp_path))
    opened = open_bytes(data, "x.nona.zip", Sources())
    assert file_names(opened.scenario) == ["own.onnx", "mine.csv"]
    assert opened.sources.read("mine.csv") == b"mine.csv"
    assert set(read_bundle(data)) == {"scenario.yaml", "own.onnx", "mine.csv"}
    back = with_files_renamed(
        opened.scenario, {"own.onnx": "nets/own.onnx", "mine.csv": "tables/mine.csv"}.get
    )
    assert scenario_hash(back) == scenario_hash(scenario)


def test_a_batch_size_stays_when_a_file_is_renamed():
    text = FILES.replace("tables/mine.csv", "modelled").replace("model: x", "model: a.onnx (batch size 8)")
    renamed = with_files_renamed(parse_scenario(text), lambda name: f"new-{name}")
    assert file_names(renamed) == ["new-a.onnx", "new-nets/own.onnx"]
    assert [job.model for job in renamed.training.jobs] == ["new-a.onnx (batch size 8)", "new-nets/own.onnx"]


@pytest.mark.parametrize(
    "command",
    [["simulate"], ["place"], ["serverless"], ["sweep", "--key", "load", "--values", "0.5,1"], ["capacity"]],
)
def test_commands_for_queries_say_that_there_are_none(command, tmp_path, capsys):
    path = tmp_path / "plan.yaml"
    path.write_text("{cluster: {servers: [{gpu: v100}]}, training: {generate: {}}, serverless: {}}")
    assert "nona training simulate" in refusal(capsys, command[0], path, *command[1:])


def test_every_demo_prepares():
    demos = {name: load_scenario(scenario_path(name)) for name in scenario_names()}
    shown = [name for name, demo in demos.items() if demo.training and not demo.training.elastic]
    assert len(shown) >= 6
    for name in shown:
        assert prepare_training(demos[name], Sources(scenario_path(name).parent)).jobs
        assert demos[name].description
