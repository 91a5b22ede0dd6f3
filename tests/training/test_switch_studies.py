"""Studies of switches: what each costs, and checkpoint intervals compared."""

import pytest

from nona.errors import ScenarioError
from nona.report.training.text import checkpoint_text, switches_text
from nona.results.training import SwitchesReport
from nona.scenario.file import parse_scenario
from nona.scenario.schema import Scenario
from nona.study.training.run import OFF, checkpoint_report, compare_switches

JOBS = ", ".join(
    f"{{name: j{i}, model: A3C, steps: {20_000 + 5_000 * i}, arrival: {10 * i} min}}" for i in range(9)
)
TEXT = f"""
cluster: {{servers: [{{gpu: k80, gpus: 2}}, {{gpu: p100, gpus: 2}}, {{gpu: v100, gpus: 2}}]}}
simulation: {{replications: 2}}
training:
  jobs: [{JOBS}]
  policies: [isolated]
"""


def _scenario(*lines: str) -> Scenario:
    return parse_scenario(TEXT + "".join(f"  {line}\n" for line in lines))


def test_every_setting_is_compared_with_all_switches_off() -> None:
    report = compare_switches(_scenario("moves: {warmup: 90 s}", "failures: {mtbf: 4 h, interval: 2 min}"))
    rows = {row.setting: row for row in report.rows}
    assert report.failed_checks == ()
    assert list(rows)[:3] == [OFF, "moves", "moves, charged"]
    assert rows[OFF].added_s.mean == 0.0
    assert rows[OFF].findings is None
    for row in rows.values():
        assert row.added_s.mean == pytest.approx((row.jct_s.mean or 0) - (rows[OFF].jct_s.mean or 0))
    assert rows["moves, charged"].moves < rows["moves"].moves
    given, daly = rows["failures, as given"], rows["failures, Daly's interval"]
    assert (given.lost_steps_share or 0) > (daly.lost_steps_share or 0) > 0
    assert SwitchesReport.from_json(report.to_json()) == report
    assert "moves, charged" in switches_text(report)


def test_without_a_switch_there_is_nothing_to_compare() -> None:
    with pytest.raises(ScenarioError, match="none of estimator, estimates, moves, failures, regions is set"):
        compare_switches(_scenario())


def test_intervals_are_near_each_other_and_the_simulated_best_is_best() -> None:
    report = checkpoint_report(_scenario("failures: {mtbf: 24 h, interval: 5 min}"), failures=4000)
    rows = {row.method: row for row in report.rows}
    best = min(row.simulated.mean or 9.0 for row in report.rows)
    assert rows["best simulated"].simulated.mean == best
    assert rows["Daly"].formula == pytest.approx(rows["least of the formula"].formula, rel=1e-4)
    assert rows["as given"].formula > rows["Young"].formula
    for row in report.rows:
        assert row.simulated.ci95 is not None
        assert abs(row.formula - (row.simulated.mean or 0)) < 2 * (row.simulated.half_width or 0)
    assert "restart" in checkpoint_text(report)


def test_free_checkpoints_have_no_best_interval() -> None:
    with pytest.raises(ScenarioError, match="a checkpoint above 0 s"):
        checkpoint_report(_scenario("failures: {mtbf: 24 h, checkpoint: 0 s}"))
