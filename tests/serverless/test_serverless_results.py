"""Serverless results survive the way to JSON and back, and refuse what they do not know."""

from __future__ import annotations

import json
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from pydantic import ValidationError

from nona.results.document import Document
from nona.results.serverless import NodesReport, SchedulersReport, ServerlessReport, WaysReport
from nona.results.serverless_charts import ServerlessOutcome
from nona.results.serverless_study import OverReport, ServerlessStudy
from nona.scenario.file import load_scenario, scenario_to_mapping
from nona.sources.samples import scenario_path
from nona.study.serverless.study import StudySettings, serverless_study
from nona.study.shipped import shipped, shipped_serverless
from nona.ui.jobs.kinds import KINDS
from nona.ui.tasks.desk import Desk
from nona.ui.tasks.serverless import compare_ways, find_nodes, run_over, run_schedulers, run_serverless

SMALL = {"jobs": 40, "replications": 2}
TASKS = {
    "serverless": (run_serverless, ServerlessOutcome, {}),
    "serverless-sharing": (
        compare_ways,
        WaysReport,
        {"policy": "esg", "calls": 20, "replications": 1},
    ),
    "serverless-nodes": (
        find_nodes,
        NodesReport,
        {"target": 0.5, "policies": ["fixed"], "calls": 20, "most": 2},
    ),
    "serverless-over": (
        run_over,
        OverReport,
        {
            "key": "load",
            "values": [1.0, 8.0],
            "policies": ["fixed"],
            "target": 0.5,
            "calls": 20,
            "extend": False,
        },
    ),
    "serverless-schedulers": (run_schedulers, SchedulersReport, {}),
}


@cache
def sent(kind: str) -> dict[str, Any]:
    """What a worker sends for a job of that kind."""
    data = scenario_to_mapping(load_scenario(scenario_path("strict_light")))
    data["serverless"]["policies"] = ["esg", "orion"]
    data["schedulers"] = ["local"]
    run, _, options = TASKS[kind]
    desk = Desk(emit=lambda line: json.dumps(line, allow_nan=False))
    with TemporaryDirectory() as folder:
        outcome = run({"scenario": data | {"simulation": SMALL}, "folder": folder, **options}, desk)
    made: dict[str, Any] = json.loads(json.dumps(outcome, allow_nan=False))
    return made


def refuses(result: type[Document], data: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        result.from_json({**data, "unheard_of": 1})


@pytest.mark.parametrize("kind", TASKS)
def test_a_job_s_result_is_read_as_its_type_and_written_as_it_came(kind: str) -> None:
    made = KINDS.find(kind).read(sent(kind))
    assert type(made) is TASKS[kind][1]
    assert made.to_json() == sent(kind)
    assert type(made).from_json(made.to_json()) == made
    refuses(type(made), sent(kind))


def test_without_an_oracle_the_report_says_so_in_json() -> None:
    report = next(iter(KINDS.find("serverless-sharing").read(sent("serverless-sharing")).reports.values()))
    assert report.oracle is None
    assert report.to_json()["oracle"] == {"cost_per_call_usd": None, "how": "not computed"}
    assert ServerlessReport.from_json(report.to_json()) == report


def test_the_shipped_study_is_written_as_it_was_read() -> None:
    assert json.dumps(shipped_serverless().to_json()) == json.dumps(shipped("serverless"))
    refuses(ServerlessStudy, shipped("serverless"))


def test_a_small_study_is_read_back_equal() -> None:
    made = serverless_study(
        StudySettings(
            calls=30,
            replications=2,
            small=30,
            few=1,
            loads=(1.0,),
            profile_sets=1,
            scarce=1,
            settings=("strict_light",),
            alternatives=(1, 46),
            cutoffs_s=(0.01, 0.1),
        )
    )
    assert ServerlessStudy.from_json(json.loads(json.dumps(made.to_json(), allow_nan=False))) == made
    assert set(made.to_json()) == set(shipped("serverless"))
    assert [p.cutoff_s for p in made.cutoff.points] == [0.01, 0.1]
    assert list(made.sensitivity.default) == list(made.settings) == ["strict_light"]
