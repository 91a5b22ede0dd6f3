"""Language models in a scenario file: read from the lists of others, written back, refused in one line."""

import pytest

from nona.core.errors import NonaError, ScenarioError
from nona.language.routers import NUMBERS
from nona.planning.question import question_of
from nona.queries.workflows.preparation import prepare
from nona.scenario.file import dump_scenario, parse_scenario, scenario_from_mapping
from nona.scenario.language import ROUTERS
from nona.scenario.lookup import Sources, file_names, named_files, with_files_renamed
from nona.scenario.plan import PlanSpec
from nona.scenario.unknown import unknown_names

CONTRACT = """
cluster: {servers: [{count: 1, gpu: h100, engine: {blocks: 900, budget: 1024, sequences: 64, watermark: 0.02,
  steps: {a: 6.678 ms, b: 19.5 us, g: 44 ns, c: 33.3 us, q: 1.31 ns}}}]}
workload: [{name: chat, llm: {model: llama-3.1-8b, trace: requests.csv}, slo: {ttft: 2 s, tpot: 60 ms}}]
schedulers: [round-robin]
"""
TOKENS = {"input": 512, "output": 128}
CHAT = {"llm": {"model": "llama-3.1-8b", "tokens": TOKENS}, "rate": "3/s"}
NET = {"model": "resnet18", "rate": "300/s"}


def _scenario(*rows, groups=({}, {"engine": {}}), **keys):
    servers = [{"gpu": "h100", **group} for group in groups]
    return scenario_from_mapping({"cluster": {"servers": servers}, "workload": list(rows), **keys})


def test_a_file_with_language_models_alone_is_read_and_written():
    scenario = parse_scenario(CONTRACT)
    (row,), engine = scenario.language, scenario.cluster.servers[0].engine
    assert (row.label, row.slo.ttft, row.slo.tpot, row.rate) == ("chat", 2.0, 0.06, None)
    assert (engine.blocks, engine.steps.a, engine.steps.q) == (900, 6.678e-3, 1.31e-9)
    assert [router.name for router in scenario.routers] == ["round-robin"]
    assert parse_scenario(dump_scenario(scenario)) == scenario
    with pytest.raises(ScenarioError, match=r"all of its rows ask language models; .*`nona simulate`"):
        prepare(scenario)


@pytest.mark.parametrize("names", [[], ["nona"], ["least-kv", "local"], ["round-robin", "least-kv", "nona"]])
def test_rows_and_routers_stand_among_others_in_a_file(names):
    keys = {"schedulers": names} if names else {}
    scenario = _scenario(CHAT, NET, {**CHAT, "slo": "30 s", "priority": -1}, **keys)
    assert (len(scenario.workload), len(scenario.language)) == (1, 2)
    assert scenario.language_labels == ("llama-3.1-8b", "llama-3.1-8b #2")
    assert scenario.language[1].slo.e2e == 30.0
    assert tuple(NUMBERS) == ROUTERS
    routers = [name for name in names if name in ROUTERS]
    assert [router.name for router in scenario.routers] == (routers or ["round-robin", "least-kv"])
    if others := [name for name in names if name not in routers]:
        assert [scheduler.name for scheduler in scenario.schedulers] == others
    written = dump_scenario(scenario)
    assert "language:" not in written
    assert "routers:" not in written
    assert parse_scenario(written) == scenario
    assert scenario_from_mapping(scenario.model_dump(mode="json")) == scenario


def test_what_belongs_to_a_row_may_stand_inside_llm():
    inside = {
        "rate": "3/s",
        "slo": {"ttft": "500 ms"},
        "priority": 2,
        "arrivals": {"process": "gamma", "cv": 3},
    }
    outside = _scenario({"llm": CHAT["llm"], **inside})
    assert _scenario({"llm": {**CHAT["llm"], **inside}}) == outside


def test_servers_of_engines_run_no_tasks():
    both = _scenario(NET, CHAT, groups=({"engine": {}}, {"gpu": "t4"}))
    assert both.cluster.build().groups == _scenario(NET, groups=({"gpu": "t4"},)).cluster.build().groups
    with pytest.raises(NonaError, match=r"all of its servers have engines.*add a group without"):
        parse_scenario(CONTRACT).cluster.build()


def test_files_of_language_rows_are_found_and_renamed():
    llm = {"model": "mine.json", "trace": "day.csv"}
    scenario = _scenario({"llm": llm}, NET, groups=({}, {"engine": {"model": "mine.json"}}))
    assert [(f.place, f.name) for f in named_files(scenario)] == [
        ("workload[1].llm.model", "mine.json"),
        ("workload[1].llm.trace", "day.csv"),
    ]
    renamed = with_files_renamed(scenario, lambda name: "a-" + name)
    assert file_names(renamed) == ["a-mine.json", "a-day.csv"]
    assert renamed.language_labels == scenario.language_labels
    assert renamed.cluster.servers[1].engine.model == "a-mine.json"


def _llm(**keys):
    return {"llm": {**CHAT["llm"], **keys}, "rate": "3/s"}


ENGINE = r"cluster\.servers\[1\]"
BAD = {
    r"workload\[1\]\.llm\.slo\.tpot.*greater than 0": (
        [NET, {"llm": {**CHAT["llm"], "slo": {"tpot": -1}, "rate": 3}}],
        {},
    ),
    r"workload\[0\]\.rate.*'3 apples' is not a rate": ([{**CHAT, "rate": "3 apples"}], {}),
    r"workload\[0\]: rate stands in the row and in llm; remove": ([_llm(rate="3/s")], {}),
    r"workload\[0\]: rate is missing; give": ([{"llm": CHAT["llm"]}], {}),
    r"workload\[0\]: rate opens .* concurrency closes .*leave one": ([{**CHAT, "concurrency": 4}], {}),
    r"workload\[0\]\.llm \(Requests\): a row has tokens or a trace.*give one": ([_llm(trace="a.csv")], {}),
    r"workload\[0\]: arrivals do not count here.*leave": (
        [{"llm": {"model": "llama-3.1-8b", "trace": "a.csv"}, "arrivals": {"process": "gamma"}}],
        {},
    ),
    r"tokens\.input: 5\.5 tokens must be a whole number": ([_llm(tokens={"input": 5.5, "output": 3})], {}),
    r"tokens\.output: tokens need a mean or values": ([_llm(tokens={"input": 5, "output": {"cv": 3}})], {}),
    rf"{ENGINE}: engine\.tp 3 must divide gpus 4": ([CHAT], {"gpus": 4, "engine": {"tp": 3}}),
    rf"{ENGINE}: engine\.tp 8 must divide gpus 4": ([CHAT], {"gpus": 4, "engine": {"tp": 8}}),
    rf"{ENGINE}: mig '3g.40gb' divides a GPU": ([CHAT], {"mig": "3g.40gb", "engine": {}}),
    rf"{ENGINE}: mps 2 divides a GPU.*remove mps": ([CHAT], {"mps": 2, "engine": {}}),
    rf"{ENGINE}\.engine\.watermark: .*at most 0\.5": ([CHAT], {"engine": {"watermark": 0.6}}),
    rf"{ENGINE}\.engine\.budget.*'auto' or a whole number from 1": ([CHAT], {"engine": {"budget": 0}}),
    rf"{ENGINE}\.engine\.steps.*: e .* give all": ([CHAT], {"engine": {"steps": {"a": 1, "e": 1}}}),
    rf"^{ENGINE}\.engine: model is missing.*name one": (
        [CHAT, {**CHAT, "llm": {**CHAT["llm"], "model": "gpt2"}}],
        {"engine": {}},
    ),
    r"^cluster\.servers: no engine serves 'llama-3\.1-8b'.*give a group": (
        [CHAT],
        {"engine": {"model": "gpt2"}},
    ),
    r"^cluster\.servers: .*the role prefill and none of the role decode": (
        [CHAT],
        {"engine": {"role": "prefill"}},
    ),
}


@pytest.mark.parametrize("problem", BAD)
def test_what_is_wrong_is_said_in_one_line(problem):
    rows, group = BAD[problem]
    with pytest.raises(ScenarioError, match=problem) as raised:
        _scenario(*rows, groups=({}, group))
    assert len(str(raised.value).splitlines()) == 1


def test_rows_need_servers_of_their_kind():
    with pytest.raises(ScenarioError, match=r"^cluster\.servers: every group has an engine.*'resnet18'; add"):
        _scenario(CHAT, NET, groups=({"engine": {}},))
    with pytest.raises(ScenarioError, match=r"^training: it cannot share a cluster with engines"):
        _scenario(CHAT, groups=({"engine": {}},), training={"elastic": {}})


def test_the_group_that_a_plan_counts_has_no_engine():
    scenario = _scenario(NET | {"slo": 1}, CHAT)
    with pytest.raises(ScenarioError, match=r"^plan\.group: cluster\.servers\[1\] has an engine; choose"):
        question_of(scenario.model_copy(update={"plan": PlanSpec(group=1)}), Sources())
    assert question_of(scenario.model_copy(update={"plan": PlanSpec(group=0)}), Sources()).growing == (0,)


def test_unknown_language_models_are_named_with_what_is_like_them():
    data = {"workload": [{"llm": {"model": "lama-3.1-8b"}}], "schedulers": ["least-kv", "least-kw"]}
    lines = unknown_names(data)
    assert [line.partition(":")[0] for line in lines] == ["schedulers[1]", "workload[0].llm.model"]
    assert "use llama-3.1-8b" in lines[1]
