"""Files of a serverless run: the table adds up to the report, the timeline is a possible one."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from nona.cli.main import main
from nona.report.html.serverless import serverless_html
from nona.report.serverless.exports import call_table, serverless_trace
from nona.scenario.file import load_scenario
from nona.scenario.schema import Scenario
from nona.sources.samples import scenario_path
from nona.study.exports import CALLS_CSV, CALLS_PARQUET, TRACE, write_serverless
from nona.study.outcome import serverless_outcome
from nona.study.serverless.run import ServerlessResult, simulate_serverless_scenario


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return load_scenario(scenario_path("strict_light"))


@pytest.fixture(scope="module")
def result(scenario: Scenario) -> ServerlessResult:
    return simulate_serverless_scenario(scenario, policies=("fixed", "fast-gshare"), calls=80, replications=2)


def test_the_table_of_calls_adds_up_to_the_report(result: ServerlessResult, tmp_path: Path) -> None:
    table = call_table(result.records, result.system)
    for name, summary in result.summaries.items():
        own = table[table["policy"] == name]
        assert len(own) == summary.arrived == 160
        assert own["slo_kept"].mean() == pytest.approx(summary.slo_hit_rate.mean)
        assert own["cost_usd"].mean() == pytest.approx(summary.cost_per_call_usd.mean)
        assert ((own["latency_s"] <= own["slo_s"]) == own["slo_kept"]).all()
    write_serverless(tmp_path, result)
    assert pd.read_parquet(tmp_path / CALLS_PARQUET).equals(table)
    assert len(pd.read_csv(tmp_path / CALLS_CSV)) == len(table)
    assert json.loads((tmp_path / TRACE).read_text())["traceEvents"]


def test_batches_on_one_thread_follow_one_another_and_arrows_go_forwards(result: ServerlessResult) -> None:
    trace = serverless_trace(result.records, result.system)
    lanes: dict[tuple[int, int | None], list[tuple[float, float]]] = {}
    for e in trace.events:
        if e.ph == "X" and e.cat == "batch":
            assert e.ts is not None
            assert e.dur is not None
            lanes.setdefault((e.pid, e.tid), []).append((e.ts, e.ts + e.dur))
    assert lanes
    for spans in lanes.values():
        spans.sort()
        assert all(a[1] <= b[0] + 1e-6 for a, b in pairwise(spans))
    starts = {e.id: e.ts for e in trace.events if e.ph == "s"}
    ends = {e.id: e.ts for e in trace.events if e.ph == "f"}
    assert starts.keys() == ends.keys()
    assert starts
    assert all(starts[k] <= ends[k] for k in starts)  # type: ignore[operator]
    few = serverless_trace(result.records, result.system, most=200)
    assert len(few.events) <= 200
    assert few.about.jobs["fixed"].shown < trace.about.jobs["fixed"].shown


def test_the_html_report_says_what_the_run_says(scenario: Scenario, result: ServerlessResult) -> None:
    outcome = serverless_outcome(scenario, result, "2026-01-01")
    page = serverless_html(outcome)
    assert page == serverless_html(outcome)
    assert "<script" not in page
    for name in result.summaries:
        assert name in page
    assert outcome.about.hash in page
    assert "recollected" in page  # where the defaults come from


def test_files_are_written_by_the_command_and_not_over_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        f"--{kind}": tmp_path / f"run.{end}"
        for kind, end in (("html", "html"), ("trace", "json"), ("records", "parquet"))
    }
    asked = ["serverless", "strict_light", "--policy", "fixed", "--calls", "40", "--replications", "1"]
    words = [word for option, path in files.items() for word in (option, str(path))]
    assert main([*asked, *words]) == 0
    assert all(path.stat().st_size for path in files.values())
    assert len(pd.read_parquet(files["--records"])) == 40
    capsys.readouterr()
    assert main([*asked, "--html", str(files["--html"])]) == 2
    assert "add --force" in capsys.readouterr().err
    assert main([*asked, "--dag-schedulers", "--html", str(tmp_path / "other.html")]) == 2
    assert main([*asked, "--values", "1,2"]) == 2
    assert "add --over load" in capsys.readouterr().err
