"""Requests that follow queries: when they come, what their times count from, what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml

from nona.cli.main import main
from nona.core.errors import ScenarioError, SimulationError
from nona.language.workflows.engines import prepare_language
from nona.language.workflows.following import CoupledQueries
from nona.language.workflows.simulation import drawn, simulate_language
from nona.queries.workflows.cache import PreparationCache
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.simulation import simulate
from nona.scenario.file import dump_scenario, parse_scenario, scenario_from_mapping
from nona.scenario.opening import edited

A, B, C = 5e-3, 10e-6, 10e-6  # seconds of a step, of a decode, of a token of a prompt
ENGINE = {"blocks": 4000, "sequences": 256, "steps": {"a": A, "b": B, "c": C}}
LLM = {"model": "llama-3.1-8b", "tokens": {"input": 200, "output": 20}}
ANSWER = {"name": "answer", "after": "search", "llm": LLM}


def scenario(rows=(ANSWER,), router="round-robin", jobs=4000, queries=(), **query):
    search = {"name": "search", "model": "find", "rate": "30/s", **query}
    return {
        "version": 1,
        "cluster": {"servers": [{"gpu": "l4"}, {"gpu": "h100", "engine": ENGINE}]},
        "workload": [search, *queries, *rows],
        "models": {"find": {"nodes": [{"id": "find", "compute_ms": 20}], "edges": []}},
        "simulation": {"jobs": jobs, "replications": 5},
        "schedulers": ["local", router],
    }


def simulated(data):
    report = simulate_language(prepare_language(scenario_from_mapping(data))).report
    assert report.failed_checks == ()
    return report, report.schedulers["round-robin"].models


def test_times_count_from_the_query_and_are_exact_where_nobody_waits() -> None:
    report, rows = simulated(scenario(jobs=50, rate="0.5/s", arrivals={"process": "deterministic"}))
    answer, decode_s = rows["answer"], A + B
    assert report.queries == "local"
    assert answer.before_s == pytest.approx(0.02, rel=1e-9)
    assert answer.ttft_s.mean == pytest.approx(0.02 + A + 200 * C, rel=1e-9)
    assert answer.e2e_s.mean == pytest.approx(0.02 + A + 200 * C + 19 * decode_s, rel=1e-9)
    assert answer.tpot_s.mean == pytest.approx(decode_s, rel=1e-9)


def test_what_leaves_a_queue_with_exponential_times_arrives_as_a_poisson_process() -> None:
    """M/M/1: the time before is 1/(μ − λ), and by Burke's theorem engines cannot tell the two rows apart."""
    _, after = simulated(scenario(service_scv=1, jobs=12000))
    _, plain = simulated(scenario([{**ANSWER, "after": None, "rate": "30/s"}], jobs=12000))
    answer, alone = after["answer"], plain["answer"]
    assert answer.before_s == pytest.approx(1 / (50 - 30), rel=0.1)
    for time in ("ttft_s", "tpot_s"):
        own, other = getattr(answer, time), getattr(alone, time)
        spans = [(t.ci95[1] - t.ci95[0]) / 2 for t in (own, other)]
        before_s = answer.before_s if time == "ttft_s" else 0.0
        # the time before varies too: it has an interval of its own, at most as wide as that of the sum
        assert abs(own.mean - before_s - other.mean) <= 2 * sum(spans)


def test_rows_that_follow_stand_beside_open_and_closed_ones() -> None:
    queries = [{"name": "other", "model": "find", "rate": "5/s"}]
    rows = [
        ANSWER,
        {**ANSWER, "name": "more"},
        {**ANSWER, "name": "of-others", "after": "other"},
        {"name": "open", "rate": "10/s", "llm": LLM},
        {"name": "users", "concurrency": 4, "llm": LLM},
    ]
    data = scenario(rows, jobs=3000, queries=queries)
    _, models = simulated(data)
    counts = {name: row.jobs.arrived for name, row in models.items()}
    assert counts["answer"] == pytest.approx(counts["more"], abs=5)
    assert counts["answer"] == pytest.approx(6 * counts["of-others"], rel=0.15)
    assert {name for name, row in models.items() if row.before_s} == {"answer", "more", "of-others"}
    study = prepare_language(scenario_from_mapping(data))
    following = CoupledQueries.prepare(study.scenario, study.sources)
    requests, window = drawn(study.system, study.scenario.simulation, 0, following=following)
    own = requests.row == 0
    assert (np.diff(requests.arrival_s[own]) >= 0).all()
    assert (requests.before_s[own] >= 0.02 - 1e-12).all()
    both = min(int(own.sum()), int((requests.row == 1).sum()))  # the last ones may be cut off
    first, second = (requests.before_s[requests.row == row][: both - 5] for row in (0, 1))
    np.testing.assert_array_equal(np.sort(first)[: both // 2], np.sort(second)[: both // 2])
    assert window.first + window.jobs <= len(requests)


def test_an_answer_names_the_time_before(tmp_path, capsys) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(yaml.safe_dump(scenario(jobs=500)), encoding="utf-8")
    assert main(["simulate", str(path), "--json"]) == 0
    language = json.loads(capsys.readouterr().out)["language"]
    assert language["queries"] == "local"
    assert language["schedulers"]["round-robin"]["models"]["answer"]["before_s"] > 0.02
    assert main(["simulate", str(path)]) == 0
    assert "tasks before" in capsys.readouterr().out


def test_one_html_file_has_the_queries_and_the_requests(tmp_path) -> None:
    path, page = tmp_path / "s.yaml", tmp_path / "report.html"
    path.write_text(yaml.safe_dump(scenario(jobs=50)))
    assert main(["simulate", str(path), "--html", str(page)]) == 0
    text = page.read_text()
    titles = [
        "Distribution of response times",
        "Requests to language models",
        "Requests of answer",
        "Engines",
    ]
    assert [title for title in titles if f">{title}<" not in text] == []
    assert text.count("<h1") == 1


def test_a_file_keeps_what_a_row_follows() -> None:
    read = scenario_from_mapping(scenario())
    assert read.language[0].after == "search"
    assert parse_scenario(dump_scenario(read)) == read
    inside = {**ANSWER, "llm": {**LLM, "after": "search"}}
    del inside["after"]
    assert scenario_from_mapping(scenario([inside])).language[0] == read.language[0]


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ({"after": "nobody"}, "workload[1].after: 'nobody' is no row of tasks; name one of search."),
        ({"rate": "3/s"}, "workload[1]: after brings the requests' arrivals; leave out rate"),
        ({"concurrency": 3}, "workload[1]: after brings the requests' arrivals; leave out rate"),
        ({"arrivals": {"process": "gamma", "cv": 2}}, "workload[1]: arrivals do not count here"),
    ],
)
def test_a_row_that_cannot_follow_is_refused_in_a_line(row, line) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario_from_mapping(scenario([{**ANSWER, **row}]))
    assert str(refused.value).startswith(line)


def test_queries_without_a_steady_state_are_followed_by_nobody() -> None:
    study = prepare_language(scenario_from_mapping(scenario(rate="60/s")))
    with pytest.raises(SimulationError, match="under local the tasks overload their executors"):
        simulate_language(study)


def test_more_queries_than_can_be_run_are_refused() -> None:
    study = prepare_language(scenario_from_mapping(scenario(jobs=5_000_000)))
    with pytest.raises(SimulationError, match=r"over 3,000,000; lower simulation\.jobs"):
        simulate_language(study)


SPLIT = {
    "nodes": [
        {"id": "cut", "compute_ms": 2},
        {"id": "left", "compute_ms": 4},
        {"id": "right", "compute_ms": 4},
    ],
    "edges": [
        {"source": "cut", "target": side, "bytes": 10_000_000, "tensor": side} for side in ("left", "right")
    ],
}


def test_keys_and_values_share_the_link_with_the_tensors_of_queries() -> None:
    """Spread queries send two tensors of 10 MB each, local ones none; the KV crosses the same 1 GB/s."""
    sent_s = {}
    for scheduler in ("local", "spread"):
        data = scenario([{"name": "answer", "rate": "5/s", "llm": LLM}], jobs=2000)
        data["models"] = {"find": SPLIT}
        roles = [{"gpu": "h100", "engine": {**ENGINE, "role": role}} for role in ("prefill", "decode")]
        data["cluster"] = {
            "servers": [{"count": 3, "gpu": "l4"}, *roles],
            "network": {"capacity": "8 Gbit/s"},
        }
        data["schedulers"][0] = scheduler
        study = prepare_language(scenario_from_mapping(data))
        (tensors,) = CoupledQueries.prepare(study.scenario, study.sources).messages(
            study.system.network.topology
        )
        report = simulate_language(study).report
        assert report.failed_checks == ()
        sent_s[scheduler] = report.schedulers["round-robin"].models["answer"].sent_s
        if scheduler == "local":
            assert tensors.rate == 0
    # each query sends both tensors unless a draw keeps a task where the first one ran
    assert tensors.mean == pytest.approx(1e7)
    assert 30 < tensors.rate <= 60
    alone_s, tensor_s = 200 * study.system.engines[0].kv_bytes / 1e9, tensors.mean / 1e9
    for scheduler, rate in (("local", 0.0), ("spread", tensors.rate)):
        load, second = 5 * alone_s + rate * tensor_s, 5 * alone_s**2 + rate * tensor_s**2
        wait_s = second / (2 * (1 - load))  # Pollaczek and Khinchine
        assert sent_s[scheduler] == pytest.approx(alone_s + wait_s, rel=0.04)


@pytest.mark.parametrize("links", [{}, {"nic": "4 Gbit/s"}], ids=["one link", "cards"])
def test_queries_wait_behind_keys_and_values(links) -> None:
    """Tensors of 1 kB meet KV of 26 MB, of which 15 come a second, at a core of 1 GB/s."""
    data = scenario([{"name": "answer", "rate": "15/s", "llm": LLM}], jobs=4000)
    data["models"] = {"find": {**SPLIT, "edges": [{**edge, "bytes": 1000} for edge in SPLIT["edges"]]}}
    roles = [{"gpu": "h100", "engine": {**ENGINE, "role": role}} for role in ("prefill", "decode")]
    network = {"capacity": "8 Gbit/s", **links}
    data["cluster"] = {"servers": [{"count": 8, "gpu": "l4"}, *roles], "network": network}
    data["schedulers"][0] = "spread"
    of, cache = scenario_from_mapping(data), PreparationCache()
    data["workload"][-1]["rate"] = "1/s"
    less = prepare(scenario_from_mapping(data), cache=cache)
    assert less.key != prepare(of, cache=cache).key, "a kept placement is of this KV"
    wait_s = simulate(prepare(of)).summaries["spread"].result.parts_s.link_wait
    size_s = 200 * prepare_language(of).system.engines[0].kv_bytes / 1e9
    assert wait_s == pytest.approx(15 * size_s**2 / (2 * (1 - 15 * size_s)), rel=0.05)


def test_a_row_that_is_renamed_takes_its_targets_and_followers_along() -> None:
    of = scenario(queries=[{"name": "other", "model": "find", "rate": "1/s"}])
    of["plan"] = {"targets": {"search": {"p95": "1 s"}, "other": {"p95": "2 s"}}}
    before = scenario_from_mapping(of)
    data = before.model_dump(mode="json")
    data["workload"][0]["name"] = "find"
    after = edited(before, data)
    assert after.labels == ("find", "other")
    assert after.language[0].after == "find"
    assert after.plan is not None
    assert set(after.plan.targets) == {"find", "other"}
    # a row that is removed takes nobody along: its follower has to be told what to do
    data = before.model_dump(mode="json")
    data["workload"].pop(0)
    with pytest.raises(ScenarioError, match=r"'search' is no row of tasks; name one of other"):
        edited(before, data)
