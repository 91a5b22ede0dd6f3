"""Elastic jobs in a scenario: what is read and refused, files and bundles, and what old files stay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nona.cli.main import main
from nona.errors import NonaError, ScenarioError
from nona.hardware.cluster import Network
from nona.results.elastic import ElasticReport
from nona.scenario.file import dump_scenario, parse_scenario, scenario_hash
from nona.scenario.training import ElasticSpec
from nona.sources.lookup import Sources, file_names, with_files_renamed
from nona.sources.opening import open_scenario, pack_bundle
from nona.study.training.elastic import elastic_request
from nona.study.training.preparation import prepare_training
from nona.training.elastic.system import Link

JOBS = "name,arrival_s,application,gpus,batch_size\na,0,ncf,1,32768\nb,30,cifar10,4,1024\nc,61,ncf,1,32768\n"


def scenario(elastic: str, servers: str = "{count: 2, gpu: t4, gpus: 4}"):
    return parse_scenario(f"{{cluster: {{servers: [{servers}]}}, training: {{elastic: {{{elastic}}}}}}}")


def test_the_link_is_the_clusters_with_its_background():
    network = (
        "cluster: {servers: [{count: 4, gpu: t4, gpus: 4}], network: {capacity: 5 Gbit/s, latency: 30 us}}"
    )
    others = "background: {network: {utilization: 0.25, mean_size: 2 MB, scv: 3}}"
    for link in (True, False):
        part = f"training: {{elastic: {{workload: 1, link: {str(link).lower()}}}}}"
        made = elastic_request(parse_scenario(f"{{{network}, {others}, {part}}}")).link
        assert made == (Link(Network(5e9 / 8, 30e-6, "fifo"), 0.25, 2e6, 3.0) if link else None)


@given(
    workload=st.integers(1, 4),
    load=st.floats(0.1, 4),
    tick=st.integers(1, 600),
    restart=st.integers(0, 300),
    interference=st.floats(0, 0.99),
)
def test_what_is_written_is_read_back(workload, load, tick, restart, interference):
    text = f"workload: {workload}, load: {load!r}, tick: {tick}, restart: {restart} s, "
    made = scenario(
        f"{text} interference: {interference!r}, policies: [fifo, {{tiresias: {{starvation: 9}}}}]"
    )
    again = parse_scenario(dump_scenario(made))
    assert again == made
    assert scenario_hash(again) == scenario_hash(made)
    request = elastic_request(made)
    assert (request.workload, request.load, request.tick_s) == (str(workload), load, tick)
    assert (request.restart_s, request.interference) == (restart, interference)
    assert (request.policies, request.options) == (("fifo", "tiresias"), {"tiresias": {"starvation": 9}})


def test_fingerprints_follow_what_counts_and_old_files_keep_theirs():
    made = scenario("workload: 2")
    assert scenario_hash(made) == scenario_hash(scenario("workload: '2', load: 1.0, tick: 1 min"))
    assert scenario_hash(made) != scenario_hash(scenario("workload: 2, load: 0.5"))
    old = parse_scenario("{cluster: {servers: [{}]}, training: {generate: {jobs: 9}}}")
    assert "elastic" not in dump_scenario(old)


@pytest.mark.parametrize(
    ("elastic", "reason"),
    [
        ("workload: 7", "workload 7 does not ship; choose from 1, 2, 3, 4"),
        ("tick: 1.5 s", "tick 1.5 s must be a whole number of seconds; round it"),
        ("workload: a.csv, load: 2", "load 2 needs a workload that ships"),
        ("profiles: {}", "your own profiles need a workload of your own"),
        ("policies: [fifo, fifo]", "policy 'fifo' is there twice; remove one"),
        ("interference: 1", "interference"),
        ("policies: []", "must have at least 1 entry"),
        ("speed: 3", "training.elastic.speed"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(elastic, reason):
    with pytest.raises(ScenarioError) as caught:
        scenario(elastic)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("elastic", "servers", "reason"),
    [
        ("", "{count: 2}, {count: 3}", "there are 2 groups"),
        ("", "{gpu: a100-40gb, mig: '3g.20gb, 3g.20gb'}", "divides a GPU"),
        ("", "{gpus: 16}", "gpus: 16 is more than the 9"),
        ("policies: [nobody]", "{count: 16, gpus: 4}", "'nobody'"),
        ("workload: nowhere.csv", "{count: 2}", "nowhere.csv"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(elastic, servers, reason):
    with pytest.raises(NonaError) as caught:
        elastic_request(scenario(elastic, servers))
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_source_of_jobs_and_the_right_command():
    with pytest.raises(ScenarioError, match="exactly one of the four"):
        parse_scenario("{cluster: {servers: [{}]}, training: {elastic: {}, generate: {}}}")
    with pytest.raises(ScenarioError, match="nona training elastic"):
        prepare_training(scenario("workload: 1"))
    with pytest.raises(ScenarioError, match=r"training\.elastic: is missing"):
        elastic_request(parse_scenario("{cluster: {servers: [{}]}, training: {generate: {}}}"))
    assert ElasticSpec().policies[0].name == "pollux"


def test_files_travel_in_a_bundle_and_the_command_runs_it(tmp_path: Path, capsys) -> None:
    (tmp_path / "mine.csv").write_text(JOBS)
    text = dump_scenario(scenario("workload: mine.csv, policies: [fifo]"))
    (tmp_path / "plan.yaml").write_text(text)
    found, sources = open_scenario(tmp_path / "plan.yaml")
    assert file_names(found) == ["mine.csv"]
    assert file_names(with_files_renamed(found, lambda name: f"x-{name}")) == ["x-mine.csv"]
    packed = tmp_path / "plan.nona.zip"
    packed.write_bytes(pack_bundle(found, sources))
    reports = []
    for arguments in ([str(packed)], ["--workload", str(tmp_path / "mine.csv"), "--nodes", "2"]):
        assert main(["training", "elastic", "--json", *arguments, "--policy", "fifo"]) == 0
        reports.append(ElasticReport.from_json(json.loads(capsys.readouterr().out)))
    assert reports[0].policies == reports[1].policies
    assert main(["training", "elastic", str(packed), "--restart", "99", "--seed", "4", "--json"]) == 0
    setting = ElasticReport.from_json(json.loads(capsys.readouterr().out)).setting
    assert (setting.restart_s, setting.seed, setting.nodes, setting.workload) == (99, 4, 2, "mine.csv")


def test_own_profiles_are_four_files(tmp_path: Path) -> None:
    made = scenario("workload: mine.csv, profiles: {epochs: e.csv}")
    assert file_names(made) == ["mine.csv", "applications.csv", "placements.csv", "scalability.csv", "e.csv"]
    with pytest.raises(ScenarioError, match=r"training\.elastic\.profiles\.epochs: 'e\.csv' is not a file"):
        elastic_request(made, Sources(tmp_path))
