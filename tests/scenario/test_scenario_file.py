"""Scenarios: whatever comes in becomes a valid one that can be written again, or one line per problem."""

import math
import pickle
import re
import time
import zipfile
from base64 import urlsafe_b64encode
from functools import partial
from io import BytesIO
from json import dumps
from zlib import compress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.app.session.share import unpack
from nona.cli.main import main
from nona.core.errors import ScenarioError
from nona.core.units import parse_quantity, quantity_text
from nona.scenario import file
from nona.scenario.gate import MAX_PROBLEMS
from nona.scenario.lookup import Sources
from nona.scenario.opening import open_bytes, open_scenario
from nona.scenario.schema import Scenario

CLUSTER, ROW = {"servers": [{"count": 8}]}, {"model": "a", "rate": 1}
WORKLOAD = [{"model": "resnet18", "rate": "300/s", "slo": "40 ms"}]
MINIMAL = {"version": 1, "cluster": CLUSTER, "workload": WORKLOAD}
HEAD = "version: 1\ncluster: {servers: [{count: 2}]}\nworkload: [{model: gpt2, rate: 5}]\n"
FULL = """
version: 1
name: Vision and language on eight servers
seed: 7
cluster:
  servers:
    - {count: 8, gpu: a100-40gb, gpus: 1, vcpus: 16, mig: "3g.20gb, 2g.10gb, 2g.10gb"}
  network: {capacity: 25 Gbit/s, latency: 20 us, discipline: processor-sharing}
background:
  compute: {utilization: 0.2, mean_service: 5 ms, scv: 1}
  network: {utilization: 40 %, mean_size: 1 MB, scv: 1}
workload:
  - {model: resnet18, rate: 300/s, slo: 40 ms}
  - {model: my_workflow.json, rate: 20/s, slo: 200 ms, arrivals: {process: gamma, cv: 3}, service_scv: 0.1}
simulation: {jobs: 20000, replications: 5, warmup: auto}
schedulers: [nona, {expert: {resnet18: local}}, spark-fair]
"""


def problems(read, *given):
    """The lines that ``read`` says; each is printable and a sentence."""
    with pytest.raises(ScenarioError) as caught:
        read(*given)
    for line in caught.value.problems:
        assert line.isprintable(), line
        assert line.endswith((".", "?")), line
    return caught.value.problems


def refused(text):
    return problems(open_bytes, text.encode("utf-8", "surrogatepass"), "s.yaml", Sources(in_memory={}))


def test_quantities_are_read_in_si_and_come_back_from_yaml_json_and_pickle():
    s = file.parse_scenario(FULL)
    assert s.cluster.network.capacity == 25e9 / 8
    assert s.cluster.network.latency == pytest.approx(20e-6)
    assert s.background.network.utilization == pytest.approx(0.4)
    assert s.workload[1].rate == 20
    assert s.schedulers[1].options == {"resnet18": "local"}
    assert s.labels == ("resnet18", "my_workflow")
    assert file.parse_scenario(file.dump_scenario(s)) == s
    assert file.parse_scenario(s.model_dump_json()) == s
    assert pickle.loads(pickle.dumps(s)) == s
    other = s.model_copy(update={"name": "other"})
    assert file.scenario_hash(s) != file.scenario_hash(other)
    assert file.scenario_hash(s, "cluster", "workload") == file.scenario_hash(other, "cluster", "workload")
    repeated = Scenario.model_validate(MINIMAL | {"workload": [ROW, ROW, ROW | {"name": "big"}]})
    assert repeated.labels == ("a", "a #2", "big")


@examples(60)
@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e4), st.floats(1.0, 1e12), st.integers(0, 2**62))
def test_round_trip_keeps_every_bit(rate, slo, capacity, seed):
    cluster = {"servers": [{}], "network": {"capacity": capacity}}
    workload = [{"model": "m", "rate": rate, "slo": slo}]
    s = file.scenario_from_mapping({"version": 1, "seed": seed, "cluster": cluster, "workload": workload})
    assert file.parse_scenario(file.dump_scenario(s)) == s


@given(st.floats(1e-9, 1e12), st.sampled_from(["time", "size", "bandwidth", "rate", "fraction"]))
@examples(200)
def test_quantity_text_is_exact(value, dimension):
    assert parse_quantity(quantity_text(value, dimension), dimension) == value


BATCHING = "workload[0].batching"


def row(**more):
    return {"workload": [ROW | more]}


def network(**more):
    return {"cluster": {"servers": [{}], "network": more}}


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        (row(rate="40 ms"), "workload[0].rate", "is not a rate"),
        (row(rate=-3), "workload[0].rate", "-3 must be greater than 0"),
        (row(rate=math.inf), "workload[0].rate", "must be finite"),
        (row(slo="nan"), "workload[0].slo", "is not a time"),
        ({"workload": [{"rate": 1}]}, "workload[0].model", "is missing"),
        (row(slow=3), "workload[0].slow", "not a known key"),
        ({"clutser": 3}, "clutser", "not a known key"),
        ({"seed": -1}, "seed", "-1 must be at least 0"),
        (row(rate="1e12/s"), "workload[0].rate", "must be at most 1,000,000,000/s; lower"),
        ({"version": 2}, "version", "choose one of these"),
        ({"simulation": {"warmup": "long"}}, "simulation.warmup", "'auto' or a whole number"),
        ({"background": {"network": {"utilization": 1}}}, "background.network.utilization", "less than 1"),
        ({"cluster": {"servers": [{"count": 0}]}}, "cluster.servers[0].count", "at least 1"),
        (row(arrivals={"process": "trace"}), "workload[0].arrivals", "go together"),
        (row(batching={"max_batch": 0}), f"{BATCHING}.max_batch", "0 must be at least 1; raise it"),
        (row(batching={"max_batch": -1}), f"{BATCHING}.max_batch", "-1 must be at least 1; raise it"),
        (row(batching={"max_batch": 1.5}), f"{BATCHING}.max_batch", "1.5 must be a whole number; round it"),
        (row(batching={"max_batch": 10**9}), f"{BATCHING}.max_batch", "must be at most 1,024; lower it"),
        (row(batching={"delay": "-1 ms"}), f"{BATCHING}.delay", "'-1 ms' must be at least 0; raise it"),
        (row(batching={"rule": "soon"}), f"{BATCHING}.rule", "'triton' or 'static'; choose one"),
        (row(batching={"form_ahead": 3}), f"{BATCHING}.form_ahead", "3 must be at most 2; lower it"),
        (row(batching={"per_query": "120 %"}), f"{BATCHING}.per_query", "at most 1 (100 %); lower it"),
        (row(batching={"preferred": [4, 16]}), BATCHING, "which no batch has; leave them out, or raise"),
        (row(batching={"allowed": [2, 8]}), BATCHING, "must have 1, for a query alone; add it"),
        (row(batching={"allowed": [1, 4]}), BATCHING, "must reach max_batch 8, or larger batches have no"),
        ({"batching": 7}, "batching", "7 is not allowed"),
        (network(nic="10 apples"), "cluster.network.nic", "'10 apples' is not a bandwidth"),
        (network(nic=0), "cluster.network.nic", "0 must be greater than 0"),
        (network(racks={"size": 2, "uplink": 1e9}), "cluster.network", "racks without nic"),
        (network(nic=1, racks={"size": 0, "uplink": 1}), "cluster.network.racks.size", "must be at least 1"),
        (network(nic=1, racks={"size": 2}), "cluster.network.racks.uplink", "is missing"),
        (
            network(nic=1, racks={"size": 2, "uplink": 1, "x": 1}),
            "cluster.network.racks.x",
            "not a known key",
        ),
        (network(nic=1, discipline="processor-sharing"), "cluster.network", "is for a single link"),
        ({"name": "a\ud800"}, "name", "surrogate"),
        ({"models": {"m\udfff.json": {}}}, "models", "surrogate"),
        ({"models": {"m.json": {"nodes": [{"id": "\ud800"}]}}}, "models.m.json.nodes[0].id", "surrogate"),
        ({"description": "\udc80"}, "description", "surrogate"),
    ],
)
def test_each_problem_names_place_and_rule(change, place, words):
    (line,) = problems(file.scenario_from_mapping, MINIMAL | change)
    assert placed(line) == place, line
    assert words in line, line


def placed(problem):
    """The place that a problem names, without the title of its field."""
    return re.fullmatch(r"(.*?)( \([^()]*\))?", problem.partition(": ")[0])[1]


def test_a_place_whose_key_is_short_has_the_title_of_its_field():
    lines = problems(
        file.scenario_from_mapping, MINIMAL | {"seed": -1, "simulation": {"warmup": "x", "jobs": 0}}
    )
    assert [line.partition(": ")[0] for line in lines] == [
        "seed",
        "simulation.jobs",
        "simulation.warmup (Warm-up)",
    ]


BAD = """
version: 1
cluster: {servers: [{count: 0, gpu: a1000}, {gpu: t4, mig: 3g.20gb}], devices: {mine: {bandwith: 1}}}
workload:
  - {model: resnet19, rate: 10 apples}
  - {model: my.onnx, rate: 3, arrivals: {process: trace, trace: hours.csv}}
cost: {measured: table.csv}
serverless: {policies: [esgg]}
schedulers: [nonna, local]
plan: {offers: ["l4=1", "a1000=2"], schedulers: [guess], profile: week.csv, growth: fast}
"""


BAD_PLACES = """
cluster.servers[0].count cluster.devices cluster.servers[0].gpu cluster.servers[1] workload[0].rate
workload[0].model workload[1].model workload[1].arrivals.trace cost.measured schedulers[0]
serverless.policies[0] plan.growth plan.schedulers[0] plan.offers[1] plan.profile
"""


def test_one_pass_lists_every_problem_names_that_stand_for_nothing_included(tmp_path, capsys):
    path = tmp_path / "bad.yaml"
    path.write_text(BAD)
    assert sorted(placed(p) for p in problems(open_scenario, path)) == sorted(BAD_PLACES.split())
    assert main(["simulate", str(path)]) == 2
    told = capsys.readouterr().err
    assert all(place in told for place in BAD_PLACES.split())
    assert told.count("\n") == 1, "programs get one line"


def test_files_may_be_uploaded_later_unless_there_is_more(tmp_path):
    missing = b"{version: 1, cluster: {servers: [{}]}, workload: [{model: my.onnx, rate: 1}]}"
    uploads = "a.yaml", Sources(tmp_path, confined=True)
    assert open_bytes(missing, *uploads, files_may_be_missing=True).scenario
    read = partial(open_bytes, files_may_be_missing=True)
    _, second = problems(read, missing.replace(b"n: 1", b"n: 2"), *uploads)
    assert "bundle" in second
    with pytest.raises(ScenarioError, match="nowhere"):
        file.load_scenario(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"%PDF-1.7\n%\xe2\xe3", "a PDF document"),
        (b"\x89PNG\r\n", "a picture"),
        (b"\x1f\x8b\x08", "a gzip archive"),
        (b"a\x00b", "not a text file"),
        (b"\xff\xfea\x00", "not text in UTF-8"),
        (b" \n", "empty"),
    ],
)
def test_a_file_of_another_kind_is_named_in_plain_words(data, what):
    with pytest.raises(ScenarioError) as caught:
        file.scenario_text(data, "plan.pdf")
    assert str(caught.value) == f"Scenario 'plan.pdf': it is {what}; give a YAML, JSON or .nona.zip file."


NUMBERS = {"hexadecimal": "0x" + "f" * 5000, "binary": "0b" + "1" * 5000, "sexagesimal": "1" + ":10" * 2500}
TAGGED = ('!!int ""', "!!bool x", "!!timestamp x", "!!binary gICA", "!!float x", "2020-01-01", "!!set {a}")
SEED, MODEL = "seed: {}", "models: {{m.json: {{nodes: [{{id: a, x: {}}}]}}}}"


@pytest.mark.parametrize("place", [SEED, MODEL, "schedulers: [{{nona: {{x: {}}}}}]", "device"])
@pytest.mark.parametrize("value", [*NUMBERS.values(), *TAGGED], ids=[*NUMBERS, *TAGGED])
def test_values_that_no_scenario_may_hold_are_refused_in_one_line(place, value):
    of_a_device = HEAD.replace("}]}", f"}}], devices: {{d: {{sms: {value}}}}}}}")
    assert len(refused(of_a_device if place == "device" else HEAD + place.format(value) + "\n")) == 1


GROUPS = ("gpu: a100", "mig: nonsense", "mig: '1g.5gb, 9g.90gb'", "gpu: t4, mig: 1g.5gb", "mig: ','")
BROKEN = [
    "cluster: 1",
    "cluster: {servers: 3}",
    "workload: [1, {model: 2}]",
    "schedulers: {a: 1}",
    "cost: []",
]
HOSTILE = [
    *("", "[1, 2]", "a: [", "a: &x [1]\nb: *x", "[" * 100 + "]" * 100, "\x00"),
    *("!!python/object/apply:os.system ['true']", "version: 1\nversion: " + "9" * 5000),
    *(f"version: 1\n{broken}\n" for broken in BROKEN),
    *(HEAD.replace("{count: 2}", f"{{{group}}}") for group in GROUPS),
    *(HEAD.replace("rate: 5", "rate: 1" + "0" * digits) for digits in (20, 120, 400, 5000)),
    *(HEAD.replace("rate: 5", "rate: '1" + "0" * digits + "/s'") for digits in (20, 5000)),
    HEAD + 'name: "a\\ud800"\n',
]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        *((text, []) for text in HOSTILE),
        (HEAD + "seed: 1\nseed: 2\n", ["line 5", "line 4", "'seed'"]),
        (HEAD.replace("{count: 2}", "{count: 100000, gpus: 64}"), ["6,400,000 executors"]),
        ('{"nodes": [{"id": "a"}], "edges": []}', ["name its file in a row of the workload"]),
    ],
)
def test_hostile_text_the_same_key_twice_too_much_and_unknown_hardware_are_lines(text, told):
    lines = refused(text)
    assert all(word in lines[0] for word in told)


def test_of_many_unknown_keys_the_first_are_named_and_the_rest_counted():
    lines = refused(HEAD + "".join(f"k{i}: 1\n" for i in range(20_000)))
    assert len(lines) == MAX_PROBLEMS + 1
    assert "19,980 more" in lines[-1]
    assert sum(map(len, lines)) < 5000


def test_what_is_larger_than_the_limits_is_refused_quickly():
    start = time.process_time()
    assert "values" in refused(HEAD + "models: {m.json: {nodes: [" + "1," * 1_500_000 + "1]}}\n")[0]
    assert "MB" in refused(HEAD + "description: " + "x" * 14_000_000)[0]
    assert time.process_time() - start < 20


def bundle(data):
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("scenario.yaml", data)
    return out.getvalue()


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates() | st.binary()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
KEYS = "name seed cluster workload models schedulers background cost training serverless"


@examples(150)
@given(st.sampled_from(KEYS.split()), VALUES, st.binary(max_size=60), st.text(max_size=60))
def test_every_entry_returns_a_scenario_or_lines(key, value, noise, text):
    whole = {"version": 1, "cluster": {"servers": [{}]}, "workload": [{"model": "gpt2", "rate": 1}]}
    shared = dumps({"s": {k: v for k, v in whole.items() if k != key}, "c": text}).encode()
    link = "1." + urlsafe_b64encode(compress(shared)).rstrip(b"=").decode()
    for entry in (
        lambda: file.scenario_from_mapping({**whole, key: value}),
        lambda: file.parse_scenario(text),
        lambda: file.parse_scenario(f"{HEAD}{key}x: {text}"),
        lambda: open_bytes(noise, "n.yaml", Sources()).scenario,
        lambda: open_bytes(bundle(noise), "n.nona.zip", Sources()).scenario,
        lambda: unpack(link).scenario,
        lambda: unpack("1." + text).scenario,
    ):
        try:
            scenario, lines = entry(), ()
        except ScenarioError as error:
            scenario, lines = None, error.problems
        assert all(p.isprintable() for p in lines)
        assert (scenario is None) == bool(lines)
        if scenario is not None:
            assert file.parse_scenario(file.dump_scenario(scenario)) == scenario
            assert file.scenario_hash(scenario)
