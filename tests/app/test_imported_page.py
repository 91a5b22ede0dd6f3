"""Files of what runs, dropped on a page: questions are answered there, and the scenario is made of them."""

import io
import json
import zipfile

from app_driver import go, new_session, said, state_of

from nona.app.session.imported import WhatRuns, answer, make_scenario, take_what_runs, what_runs
from nona.app.session.opening import new_state
from nona.models.graph.readers import read_model
from nona.scenario.sample_files import sample_root

NODE = {
    "kind": "Node",
    "metadata": {"name": "a", "labels": {"nvidia.com/gpu.product": "NVIDIA-L4", "nvidia.com/gpu.count": "2"}},
    "status": {"allocatable": {"cpu": "16", "nvidia.com/gpu": "2"}},
}
NODES = json.dumps({"kind": "List", "items": [NODE]}, indent=1).encode()
CONFIG = b"""name: "look"
backend: "tensorrt"
max_batch_size: 8
dynamic_batching { max_queue_delay_microseconds: 1000 }
input [ { name: "x" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 10 ] } ]
"""


def repository():
    """A repository of Triton as an archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("models/look/config.pbtxt", CONFIG)
        archive.writestr("models/look/1/model.plan", b"")
    return out.getvalue()


def test_only_files_of_what_runs_are_taken():
    assert {f.name for f in what_runs("models.zip", repository())} == {
        "models/look/config.pbtxt",
        "models/look/1/model.plan",
    }
    assert [f.name for f in what_runs("nodes.json", NODES)] == ["nodes.json"]
    for name, data in (
        ("graph.json", b'{"nodes": [{"id": "a"}]}'),
        ("s.yaml", b"version: 1\ncluster: {servers: [{gpu: l4}]}\n"),
        ("trace.csv", b"arrival_s\n1\n2\n"),
        ("m.onnx", b"x"),
    ):
        assert what_runs(name, data) == ()


def test_questions_are_answered_on_the_page_and_make_the_scenario():
    at = go(new_session(), "imported")
    assert "imported-make" not in [button.key for button in at.button]
    state = state_of(at)
    take_what_runs(state, [*what_runs("models.zip", repository()), *what_runs("nodes.json", NODES)])
    at = go(at, "imported")
    assert at.button(key="imported-make").disabled
    for key, text in (("look.time", "4 ms"), ("look.rate", "50/s"), ("look.slo", "30 ms")):
        at.text_input(key=f"imported-answer-{key}").input(text).run()
        assert not at.exception
    assert not at.button(key="imported-make").disabled
    at.button(key="imported-make").click().run()
    scenario = state_of(at).scenario
    assert (scenario.workload[0].label, scenario.workload[0].rate, scenario.workload[0].slo) == (
        "look",
        50,
        0.03,
    )
    assert (scenario.cluster.servers[0].gpu, scenario.cluster.servers[0].gpus) == ("l4", 2)
    assert state_of(at).uploads.names() == ("look.json",)


def test_a_wrong_answer_is_said_and_the_question_stays():
    at = go(new_session(), "imported")
    take_what_runs(state_of(at), what_runs("models.zip", repository()))
    at = go(at, "imported")
    at.text_input(key="imported-answer-look.rate").input("many").run()
    assert "is not a rate" in said(at.error)
    assert "--set" not in said(at.error)
    assert "Mean rate of look" in said(at.error).capitalize()
    assert [f for f in state_of(at).choices.get(WhatRuns).imported.facts.asked if f.key == "look.rate"]


def test_undo_brings_the_former_scenario_back():
    state = new_state()
    before = state.scenario
    take_what_runs(state, what_runs("nodes.json", NODES))
    make_scenario(state)
    assert state.scenario != before
    assert state.scenario.cluster.servers[0].gpu == "l4"
    state.undo()
    assert state.scenario == before


def test_an_answer_can_be_changed():
    at = go(new_session(), "imported")
    take_what_runs(state_of(at), what_runs("models.zip", repository()))
    at = go(at, "imported")
    at.text_input(key="imported-answer-look.rate").input("50/s").run()
    assert at.text_input(key="imported-answer-look.rate").value == "50/s"
    at.text_input(key="imported-answer-look.rate").input("60/s").run()
    assert state_of(at).choices.get(WhatRuns).imported.data["workload"][0]["rate"] == "60/s"
    at.text_input(key="imported-answer-look.rate").input("").run()
    assert at.text_input(key="imported-answer-look.rate").value == ""
    assert "look.rate" in {f.key for f in state_of(at).choices.get(WhatRuns).imported.facts.asked}


def test_answered_questions_keep_their_place_and_words():
    """The field after an answered one is where it was: who goes on by the tabulator is there."""
    at = go(new_session(), "imported")
    take_what_runs(state_of(at), [*what_runs("models.zip", repository()), *what_runs("nodes.json", NODES)])
    at = go(at, "imported")
    before = [(field.key, field.label) for field in at.text_input if field.key.startswith("imported-answer")]
    assert len(before) == 3
    at.text_input(key="imported-answer-look.rate").input("50/s").run()
    at.text_input(key="imported-answer-look.slo").input("none").run()
    assert not at.exception
    after = [(field.key, field.label) for field in at.text_input if field.key.startswith("imported-answer")]
    assert after == before


def test_a_measured_model_and_its_table_are_uploads_of_the_scenario():
    network = (sample_root() / "alexnet.onnx").read_bytes()
    names = [operator.id for operator in read_model(network, "alexnet.onnx").operators]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("net/alexnet.onnx", network)
        archive.writestr("net/layers.json", json.dumps([{"name": n, "averageMs": 0.1} for n in names]))
    state = new_state()
    take_what_runs(state, [*what_runs("net.zip", out.getvalue()), *what_runs("nodes.json", NODES)])
    for key, text in (("layers.batch", "1"), ("alexnet.rate", "5/s"), ("alexnet.slo", "none")):
        answer(state, key, text)
    make_scenario(state)
    assert state.scenario.cost.measured == "measured.csv"
    assert set(state.uploads.names()) == {"alexnet.onnx", "measured.csv"}


LOAD_TEST = b"""Concurrency,Inferences/Second,Client Send,Server Queue,Server Compute Infer,p50 latency
1,100,30,20,7000,9000
"""


def test_what_is_likely_is_taken_at_once_and_only_that():
    at = go(new_session(), "imported")
    files = (("models.zip", repository()), ("nodes.json", NODES), ("look.csv", LOAD_TEST))
    take_what_runs(state_of(at), [file for name, data in files for file in what_runs(name, data)])
    at = go(at, "imported")

    def asked():
        return state_of(at).choices.get(WhatRuns).imported.facts.asked

    likely = {fact.key: fact.value for fact in asked() if fact.value}
    others = {fact.key for fact in asked() if not fact.value}
    assert likely
    assert {"look.rate", "look.slo"} <= others
    for key, value in likely.items():
        field = at.text_input(key=f"imported-answer-{key}")
        assert (field.value, field.placeholder) == ("", f"likely {value}"), "it is no answer yet"
    at.button(key="imported-likely").click().run()
    assert state_of(at).choices.get(WhatRuns).answers == likely
    assert {fact.key for fact in asked()} <= others
    assert "imported-likely" not in [button.key for button in at.button]


def test_an_answer_may_take_away_questions_that_were_answered():
    """Whoever leaves a model out after its time was given is not held to that time."""
    at = go(new_session(), "imported")
    take_what_runs(state_of(at), [*what_runs("models.zip", repository()), *what_runs("nodes.json", NODES)])
    at = go(at, "imported")
    at.text_input(key="imported-answer-look.time").input("4 ms").run()
    at.text_input(key="imported-answer-look.rate").input("none").run()
    assert not at.error
    assert state_of(at).choices.get(WhatRuns).answers == {"look.rate": "none"}
    at.text_input(key="imported-answer-look.rate").input("").run()
    assert {"look.rate", "look.time"} <= {
        f.key for f in state_of(at).choices.get(WhatRuns).imported.facts.asked
    }
