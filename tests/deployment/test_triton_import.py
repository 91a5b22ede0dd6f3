"""A repository of Triton reads as its files say: tasks, bytes, pools, batches, questions."""

import json
import zipfile
from pathlib import Path

import pytest
from importing import BESIDE, DATA, asked, imported, samples, values

from nona.core.errors import DeploymentError
from nona.deployment.files import file_of, given_files
from nona.deployment.importing import import_files
from nona.deployment.prototext import parse
from nona.models.graph.readers import read_model
from nona.scenario.file import parse_scenario

REPOSITORY = "repository"
NAMED = {
    "photos.rate": "50/s",
    "photos.slo": "80 ms",
    "resize.time": "3 ms",
    "embed.time": "1: 2 ms, 16: 9 ms",
    "caption.time": "6 ms",
    "router.rate": "none",
    "servers.gpu": "l4",
}


@pytest.fixture(scope="module")
def whole():
    return import_files(samples(REPOSITORY), NAMED)


def test_ensembles_become_one_graph(whole):
    assert whole.facts.asked == ()
    graph = read_model(whole.files["photos.json"], "photos.json", guarded=False)
    assert {o.id for o in graph.operators} == {"resize", "describe/embed", "describe/caption"}
    assert {(e.source, e.target, e.tensor, e.size_bytes) for e in graph.edges} == {
        ("resize", "describe/embed", "small", 3 * 224 * 224 * 2),
        ("resize", "describe/caption", "small", 3 * 224 * 224 * 2),
        ("describe/embed", "describe/caption", "describe/vector", 512 * 4),
    }
    by_id = {o.id: o for o in graph.operators}
    assert by_id["resize"].bound == "host"
    assert by_id["describe/embed"].batch_s == ((1, 0.002), (16, 0.009))
    assert graph.device == "l4"


def test_facts_name_file_and_line(whole):
    read = values(whole.facts.read)
    assert read["photos: resize: instances"] == "3 on the CPU"
    assert read["photos: describe/embed: instances"] == "2 on each GPU"
    assert read["photos: describe/caption: instances"] == "1 on GPU 0, 2 on GPU 1"
    assert read["photos: describe/embed: batching"] == (
        "{max_batch: 16, rule: triton, delay: 1.5 ms, preferred: [4, 8]}"
    )
    assert read["photos: describe/caption: batching"] == "{max_batch: 8}"
    assert read["photos: resize: batching"] == "off"
    assert read["photos: resize → describe/embed, bytes of small"] == "301056 B"
    places = {fact.what: fact.place for fact in whole.facts.read}
    assert places["photos: resize: instances"] == "repository/resize/config.pbtxt:6"
    assert places["photos: describe/embed: version"].startswith("repository/embed/")
    for fact in (*whole.facts.read, *whole.facts.not_used):
        name, _, line = fact.place.rpartition(":")
        if fact.place.startswith(REPOSITORY) and line.isdigit():
            assert 1 <= int(line) <= len((DATA / name).read_text().splitlines() or [""])
    unused = values(whole.facts.not_used)
    assert unused["embed: dynamic_batching.priority_levels"] == "3"
    assert unused["resize: parameters.key"] == "THREADS"
    assert "voice: sequence_batching" in unused


def test_what_no_file_says_is_asked():
    open_ = imported(REPOSITORY)
    assert asked(open_) == {
        "photos.rate", "photos.slo", "router.rate", "router.slo", "router.calls", "router.time",
        "resize.time", "embed.time", "caption.time", "servers.gpu",
    }  # fmt: skip
    hint = next(f for f in open_.facts.asked if f.key == "router.calls")
    assert hint.value == "caption"
    with pytest.raises(ValueError, match=r"workload\[0\]\.rate: 'asked: photos.rate' is not a rate"):
        parse_scenario(open_.text)
    called = import_files(samples(REPOSITORY), {"router.calls": "caption"})
    graph = json.loads(called.files["router.json"])
    assert [n["id"] for n in graph["nodes"]] == ["router", "caption"]


def test_scenario_of_a_repository_opens(whole):
    scenario = parse_scenario(whole.text)
    assert scenario.workload[0].rate == 50
    assert scenario.workload[0].slo == 0.08
    assert [(g.gpu, g.count, g.gpus) for g in scenario.cluster.servers] == [("l4", 1, 2)]
    caption = scenario.workload[0].stages["describe/caption"]
    assert [caption.instances_on(0, gpu) for gpu in (0, 1)] == [1, 2]
    group = scenario.cluster.servers[0]
    assert group.instances is not None
    assert group.instances.most == 4  # two of embed and two of caption on GPU 1


def test_an_archive_reads_as_its_folder(tmp_path, whole):
    path = tmp_path / "r.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted((DATA / REPOSITORY).rglob("*")):
            archive.write(file, Path(REPOSITORY, file.relative_to(DATA / REPOSITORY)))
        for file in BESIDE[REPOSITORY]:
            archive.writestr(file.name, file.data)
    assert import_files(given_files([path]), NAMED).files == whole.files


@pytest.mark.parametrize("name", ["../config.pbtxt", "/a/config.pbtxt", "a/../../b/config.pbtxt"])
def test_archives_with_ways_out_are_refused(tmp_path, name):
    path = tmp_path / "r.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, 'name: "a"')
    with pytest.raises(DeploymentError, match=r"Archive: .* is not the name of a plain file"):
        given_files([path])


ENSEMBLE = """name: "{0}" platform: "ensemble"
input {{ name: "IN" dims: [ 4 ] }} output {{ name: "OUT" data_type: TYPE_FP32 dims: [ 4 ] }}
ensemble_scheduling {{ step {{ model_name: "{1}" input_map {{ key: "IN" value: "{2}" }}
  output_map {{ key: "OUT" value: "{3}" }} }} }}"""


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (
            (ENSEMBLE.format("a", "a", "IN", "OUT"),),
            "a/config.pbtxt:1: ensembles call each other in a circle",
        ),
        (
            (ENSEMBLE.format("a", "b", "IN", "OUT"),),
            "a/config.pbtxt:3: the step's model 'b' is not among the files",
        ),
        (
            (ENSEMBLE.format("a", "b", "x", "OUT"), 'name: "b"'),
            "a/config.pbtxt:3: nothing makes tensor 'x' that 'b' reads",
        ),
        (
            (ENSEMBLE.format("a", "b", "IN", "IN"), 'name: "b"'),
            "a/config.pbtxt:3: two steps make the tensor 'IN'",
        ),
        (('name: "a" max_batch_size: x',), "a/config.pbtxt:1: max_batch_size: 'x' must be a whole number"),
        (('name: "a"\nname "b"',), "a/config.pbtxt:2: no protobuf text"),
        (('name: "a"\ninstance_group { kind: KIND_TPU }',), "a/config.pbtxt:2: kind 'TPU' must be"),
    ],
)
def test_errors_are_one_line_with_file_and_place(texts, reason):
    files = [file_of(f"{name}/config.pbtxt", text.encode()) for name, text in zip("ab", texts, strict=False)]
    with pytest.raises(DeploymentError) as error:
        import_files(files)
    assert str(error.value).startswith(reason)
    assert "\n" not in str(error.value)


def test_an_answer_to_no_question_is_refused():
    with pytest.raises(
        DeploymentError, match=r"--set photos\.rte: nothing is asked by this name; use photos\.rate"
    ):
        imported(REPOSITORY, photos__rte="5/s")


def test_text_format_keeps_unknown_fields():
    message = parse('a { b: 1 c { d: "x" } } e: [ 1, 2 ]', "f")
    assert [(name, f.text) for name, f in message.beyond({"a": {"b": None}})] == [
        ("a.c.d", "x"), ("e", "1"), ("e", "2"),
    ]  # fmt: skip


@pytest.mark.parametrize(("rate", "note"), [("50/s", "40/s; the rows that ask it send 50/s"), ("40/s", None)])
def test_other_traffic_than_was_seen_on_a_step_is_noted(rate, note):
    found = import_files(samples(REPOSITORY, "scrapes"), NAMED | {"photos.rate": rate})
    assert values(found.facts.not_used).get("embed: traffic as it was seen") == note


@pytest.mark.parametrize(("vcpus", "few"), [("2", True), ("3", False)])
def test_processes_of_the_host_on_fewer_cpus_are_an_assumption(vcpus, few):
    found = import_files(samples(REPOSITORY), NAMED | {"servers.vcpus": vcpus})
    assert any(what.startswith("3 processes of resize on ") for what in values(found.facts.assumed)) == few
