"""Jobs and throughputs: generated, in traces and tables, read, written, refused."""

import csv
import re
from dataclasses import replace
from importlib.resources import files
from io import StringIO
from math import log
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.core.errors import ScenarioError, SimulationError
from nona.core.rows import MOST_PROBLEMS
from nona.scenario.file import load_scenario, parse_scenario
from nona.scenario.lookup import Sources
from nona.scenario.sample_files import scenario_names, scenario_path
from nona.scenario.training import GenerateSpec
from nona.training.generated_jobs import MODELS, generate, models_of
from nona.training.job_files import (
    LENGTHS,
    OPTIONAL,
    TEMPLATE,
    TraceJob,
    read_job_table,
    read_trace,
    reference_rate,
    trace_jobs,
    write_trace,
)
from nona.training.system import AloneKey, Throughputs, TrainingJob
from nona.training.throughput_table import read_throughputs, shipped_throughputs
from nona.training.workflows.preparation import has_trace, job_trace, prepare_training
from tests.cli.calling import refusal, text

TABLE = shipped_throughputs()
LINE = "LM (batch size 5)\tpython main.py\tlanguage_modeling\t--steps\t1\t392999\t2\t1\t-1.000000\t0"
positive = st.floats(1e-6, 1e12)
some_text = st.text(st.characters(categories=("L", "N", "Zs")), min_size=1, max_size=12).map(str.strip)
names = some_text.filter(lambda name: name != "" and name.isprintable())


maybe = st.none() | st.floats(0, 1e9)
TRACED = st.builds(
    TraceJob,
    st.sampled_from(MODELS),
    positive,
    st.integers(1, 8),
    positive,
    st.none() | st.floats(0, 100),
    st.floats(0, 1e9),
)
LISTED_JOB = st.builds(
    TrainingJob,
    name=names,
    model=names,
    steps=positive,
    workers=st.integers(1, 64),
    weight=positive,
    slo_s=maybe,
    arrival_s=st.floats(0, 1e9),
    entity=names,
    kind=st.sampled_from(["training", "interactive", "inference"]),
    rate=st.floats(0, 1e9),
    latency_slo_s=maybe,
    checkpoint_bytes=st.floats(0, 1e15),
    region=names,
)


def job_table(jobs):
    out = StringIO()
    writer = csv.DictWriter(out, ("name", *LENGTHS[0], *OPTIONAL[1:]))
    writer.writeheader()
    for job in jobs:
        row = {key: str(getattr(job, key)) for key in ("name", "model", "entity", "kind", "region")}
        numbers = {"steps": job.steps, "workers": job.workers, "weight": job.weight, "slo": job.slo_s}
        numbers |= {"arrival": job.arrival_s, "rate": job.rate or None, "latency_slo": job.latency_slo_s}
        numbers["checkpoint"] = job.checkpoint_bytes
        writer.writerow(row | {key: "" if n is None else repr(n) for key, n in numbers.items()})
    return out.getvalue()


@examples(40)
@given(
    st.lists(TRACED, min_size=1, max_size=8),
    st.lists(LISTED_JOB, min_size=1, max_size=6, unique_by=lambda job: job.name),
)
def test_traces_and_tables_that_are_written_are_read_back(traced, listed):
    traced, listed = (tuple(sorted(jobs, key=lambda job: job.arrival_s)) for jobs in (traced, listed))
    assert read_trace(write_trace(traced).encode(), "t.trace") == traced
    assert read_job_table(job_table(listed).encode(), "t.csv") == listed


def test_a_line_of_the_original():
    jobs = read_trace((LINE + "\n").encode(), "t.trace")
    assert jobs == (TraceJob("LM (batch size 5)", 392999, 2),)
    assert trace_jobs(jobs, TABLE) == (TrainingJob("0", "LM (batch size 5)", 392999, 2),)


def test_deadlines_are_multiples_of_the_duration_on_a_v100():
    job = TraceJob("CycleGAN", 1000, slo_factor=1.2)
    assert trace_jobs([job], TABLE)[0].slo_s == pytest.approx(1200 / TABLE.rate("v100", "CycleGAN", 1))
    with pytest.raises(ScenarioError, match="job 0 has an SLO, but 'unknown'"):
        trace_jobs([replace(job, model="unknown")], TABLE)
    assert trace_jobs([replace(job, model="unknown", slo_factor=None)], TABLE)[0].slo_s is None
    assert reference_rate(TABLE, "CycleGAN", 2) == 0


def test_all_problems_of_a_trace_are_told_at_once():
    cells = LINE.split("\t")

    def changed(place, value):
        return "\t".join(value if i == place else c for i, c in enumerate(cells))

    wrong = ["a\tb", changed(4, "2"), changed(5, "0"), changed(6, "1.5"), changed(7, "-1"), changed(8, "inf")]
    lines = [changed(9, "60"), *wrong, changed(9, "x"), changed(9, "59"), changed(0, "")]
    with pytest.raises(ScenarioError) as caught:
        read_trace("\n".join(lines).encode(), "t.trace")
    told = [problem.partition(": ")[0] for problem in caught.value.problems]
    # An unreadable line counts as one at time 0, and is not told twice; line 4 onwards arrive before line 1.
    assert told == [f"Trace 't.trace', line {n}" for n in (2, 3, 4, 5, 6, 7, 8, 9, 10)]
    assert "must not be before" in caught.value.problems[7]


RATES = "gpu,model,workers,steps_per_s"
PLACED = "worker_type,placement,model,batch_size,scale_factor,steps_per_s\nk80,near,A3C,,1,2\n"


@pytest.mark.parametrize(
    ("read", "data", "why"),
    [
        (read_trace, "", "it has no jobs"),
        (read_trace, "\n \n", "it has no jobs"),
        (read_trace, "name,model\n", "1 columns where 10"),
        (read_trace, LINE.replace("392999", "1e400"), "steps='1e400' must be a number"),
        (read_trace, LINE.replace("LM", "L\x07M"), "printable"),
        (read_trace, LINE.replace("LM", "L" * 300), "1 to 200"),
        (read_trace, LINE.replace("\t2\t", "\t" + "9" * 30 + "\t"), "scale factor"),
        (read_job_table, "", "it is empty"),
        (read_job_table, "model,steps\n", "it has no jobs"),
        (read_job_table, "model\nA3C\n", "give hours and gpu or model and steps"),
        (read_job_table, "model,steps,colour\n", "'colour' is not known"),
        (read_job_table, "model,steps,steps\n", "appears twice"),
        (read_job_table, "model,steps\nA3C\n", "1 cells where the header has 2"),
        (read_job_table, "model,steps\nA3C,0\n", "above 0"),
        (read_job_table, "model,steps\nA3C,\n", "steps='' must be a number"),
        (read_job_table, "model,steps,slo\nA3C,1,5 apples\n", "not a time"),
        (read_job_table, "model,steps,arrival\nA3C,1,-5\n", "from 0 to"),
        (read_job_table, "model,steps,kind\nA3C,1,game\n", "training, interactive, inference"),
        (read_job_table, "model,steps,workers\nA3C,1,0.5\n", "whole number"),
        (read_job_table, "name,model,steps\na,A3C,1\na,A3C,1\n", "that of line 2"),
        (read_throughputs, "", "it is empty"),
        (read_throughputs, "gpu,model,steps_per_s\na,m,1\n", "'workers' is missing"),
        (read_throughputs, f"{RATES},hue\n", "'hue' is not known"),
        (read_throughputs, f"gpu,{RATES}\n", "appears twice"),
        (read_throughputs, f"{RATES}\n", "no job can run"),
        (read_throughputs, f"{RATES}\na,m,1,0\n", "no job can run"),
        (read_throughputs, 'gpu,model\n"a' + "x" * 200_000, "is missing|no CSV"),
        (read_throughputs, PLACED, "must be consolidated or unconsolidated"),
    ],
)
def test_broken_files_are_refused(read, data, why):
    subject = {read_trace: "Trace", read_job_table: "Table of jobs", read_throughputs: "Table of throughputs"}
    for sent, told in ((data.encode(), why), (b"\xff\xfe\n", "not UTF-8")):
        with pytest.raises(ScenarioError, match=told) as caught:
            read(sent, "f")
        assert all(p.startswith(f"{subject[read]} 'f'") and "\n" not in p for p in caught.value.problems)


def test_units_defaults_and_order():
    text = "steps,model,arrival,checkpoint,slo\n5,A3C,1 h,2 GB,\n7,LM,30 min,,90 min\n"
    late, early = read_job_table(text.encode(), "j.csv")[::-1]
    assert (early.name, early.arrival_s, early.slo_s, early.steps) == ("1", 1800, 5400, 7)
    assert (late.name, late.arrival_s, late.checkpoint_bytes, late.weight) == ("0", 3600, 2e9, 1)


HEADS = {read_trace: "", read_job_table: "model,steps\n", read_throughputs: f"{RATES}\n"}


@pytest.mark.parametrize("read", HEADS)
@examples(60)
@given(st.binary(max_size=200) | st.text("\t\n1aA.,-e\0\"'", max_size=200).map(str.encode), st.booleans())
def test_any_bytes_give_what_is_read_or_lines(read, data, headed):
    problems = ()
    try:
        found = read((HEADS[read].encode() if headed else b"") + data, "f")
        assert found if read is not read_throughputs else min(found.alone.values()) > 0
    except ScenarioError as error:
        problems = error.problems
    assert len(problems) <= MOST_PROBLEMS + 1
    assert all("\n" not in p for p in problems)


@pytest.mark.parametrize(("several", "weights", "deadlines"), [(True, True, True), (False, False, False)])
def test_draw_by_draw_as_specified(several, weights, deadlines):
    """Written out once more from the specification, job by job; sizes are drawn where all are 1 too."""
    jobs, arrivals, slos = Random(7 + 2), Random(7 + 3), Random(7 + 6)
    now = 0.0
    for number, job in enumerate(
        generate(
            GenerateSpec(jobs=200, mean_gap=450, multi_gpu=several, weights=weights, slos=deadlines), TABLE, 7
        )
    ):
        u = jobs.uniform(0, 1)
        size = 1 if not several else 8 if u >= 0.95 else 4 if u >= 0.8 else 2 if u >= 0.7 else 1
        seconds = 60 * 10 ** jobs.uniform(3, 4) if jobs.random() >= 0.8 else 60 * 10 ** jobs.uniform(1.5, 3)
        model = jobs.choice(MODELS)
        while size > 1 and model not in MODELS[:19]:
            model = jobs.choice(MODELS)
        weight = 5.0 if weights and jobs.uniform(0, 1) <= 0.2 else 1.0
        v = slos.uniform(0, 1)
        slo = None if not deadlines else 1.2 if v < 0.33 else 2.0 if v < 0.67 else 10.0
        steps = seconds * TABLE.rate("v100", model, size)
        assert job == TraceJob(model, steps, size, weight, slo, now), number
        now -= log(1 - arrivals.random()) * 450


def test_another_table_gives_its_own_models_if_it_has_some_on_single_gpus():
    rates = {AloneKey("a", "x", 1): 2.0, AloneKey("b", "x", 1): 3.0, AloneKey("b", "y", 1): 1.0}
    table = Throughputs(rates | {AloneKey("b", "y", 4): 4.0}, provenance={"a": "given", "b": "given"})
    jobs = generate(GenerateSpec(jobs=400, mean_gap=0, multi_gpu=True), table, 0)
    assert {(job.model, job.workers) for job in jobs} == {("x", 1), ("y", 1), ("y", 4)}
    short = min(job.steps for job in jobs if job.model == "x")
    assert short >= 3.0 * 60 * 10**1.5  # durations are those on the fastest GPU
    assert models_of(TABLE) == MODELS
    table = Throughputs({AloneKey("a", "x", 2): 1.0}, provenance={"a": "given"}, source="t.csv")
    with pytest.raises(SimulationError, match="no model runs on a single GPU"):
        generate(GenerateSpec(jobs=1, mean_gap=0), table, 0)
    with pytest.raises(SimulationError, match="of a100-40gb"):
        generate(GenerateSpec(jobs=1, mean_gap=0), TABLE, 0, gpus={"a100-40gb": 8})


def test_jobs_fit_the_cluster_that_they_are_drawn_for():
    what = GenerateSpec(jobs=2000, mean_gap=0, multi_gpu=True)
    whole = generate(what, TABLE, 1, gpus={"k80": 8, "p100": 8, "v100": 8})
    assert whole == generate(what, TABLE, 1)
    small = generate(what, TABLE, 1, gpus={"k80": 4})
    assert {job.workers for job in small} == {1, 2, 4}
    assert all(TABLE.rate("k80", job.model, job.workers) > 0 for job in small)
    assert sum(a == b for a, b in zip(small, whole, strict=True)) > 5


def test_the_trace_holds_what_is_drawn(capsys):
    words = ("--jobs", "40", "--mean-gap", "5 min", "--multi-gpu", "--weights", "--slos", "--seed", "3")
    trace = text(capsys, "training", "generate", *words)
    drawn = generate(GenerateSpec(jobs=40, mean_gap=300, multi_gpu=True, weights=True, slos=True), TABLE, 3)
    assert read_trace(trace.encode(), "t.trace") == drawn
    assert trace == text(capsys, "training", "generate", *words)
    assert len(read_trace(text(capsys, "training", "generate").encode(), "t.trace")) == 120


@pytest.mark.parametrize(
    "words",
    [("--jobs", "0"), ("--mean-gap", "-5"), ("--mean-gap", "1e9"), ("--mean-gap", "soon"), ("--seed", "x")],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(words, capsys):
    assert words[0] in refusal(capsys, "training", "generate", *words)


GPUS = "cluster: {servers: [{gpu: v100, gpus: 8}, {gpu: k80, gpus: 8}]}"
DRAWN = "generate: {jobs: 60, mean_gap: 600 s, multi_gpu: true, weights: true, slos: true}"
LISTED = """
  jobs: [
    {name: late, model: A3C, steps: 500, arrival: 90.25, slo: 1000 s, weight: 2.5},
    {name: early, model: ResNet-50 (batch size 64), steps: 1234.5, workers: 2},
    {name: own, throughputs: {v100: 3}, steps: 9},
    {name: notebook, kind: interactive, duration: 1 h}]
"""


def with_part(part):
    return parse_scenario(f"{GPUS}\ntraining: {{{part}}}\n")


def jobs_of(part):
    return prepare_training(with_part(part)).jobs


def test_drawn_jobs_come_back_exactly(tmp_path):
    text = job_trace(with_part(DRAWN))
    (tmp_path / "drawn.trace").write_text(text)
    assert prepare_training(with_part("trace: drawn.trace"), Sources(tmp_path)).jobs == jobs_of(DRAWN)
    assert job_trace(with_part("trace: drawn.trace"), Sources(tmp_path)) == text
    modelled = job_trace(with_part(f"{DRAWN}, throughputs: modelled"))
    assert modelled.count("\n") == 60  # of a trace the modelled table has no deadlines


def test_listed_jobs_come_back_without_names(tmp_path):
    (tmp_path / "listed.trace").write_text(job_trace(with_part(LISTED)))
    before = {j.name: j for j in jobs_of(LISTED)}
    after = prepare_training(with_part("trace: listed.trace"), Sources(tmp_path)).jobs
    assert [replace(j, slo_s=None) for j in after] == [
        replace(before[old], name=new, slo_s=None) for new, old in (("0", "early"), ("1", "late"))
    ]
    assert after[0].slo_s is None
    assert after[1].slo_s == pytest.approx(1000.0)


def test_every_demo_that_has_a_trace_is_read_back(tmp_path):
    shown = [load_scenario(scenario_path(name)) for name in scenario_names()]
    shown = [s for s in shown if s.training and has_trace(s.training)]
    assert len(shown) >= 4
    for scenario in shown:
        (tmp_path / "jobs.trace").write_text(job_trace(scenario))
        part = scenario.training.model_copy(update={"trace": "jobs.trace", "generate": None, "jobs": ()})
        again = prepare_training(scenario.model_copy(update={"training": part}), Sources(tmp_path)).jobs
        before = [j for j in prepare_training(scenario).jobs if j.kind == "training"]
        told, kept = (
            sorted((j.model, j.steps, j.workers, j.weight, j.arrival_s) for j in jobs)
            for jobs in (again, before)
        )
        assert told == kept


def test_jobs_with_rates_of_their_own_alone_have_no_trace():
    own = with_part("jobs: [{name: a, throughputs: {v100: 1}, steps: 5}]")
    assert not has_trace(own.training)
    assert not job_trace(own)


MEASURED = ("k80", "p100", "v100")


def test_the_shipped_table_is_whole():
    """26 models on one GPU and 19 on 2, 4 and 8 of each type, but for what cannot run."""
    for gpu in MEASURED:
        sizes = {w: {k.model for k in TABLE.alone if (k.gpu, k.workers) == (gpu, w)} for w in (1, 2, 4, 8)}
        several = 18 if gpu == "k80" else 19
        assert [len(sizes[w]) for w in (1, 2, 4, 8)] == [26, several, several, several]
        assert TABLE.provenance[gpu] == "measured"
    assert {key.workers for key in TABLE.spread} == {2, 4, 8}
    # what the original gives as zero cannot run
    large = "ResNet-50 (batch size 128)"
    assert [TABLE.rate("k80", large, w) for w in (2, 4, 8)] == [0, 0, 0]
    assert min(TABLE.rate("k80", large, 1), TABLE.rate("p100", large, 2)) > 0
    models = sorted({key.model for key in TABLE.alone})
    zero = {g: sum(TABLE.pair(g, a, b, 1) == (0, 0) for a in models for b in models) for g in MEASURED}
    assert zero == {"k80": 87, "p100": 20, "v100": 40}
    assert {key.workers for key in TABLE.pairs} == {1}


def test_pairs_read_both_ways_and_never_gain_and_full_precision_is_kept():
    for key, (own, other) in TABLE.pairs.items():
        assert TABLE.pair(key.gpu, key.partner, key.model, 1) == (other, own)
        together = own / TABLE.rate(key.gpu, key.model, 1) + other / TABLE.rate(key.gpu, key.partner, 1)
        assert 0 < together < 2.6  # two measurements, so that a little more than 2 occurs
    text = files("nona.training").joinpath("data/throughputs.csv").read_text("utf-8")
    alone = [r for r in csv.DictReader(text.splitlines()) if not r["partner_model"]]
    assert {repr(float(r["steps_per_s"])) for r in alone} == {r["steps_per_s"] for r in alone}
    assert TABLE.rate("v100", "ResNet-50 (batch size 64)", 1) == 4.394774823323071


def test_a_simple_table_of_ones_own_and_all_problems_of_another_at_once():
    table = read_throughputs(
        b"# mine\ngpu,model,workers,steps_per_s\na,x,1,2\n\na,x,2,3.5\nb,x,1,0\n", "t.csv"
    )
    assert table.alone == {AloneKey("a", "x", 1): 2.0, AloneKey("a", "x", 2): 3.5}
    assert table.provenance == {"a": "given"}
    rows = ["a,m,0,1", "a,m,1,nan", "a,m,1", "a,,1,1", "b,m,1,2", "b,m,1,3", "c,m,1,-2"]
    text = "\n".join(["gpu,model,workers,steps_per_s", *rows])
    with pytest.raises(ScenarioError) as caught:
        read_throughputs(text.encode(), "t.csv")
    for line, problem in zip((2, 3, 4, 5, 7, 8), caught.value.problems, strict=True):
        assert problem.startswith(f"Table of throughputs 't.csv', line {line}: ")
        assert problem.endswith(".")

    with pytest.raises(ScenarioError) as caught:
        read_throughputs(b"gpu,model,workers,steps_per_s\n" + b"a,m,1,x\n" * 5000, "t.csv")
    assert len(caught.value.problems) == MOST_PROBLEMS + 1, "only the first are told"


def test_hours_on_a_stated_gpu_are_as_long_there_and_on_others_by_their_speed():
    table = b"name,model,hours,gpu,workers\na,ResNet-50 (batch size 64),2,v100,1\nb,,1,a100-40gb,1\n"
    sources = Sources(in_memory={"jobs.csv": table})
    servers = "[{gpu: v100}, {gpu: p100}, {gpu: a100-40gb}]"
    scenario = parse_scenario(f"{{cluster: {{servers: {servers}}}, training: {{trace: jobs.csv}}}}")
    system = prepare_training(scenario, sources)
    seconds = {
        (job.name, gpu): job.steps / system.throughputs.rate(gpu, job.model, 1)
        for job in system.jobs
        for gpu in ("v100", "p100", "a100-40gb")
    }
    assert seconds["a", "v100"] == pytest.approx(7200)
    model = "ResNet-50 (batch size 64)"
    measured = TABLE.rate("v100", model, 1) / TABLE.rate("p100", model, 1)
    assert seconds["a", "p100"] == pytest.approx(7200 * measured)
    assert seconds["b", "a100-40gb"] == pytest.approx(3600)
    assert seconds["b", "v100"] > seconds["b", "a100-40gb"], "an A100 has more of both FLOP/s and bandwidth"


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        ("hours,gpu\n2,v1000\n", "gpu='v1000' is no GPU; use v100"),
        ("hours,gpu\n0,v100\n", "hours='0' must be above 0"),
        ("hours,gpu\n2,\n", "gpu='' must have 1 to"),
        ("hours\n2\n", "the column 'gpu' is missing"),
        ("model,steps,hours,gpu\nA3C,5,2,v100\n", "give one of them"),
    ],
)
def test_hours_that_cannot_be_are_refused_in_a_line(rows, wrong):
    sources = Sources(in_memory={"jobs.csv": rows.encode()})
    scenario = parse_scenario("{cluster: {servers: [{gpu: v100}]}, training: {trace: jobs.csv}}")
    with pytest.raises(ScenarioError, match=re.escape(wrong)):
        prepare_training(scenario, sources)


def test_the_template_can_be_run_as_it_stands():
    sources = Sources(in_memory={"jobs.csv": TEMPLATE.encode()})
    servers = "[{gpu: a100-40gb, gpus: 8}]"
    scenario = parse_scenario(f"{{cluster: {{servers: {servers}}}, training: {{trace: jobs.csv}}}}")
    jobs = prepare_training(scenario, sources).jobs
    assert [job.name for job in jobs] == ["fine-tune", "pretrain", "sweep"]


def test_a_table_of_a_spreadsheet_with_semicolons_is_that_with_commas():
    english = '# mine\nname,hours,gpu,arrival,slo\n"a, b",2.5,v100,1.5 h,12 h\nc,30,v100,0,\n'
    semicolons = "# mine\nname;hours;gpu;arrival;slo\na, b;2,5;v100;1,5 h;12 h\nc;30;v100;0;\n"
    tabs = semicolons.replace(";", "\t")
    read = [read_job_table(text.encode(), "jobs.csv") for text in (english, semicolons, tabs)]
    assert read[0] == read[1] == read[2]
    assert read[0][1].steps == 2.5 * 3600
    assert read[0][1].name == "a, b"
