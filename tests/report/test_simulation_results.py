"""Results of simulations survive JSON, and columns of their tables are the same wherever they are written."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from nona import study
from nona.report.simulations.comparison import replication_means
from nona.report.simulations.live import LiveSeries
from nona.report.simulations.report import SimulatedRun
from nona.report.simulations.series import story_load
from nona.report.simulations.tables import COLUMNS, STYLE, parts_text, result_rows, summary_table
from nona.report.simulations.tables import RESULT_COLUMNS as TEXT
from nona.report.simulations.tables import RESULTS as HTML
from nona.report.simulations.uncertainty import sureness_rows
from nona.results.document import Document
from nona.results.simulation import QuickAnswer
from nona.results.simulation_charts import LiveRun, Story
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.simulation.collected import Busy, Progress
from nona.sources.samples import scenario_path
from nona.study.link_load import network_story
from nona.study.outcome import TIMELINE_JOBS, simulation_outcome


@pytest.fixture(scope="module")
def run() -> SimulatedRun:
    """A run with an overloaded scheduler, several models, an SLO, a pilot and a precision."""
    data = scenario_to_mapping(load_scenario(scenario_path("slides_example")))
    data["schedulers"] = ["local", "spread"]
    data["workload"] = [
        {"model": "slides_example", "rate": "60/s", "slo": "40 ms", "name": "a"},
        {"model": "slides_example", "rate": "5/s", "name": "b"},
    ]
    data["simulation"] = {"jobs": 100, "replications": 2, "warmup": "mser", "precision": 0.3}
    prepared = study.prepare(scenario_from_mapping(data))
    result = study.simulate(prepared, engine="simpy", timeline_jobs=TIMELINE_JOBS)
    live = LiveSeries([0.04, None])
    loads = Busy(np.array([0.5]), np.array([0.25]))
    live.add("local", 0, Progress(0.5, np.zeros(2, dtype=np.int64), np.zeros(2), np.ones(2), loads))
    return SimulatedRun(
        **dict(simulation_outcome(prepared, result, "now")),
        live=LiveRun(slo=(("a", 0.04),), schedulers=("local",), of=4, series=live.snapshot(), jobs=2),
        means=replication_means(result.records, [0.04, None]),
        idle_s=0.014,
        scenario=prepared.scenario,
    )


def every_document(run: SimulatedRun) -> list[Document]:
    scenario = load_scenario(scenario_path("slides_example"))
    (point,) = network_story(study.with_value(scenario, "simulation.jobs", 20), (0.6,), engine="simpy")
    load = story_load(point.load, point.runs, point.system)
    answer = QuickAnswer(
        predicted=run.predicted, report=run.report, replications=1, jobs=4, engine="x", failed={"y": "z"}
    )
    return [
        run,
        answer,
        Story(points=(load,), limit=0.8, jobs=20),
        *sureness_rows(run.report, run.predicted, run.idle_s),
    ]


def test_results_survive_json_and_refuse_what_they_do_not_know(run: SimulatedRun) -> None:
    states = {s.state for s in run.report.schedulers.values()}
    assert "overloaded" in states
    assert run.warmup is not None
    assert run.report.precision is not None
    for document in every_document(run):
        data: dict[str, Any] = json.loads(json.dumps(document.to_json(), allow_nan=False))
        assert type(document).from_json(data) == document
        with pytest.raises(ValidationError, match="stranger"):
            type(document).from_json({**data, "stranger": 1})


def test_a_row_of_a_table_is_the_scheduler_s_result(run: SimulatedRun) -> None:
    rows = {(r.scheduler, r.model): r for r in result_rows(run.report.schedulers, run.predicted, models=True)}
    assert [model for name, model in rows if name == "local"] == ["all", "a", "b"]
    for name, s in run.report.schedulers.items():
        whole, one = rows[name, "all"], rows[name, "a"]
        assert COLUMNS["jct"].read(whole) == s.jct_s
        assert COLUMNS["jobs_in_flight"].read(whole) == s.jobs.in_flight
        assert COLUMNS["jobs_in_flight"].read(one) is None
        assert COLUMNS["slo"].read(one) == s.models["a"].slo_s == 0.04
        assert COLUMNS["link_wait"].read(one) == s.models["a"].parts_s.link_wait


def test_terminal_and_html_choose_from_the_same_columns(run: SimulatedRun) -> None:
    assert {c.key for c in TEXT} <= {c.key for c in HTML}
    assert [c.heading for c in TEXT if c.key == "utilization_compute"] == ["compute"]
    assert STYLE.cell(None, "s") == "–"
    assert (STYLE.cell(0.5, "rate"), STYLE.cell(1200, "count")) == ("50.00 %", "1,200")
    assert parts_text(run.report.schedulers).splitlines()[0].split()[:3] == ["scheduler", "model", "JCT"]


def test_a_summary_of_plain_numbers_has_every_interval(run: SimulatedRun) -> None:
    table = summary_table(run.report)
    assert list(table.columns[:6]) == ["scheduler", "model", "state", "jct_s", "jct_low_s", "jct_high_s"]
    assert {"jct_p95_low_s", "slo_hit_rate_high", "server_wait_s", "slo_s"} <= set(table.columns)
    over = table[(table["state"] == "overloaded") & (table["model"] == "all")]
    assert over["jct_s"].isna().all()
    assert (over["jobs_arrived"] > 0).all()
