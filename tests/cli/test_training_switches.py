"""``nona training switches`` and ``checkpoints``: their JSON, their text, their refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nona.cli.main import main
from nona.results.training import CheckpointReport, SwitchesReport

CLUSTER = "cluster: {servers: [{count: 2, gpu: v100}, {count: 2, gpu: k80}]}"
JOBS = "generate: {jobs: 6, mean_gap: 600 s}, policies: [isolated, fifo]"
FAILING = f"{CLUSTER}\ntraining: {{{JOBS}, failures: {{mtbf: 6 h, interval: 20 min}}}}\n"
PLAIN = f"{CLUSTER}\ntraining: {{{JOBS}}}\n"
Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def failing(tmp_path: Path) -> str:
    path = tmp_path / "failing.yaml"
    path.write_text(FAILING)
    return str(path)


def answer(capsys: Capsys, *words: str) -> Any:
    assert main(["training", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_switches_are_compared_with_none(failing: str, capsys: Capsys) -> None:
    chosen = ("switches", failing, "--policy", "fifo", "--replications", "2")
    report = SwitchesReport.from_json(answer(capsys, *chosen))
    assert report.replications == 2
    assert not report.failed_checks
    assert {row.policy for row in report.rows} == {"fifo"}
    assert report.rows[0].added_s.mean == 0.0
    given = next(row for row in report.rows if row.setting == "failures, as given")
    assert given.jct_s.mean is not None
    assert given.added_s.mean == pytest.approx(given.jct_s.mean - (report.rows[0].jct_s.mean or 0.0))
    again = SwitchesReport.from_json(answer(capsys, *chosen, "--workers", "2"))
    assert again.rows == report.rows
    other = SwitchesReport.from_json(answer(capsys, *chosen, "--seed", "9"))
    assert other.rows != report.rows


def test_switches_and_intervals_are_told_as_text(failing: str, capsys: Capsys) -> None:
    assert main(["training", "switches", failing, "--policy", "fifo", "--replications", "1"]) == 0
    told = capsys.readouterr().out
    assert "failures, Daly's interval" in told
    assert "added (h)" in told
    assert main(["training", "checkpoints", failing]) == 0
    assert "minutes between checkpoints" in capsys.readouterr().out


def test_intervals_are_those_of_the_formulas(failing: str, capsys: Capsys) -> None:
    report = CheckpointReport.from_json(answer(capsys, "checkpoints", failing))
    assert (report.mtbf_s, report.checkpoint_s, report.restart_s) == (21600.0, 30.0, 60.0)
    for row in report.rows:
        assert row.mtbf_s == pytest.approx(21600.0 / row.nodes)
        if row.method == "Young":
            assert row.interval_s == pytest.approx((2 * 30.0 * row.mtbf_s) ** 0.5)
        if row.method == "as given":
            assert row.interval_s == 1200.0


@pytest.mark.parametrize("command", ["switches", "checkpoints"])
@pytest.mark.parametrize(
    ("text", "why"),
    [
        (PLAIN, "failures"),
        (f"{CLUSTER}\nworkload: [{{model: resnet18, rate: 1/s}}]\n", "training: is missing"),
    ],
)
def test_what_has_nothing_to_compare_is_refused(
    tmp_path: Path, capsys: Capsys, command: str, text: str, why: str
) -> None:
    path = tmp_path / "refused.yaml"
    path.write_text(text)
    assert main(["training", command, str(path)]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert why in out.err
    assert "Traceback" not in out.err
