"""``nona training allocate``, ``switches`` and ``checkpoints``: their JSON, their text, their warnings."""

import json

import pytest
from calling import PAIRED, QUESTION, answer, changed, text

from nona.allocation.registry import policy_names
from nona.cli.main import main
from nona.training.results import AllocateReport, CheckpointReport, SwitchesReport

MAX_MIN = ("--policy", "max-min-fairness")
FAILING = """
cluster: {servers: [{count: 2, gpu: v100}, {count: 2, gpu: k80}]}
training:
  {generate: {jobs: 6, mean_gap: 600 s}, policies: [isolated, fifo], failures: {mtbf: 6 h, interval: 20 min}}
"""


def asked(folder, question, *options):
    (folder / "question.yaml").write_text(json.dumps(question))
    return ("training", "allocate", str(folder / "question.yaml"), *options)


def test_json_has_shares_throughputs_and_the_gap(tmp_path, capsys):
    found = answer(capsys, *asked(tmp_path, QUESTION, *MAX_MIN))
    assert found == AllocateReport.from_json(found).to_json()
    assert (found["policy"], found["warnings"]) == ("max-min-fairness", [])
    assert found["objective"] == pytest.approx(8 / 11, rel=1e-6)
    assert found["gap"] < 1e-6
    assert found["allocation"][0]["shares"] == pytest.approx({"v100": 5 / 11, "k80": 0}, abs=1e-6)
    assert found["throughputs"] == pytest.approx({"a": 200 / 11, "b": 64 / 11, "c": 600 / 11}, rel=1e-5)
    assert found["seconds"] > 0


@pytest.mark.parametrize("policy", policy_names())
def test_every_policy_answers(policy, tmp_path, capsys):
    found = answer(capsys, *asked(tmp_path, PAIRED, "--policy", policy))
    assert set(found["throughputs"]) == {"a", "b", "c"}
    used = dict.fromkeys(("k80", "v100"), 0.0)
    for row in found["allocation"]:
        assert row["shares"].keys() == used.keys()  # p100 has no GPUs
        used = {t: used[t] + row["shares"][t] for t in used}
    # Proportional: a share of each type for that type's part of the cluster, whatever it sums to.
    assert policy == "proportional" or max(used.values()) <= 1 + 1e-9


def test_space_sharing_adds_rows_of_pairs(tmp_path, capsys):
    found = answer(capsys, *asked(tmp_path, PAIRED, *MAX_MIN, "--space-sharing"))
    (pair,) = [row for row in found["allocation"] if len(row["jobs"]) == 2]
    assert pair["jobs"] == ["c", "a"]
    assert pair["shares"]["v100"] > 0
    assert found["objective"] > 8 / 11


def test_text_shows_rows_and_objective(tmp_path, capsys):
    told = text(capsys, *asked(tmp_path, QUESTION, *MAX_MIN))
    assert "0.4545" in told
    assert "objective 0.727273 (bound 0.727273" in told
    assert "objective" not in text(capsys, *asked(tmp_path, QUESTION, "--policy", "isolated"))


@pytest.mark.parametrize(
    ("job", "policy", "told"),
    [
        ({"slo": 120, "elapsed": 100}, "cost-slo", "warning: Job 'a': its deadline in 20 s cannot be kept"),
        ({"workers": 4, "remaining_steps": None}, "cost-slo", "asks for 4 GPUs"),  # no SLO, no steps
        ({"workers": 4}, "max-min-fairness", "asks for 4 GPUs at a time, but no type has more than 1"),
    ],
)
def test_what_cannot_be_kept_is_a_warning(job, policy, told, tmp_path, capsys):
    assert main([*asked(tmp_path, changed(**job), "--policy", policy), "--json"]) == 0
    shown = capsys.readouterr()
    assert told in shown.err
    assert len(json.loads(shown.out)["warnings"]) == 1


@pytest.fixture
def failing(tmp_path):
    path = tmp_path / "failing.yaml"
    path.write_text(FAILING)
    return path


@pytest.mark.verify
def test_switches_are_compared_alike_by_any_number_of_workers(failing, capsys):
    chosen = ("training", "switches", failing, "--policy", "fifo", "--replications", "2")
    report = SwitchesReport.from_json(answer(capsys, *chosen))
    assert report.replications == 2
    assert {row.policy for row in report.rows} == {"fifo"}
    assert SwitchesReport.from_json(answer(capsys, *chosen, "--workers", "2")).rows == report.rows
    assert SwitchesReport.from_json(answer(capsys, *chosen, "--seed", "9")).rows != report.rows
    told = text(capsys, *chosen[:-1], "1")
    assert "failures, Daly's interval" in told
    assert "added" in told


def test_intervals_are_those_of_the_formulas(failing, capsys):
    report = CheckpointReport.from_json(answer(capsys, "training", "checkpoints", failing))
    assert (report.mtbf_s, report.checkpoint_s, report.restart_s) == (21600.0, 30.0, 60.0)
    for row in report.rows:
        assert row.mtbf_s == pytest.approx(21600.0 / row.nodes)
        if row.method == "Young":
            assert row.interval_s == pytest.approx((2 * 30.0 * row.mtbf_s) ** 0.5)
        if row.method == "as given":
            assert row.interval_s == 1200.0
    assert "between checkpoints" in text(capsys, "training", "checkpoints", failing)
