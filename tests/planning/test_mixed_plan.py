"""Queries beside language models: each part is planned as if it were alone, and keeps the other's servers."""

import re
from functools import cache

import pytest

from nona.core.errors import ScenarioError
from nona.language.workflows.plan import opened_option, plan_language
from nona.planning.holds import holds
from nona.planning.plan import plan
from nona.planning.question import opened
from nona.queries.sweeps.numbers import LOAD, number_named
from nona.scenario.file import scenario_from_mapping
from nona.scenario.lookup import Sources
from nona.scenario.provenance import runs_as

ENGINES = {"count": 2, "gpu": "a100-80gb", "gpus": 1, "engine": {}}
TASKS = {"count": 2, "gpu": "t4", "vcpus": 16}
QUERIES = {"model": "resnet18", "rate": "120/s", "slo": "60 ms"}
TOKENS = {"input": {"mean": 200}, "output": {"mean": 40}}
REQUESTS = {"llm": {"model": "llama-3.1-8b", "tokens": TOKENS}, "rate": "4/s", "slo": {"ttft": "400 ms"}}
TARGETS = {"resnet18": {"p95": "50 ms"}, "llama-3.1-8b": {"ttft_p95": "500 ms"}}


def mixture(rows=(QUERIES, REQUESTS), groups=(ENGINES, TASKS), targets=TARGETS, **asked):
    return scenario_from_mapping(
        {
            "version": 1,
            "cluster": {"servers": list(groups)},
            "workload": list(rows),
            "schedulers": ["least-loaded"],
            "simulation": {"jobs": 400, "replications": 4},
            "plan": {"replications": 8, "targets": targets, **asked},
        }
    )


def of_queries(**asked):
    return mixture((QUERIES,), (TASKS,), {"resnet18": TARGETS["resnet18"]}, **asked)


def of_requests(**asked):
    return mixture((REQUESTS,), (ENGINES,), {"llama-3.1-8b": TARGETS["llama-3.1-8b"]}, **asked)


@cache
def queries_alone():
    return answers(plan(of_queries()))


def answers(report):
    """Everything of a report but the seconds it took and the notes on prices."""
    return {k: v for k, v in report.to_json().items() if k not in ("seconds", "prices")}


def test_queries_are_planned_as_alone_and_the_servers_of_engines_stay():
    scenario = mixture()
    report = plan(scenario)
    assert answers(report) == queries_alone()
    assert "no option's cost counts them" in report.prices[-1]
    after = opened(scenario, report.best).cluster
    assert after.engine_groups == scenario.cluster.engine_groups
    assert [g.count for g in after.task_groups] == [s.count for s in report.best.servers]


def test_requests_are_planned_as_alone_and_the_servers_of_tasks_stay():
    scenario = mixture()
    report, alone = plan_language(scenario, Sources()), plan_language(of_requests(), Sources())
    assert answers(report) == answers(alone)
    after = opened_option(scenario, report.best).cluster
    assert after.task_groups == scenario.cluster.task_groups
    assert sum(g.count for g in after.engine_groups) == report.best.servers


def test_whether_the_queries_hold_is_what_it_is_without_the_engines():
    report, alone = holds(mixture()), holds(of_queries())
    assert answers(report) == answers(alone)
    assert {t.target.model for t in report.targets} == {"resnet18"}


def test_queries_run_on_the_devices_of_their_own_servers():
    on_a100 = mixture((QUERIES,), ({**TASKS, "gpu": "a100-80gb"},), {})
    assert (runs_as(mixture()), runs_as(of_queries())) == ("tensorrt, as in the file",) * 2
    assert runs_as(on_a100) == "tensorrt, fp32 in TF32"


@pytest.mark.parametrize("ask", [plan, lambda scenario: plan_language(scenario, Sources())])
def test_a_target_of_no_row_is_refused_with_the_rows_of_both_parts(ask):
    wrong = mixture(targets={"resnet81": {"p95": "50 ms"}})
    with pytest.raises(ScenarioError, match=r"^plan\.targets: 'resnet81' .*\(resnet18, llama-3\.1-8b\)"):
        ask(wrong)


def test_requests_that_follow_queries_have_no_plan_of_their_own():
    follows = {"llm": REQUESTS["llm"], "after": "resnet18", "slo": {"ttft": "400 ms"}}
    scenario = mixture((QUERIES, follows))
    with pytest.raises(ScenarioError, match=re.escape("llama-3.1-8b follows resnet18")):
        plan_language(scenario, Sources())
    assert answers(plan(scenario)) == queries_alone()


def test_more_traffic_is_more_of_every_row_and_requests_that_follow_queries_come_with_these():
    users = {"llm": REQUESTS["llm"], "concurrency": 6}
    follows = {"llm": REQUESTS["llm"], "after": "resnet18"}
    scenario = mixture((QUERIES, REQUESTS, users, follows), targets={})
    double = number_named(scenario, LOAD).with_value(scenario, 2.0)
    assert [row.rate for row in double.workload] == [240]
    assert [(row.rate, row.concurrency) for row in double.language] == [(8, None), (None, 12), (None, None)]
