"""The scenario file: round trip, and errors that name place, value, rule and remedy."""

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import ScenarioError
from nona.scenario.file import (
    dump_scenario,
    load_scenario,
    parse_scenario,
    scenario_from_mapping,
    scenario_hash,
)
from nona.scenario.schema import Scenario
from nona.units import parse_quantity, quantity_text

MINIMAL = {
    "version": 1,
    "cluster": {"servers": [{"count": 8}]},
    "workload": [{"model": "resnet18", "rate": "300/s", "slo": "40 ms"}],
}
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


def test_quantities_are_read_in_si():
    s = parse_scenario(FULL)
    assert s.cluster.network.capacity == 25e9 / 8
    assert s.cluster.network.latency == pytest.approx(20e-6)
    assert s.background.network.utilization == pytest.approx(0.4)
    assert s.workload[1].rate == 20
    assert s.schedulers[1].options == {"resnet18": "local"}
    assert s.labels == ("resnet18", "my_workflow")


def test_round_trip_as_yaml_and_json():
    s = parse_scenario(FULL)
    assert parse_scenario(dump_scenario(s)) == s
    assert parse_scenario(s.model_dump_json()) == s
    assert pickle.loads(pickle.dumps(s)) == s


@examples(60)
@given(
    rate=st.floats(1e-6, 1e6),
    slo=st.floats(1e-6, 1e4),
    capacity=st.floats(1.0, 1e12),
    seed=st.integers(0, 2**62),
)
def test_round_trip_keeps_every_bit(rate, slo, capacity, seed):
    data = MINIMAL | {
        "seed": seed,
        "cluster": {"servers": [{}], "network": {"capacity": capacity}},
        "workload": [{"model": "m", "rate": rate, "slo": slo}],
    }
    s = scenario_from_mapping(data)
    assert parse_scenario(dump_scenario(s)) == s


@given(st.floats(1e-9, 1e12), st.sampled_from(["time", "size", "bandwidth", "rate", "fraction"]))
@examples(200)
def test_quantity_text_is_exact(value, dimension):
    assert parse_quantity(quantity_text(value, dimension), dimension) == value


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        ({"workload": [{"model": "a", "rate": "40 ms"}]}, "workload[0].rate", "is not a rate"),
        ({"workload": [{"model": "a", "rate": -3}]}, "workload[0].rate", "-3 must be greater than 0"),
        ({"workload": [{"model": "a", "rate": math.inf}]}, "workload[0].rate", "must be finite"),
        ({"workload": [{"model": "a", "rate": 1, "slo": "nan"}]}, "workload[0].slo", "is not a time"),
        ({"workload": []}, "workload", "at least 1 entry"),
        ({"workload": [{"rate": 1}]}, "workload[0].model", "is missing"),
        ({"workload": [{"model": "a", "rate": 1, "slow": 3}]}, "workload[0].slow", "not a known key"),
        ({"seed": -1}, "seed", "-1 must be at least 0"),
        (
            {"workload": [{"model": "a", "rate": "1e12/s"}]},
            "workload[0].rate",
            "must be at most 1,000,000,000; lower",
        ),
        ({"version": 2}, "version", "choose one of these"),
        ({"simulation": {"warmup": "long"}}, "simulation.warmup", "'auto' or a whole number"),
        ({"background": {"network": {"utilization": 1}}}, "background.network.utilization", "less than 1"),
        ({"cluster": {"servers": [{"count": 0}]}}, "cluster.servers[0].count", "at least 1"),
        (
            {"workload": [{"model": "a", "rate": 1, "arrivals": {"process": "trace"}}]},
            "workload[0].arrivals",
            "go together",
        ),
    ],
)
def test_each_problem_names_place_and_rule(change, place, words):
    with pytest.raises(ScenarioError) as caught:
        scenario_from_mapping(MINIMAL | change)
    assert len(caught.value.problems) == 1, caught.value.problems
    line = caught.value.problems[0]
    assert line.startswith(place + ":"), line
    assert words in line, line
    assert "\n" not in line


def test_all_problems_at_once():
    with pytest.raises(ScenarioError) as caught:
        scenario_from_mapping(
            {"version": 1, "seed": -1, "workload": [{"model": "a", "rate": 0}], "clutser": 3}
        )
    places = {p.split(":")[0] for p in caught.value.problems}
    assert places == {"cluster", "seed", "workload[0].rate", "clutser"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1, 2]",
        "a: [",
        "a: &x [1]\nb: *x",
        "[" * 100 + "]" * 100,
        "\x00",
        "!!python/object/apply:os.system ['true']",
        "version: 1\nversion: " + "9" * 5000,
    ],
)
def test_hostile_text_is_one_line(text):
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text)
    assert "\n" not in str(caught.value)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(ScenarioError, match="nowhere"):
        load_scenario(tmp_path / "nowhere.yaml")


def test_hash_follows_the_content_it_is_asked_for():
    a = scenario_from_mapping(MINIMAL)
    b = a.model_copy(update={"name": "other"})
    assert scenario_hash(a) != scenario_hash(b)
    assert scenario_hash(a, "cluster", "workload") == scenario_hash(b, "cluster", "workload")


def test_repeated_models_get_their_own_label():
    row = {"model": "resnet18", "rate": 1}
    s = Scenario.model_validate(MINIMAL | {"workload": [row, row, row | {"name": "big"}]})
    assert s.labels == ("resnet18", "resnet18 #2", "big")
