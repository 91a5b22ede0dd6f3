"""``nona training simulate``: the JSON that programs read, processes, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nona.cli.main import main
from nona.results.training.outcome import TrainingOutcome
from nona.results.training.report import TrainingReport
from nona.scenario.file import parse_scenario
from nona.study.training.run import outcome_of, simulate_training_scenario

TEXT = """
cluster:
  servers: [{count: 1, gpu: v100, gpus: 2}, {count: 1, gpu: k80, gpus: 2}]
training:
  generate: {jobs: 8, mean_gap: 600 s, slos: true}
  policies: [max-min-fairness, fifo]
"""


def _json(capsys: pytest.CaptureFixture[str], path: Path, *arguments: str) -> dict[str, object]:
    assert main(["training", "simulate", str(path), "--json", *arguments]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(TEXT)
    return path


def test_the_report_is_the_same_in_one_process_and_two(
    scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = TrainingReport.from_json(_json(capsys, scenario, "--replications", "2"))
    second = TrainingReport.from_json(_json(capsys, scenario, "--replications", "2", "--workers", "2"))
    assert list(first.policies) == ["max-min-fairness", "fifo"]
    assert all(first.checks.values())
    for name, found in first.policies.items():
        other = second.policies[name]
        assert (found.jobs, found.jct_s, found.cost_usd) == (other.jobs, other.jct_s, other.cost_usd)
        assert found.jct_s.ci95 is not None
        assert found.jct_s.mean is not None
        assert found.jct_s.ci95[0] < found.jct_s.mean < found.jct_s.ci95[1]
        assert [job.name for job in found.jobs] == [str(i) for i in range(8)]


def test_policies_and_seeds_are_chosen(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ("--policy", "isolated", "--replications", "1", "--no-ideal")
    first = _json(capsys, scenario, *chosen)
    assert list(first["policies"]) == ["isolated"]  # type: ignore[call-overload]
    assert first["policies"] != _json(capsys, scenario, *chosen, "--seed", "7")["policies"]


def test_a_scenario_without_training_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["training", "simulate", "slides_example"]) == 2
    assert "training: is missing" in capsys.readouterr().err


def test_the_outcome_tells_rounds_and_what_was_received() -> None:
    result = simulate_training_scenario(
        parse_scenario(TEXT), policies=("fifo",), replications=1, trace_rounds=5
    )
    outcome = outcome_of(result)
    assert TrainingOutcome.from_json(outcome.to_json()) == outcome
    trace = outcome.traces["fifo"]
    assert [r.number for r in trace.rounds if r.priorities] == [0, 1, 2, 3, 4]
    row = trace.rounds[0].priorities[0]
    assert row.ran
    assert row.priority == pytest.approx(row.share * row.type_s / row.received_s)
    (records,) = result.records.values()
    stays = sum((s.end_s - s.start_s) * len(s.gpus) for s in trace.stays)
    assert stays == pytest.approx(records.booked_s.sum())
    assert {r.job for r in trace.received} == set(range(8))
