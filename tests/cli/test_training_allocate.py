"""``nona training allocate``: files, JSON, text, warnings, refusals; and the policies in lists."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nona.allocation.registry import policy_names
from nona.cli.main import main
from nona.results.training import AllocateReport

QUESTION: dict[str, Any] = {
    "workers": {"v100": 1, "k80": 1, "p100": 0},
    "jobs": [
        {"name": "a", "throughputs": {"v100": 40, "k80": 10, "p100": 20}, "remaining_steps": 4000},
        {"name": "b", "throughputs": {"v100": 12, "k80": 4}, "remaining_steps": 1000},
        {"name": "c", "throughputs": {"v100": 100, "k80": 50}, "remaining_steps": 9000},
    ],
    "prices": {"v100": 2.5, "k80": 0.5},
}
PAIRED = {**QUESTION, "pairs": [{"jobs": ["c", "a"], "throughputs": {"v100": [90, 35]}}]}


def ask(tmp_path: Path, question: Mapping[str, Any], *arguments: str) -> int:
    file = tmp_path / "question.yaml"
    file.write_text(json.dumps(question))
    return main(["training", "allocate", str(file), *arguments])


def changed(**job: Any) -> dict[str, Any]:
    """The question with other values for the first job."""
    first, *others = QUESTION["jobs"]
    return {**QUESTION, "jobs": [{**first, **job}, *others]}


def test_json_has_shares_throughputs_and_the_gap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(tmp_path, QUESTION, "--policy", "max-min-fairness", "--json") == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert shown.err == ""
    assert found == AllocateReport.from_json(found).to_json()
    assert found["policy"] == "max-min-fairness"
    assert found["objective"] == pytest.approx(8 / 11, rel=1e-6)
    assert found["bound"] >= found["objective"]
    assert found["gap"] < 1e-6
    assert found["allocation"][0]["jobs"] == ["a"]
    assert found["allocation"][0]["shares"] == pytest.approx({"v100": 5 / 11, "k80": 0}, abs=1e-6)
    assert found["throughputs"] == pytest.approx({"a": 200 / 11, "b": 64 / 11, "c": 600 / 11}, rel=1e-5)
    assert found["seconds"] > 0


@pytest.mark.parametrize("policy", policy_names())
def test_every_policy_answers(policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(tmp_path, PAIRED, "--policy", policy, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["throughputs"]) == {"a", "b", "c"}
    used = dict.fromkeys(("k80", "v100"), 0.0)
    for row in found["allocation"]:
        assert row["shares"].keys() == used.keys()  # p100 has no GPUs
        used = {t: used[t] + row["shares"][t] for t in used}
    if (
        policy != "proportional"
    ):  # a share of each type for that type's part of the cluster, whatever it sums to
        assert max(used.values()) <= 1 + 1e-9


def test_space_sharing_adds_rows_of_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(tmp_path, PAIRED, "--policy", "max-min-fairness", "--space-sharing", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    (pair,) = [row for row in found["allocation"] if len(row["jobs"]) == 2]
    assert pair["jobs"] == ["c", "a"]
    assert pair["shares"]["v100"] > 0
    assert found["objective"] > 8 / 11


def test_text_shows_rows_and_objective(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(tmp_path, QUESTION, "--policy", "max-min-fairness") == 0
    out = capsys.readouterr().out
    assert "0.4545" in out
    assert "objective 0.727273 (bound 0.727273" in out
    assert ask(tmp_path, QUESTION, "--policy", "isolated") == 0
    assert "objective" not in capsys.readouterr().out


def test_deadlines_that_cannot_be_kept_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(tmp_path, changed(slo=120, elapsed=100), "--policy", "cost-slo", "--json") == 0
    shown = capsys.readouterr()
    assert shown.err.startswith("warning: Job 'a': its deadline in 20 s cannot be kept")
    assert len(json.loads(shown.out)["warnings"]) == 1


def test_a_job_that_is_too_large_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(tmp_path, changed(workers=4), "--policy", "max-min-fairness", "--json") == 0
    assert "asks for 4 GPUs at a time, but no type has more than 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("question", "policy", "words"),
    [
        (QUESTION, "nobody", "Policy 'nobody' is not known; choose from max-min-fairness"),
        (changed(remaining_steps=None), "makespan", "job 'a' has no remaining_steps; add it"),
        ({**QUESTION, "prices": {}}, "cost", "type 'k80' has none above 0; add it to prices"),
        ({**QUESTION, "jobs": []}, "makespan", "jobs: [] must have at least 1 entry"),
        ({**QUESTION, "workers": {"v100": 0}}, "makespan", "workers has no GPUs"),
        (changed(name="b"), "makespan", "job 'b' is there twice"),
        (changed(wrokers=2), "makespan", "jobs[0].wrokers: is not a known key"),
        (changed(weight=0), "makespan", "jobs[0].weight: 0 must be greater than 0"),
        (changed(entity="x") | {"entities": {"y": {}}}, "makespan", "entity 'x' is not in entities"),
        (
            QUESTION | {"pairs": [{"jobs": ["a", "z"], "throughputs": {}}]},
            "makespan",
            "job 'z' is not in jobs",
        ),
        (QUESTION | {"pairs": [{"jobs": ["a", "a"], "throughputs": {}}]}, "makespan", "with itself"),
        (changed(workers=2) | {"pairs": PAIRED["pairs"]}, "makespan", "the jobs have unequal workers"),
    ],
)
def test_refusals_name_the_remedy(
    question: Mapping[str, Any],
    policy: str,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ask(tmp_path, question, "--policy", policy) == 2
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1


def test_all_problems_of_a_file_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = changed(weight=-1) | {"workers": {"v100": -2}, "price": {}}
    assert ask(tmp_path, bad, "--policy", "makespan") == 2
    err = capsys.readouterr().err
    assert all(place in err for place in ("jobs[0].weight", "workers.v100", "price: is not a known key"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"%PDF-1.7", "it is a PDF document; give a YAML or JSON file"),
        (b"[1, 2]", "Question: it is [1, 2], not a mapping"),
        (b"{a: ", "Question: not valid YAML"),
        (None, "No such file"),
    ],
)
def test_files_of_another_kind(
    data: bytes | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.yaml"
    if data is not None:
        file.write_bytes(data)
    assert main(["training", "allocate", str(file), "--policy", "makespan"]) == 2
    assert words in capsys.readouterr().err


def test_policies_without_pairs_refuse_space_sharing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(tmp_path, QUESTION, "--policy", "isolated", "--space-sharing") == 2
    assert "leave out --space-sharing" in capsys.readouterr().err


def test_a_name_of_both_is_a_scheduler_for_simulate(capsys: pytest.CaptureFixture[str]) -> None:
    """``gandiva`` is a policy of training clusters and a scheduler of queries."""
    size = ["--jobs", "100", "--replications", "1", "--json"]
    assert main(["simulate", "slides_example", "--scheduler", "gandiva", *size]) == 0
    assert "gandiva" in json.loads(capsys.readouterr().out)["schedulers"]


def test_lists_and_simulate_know_the_policies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schedulers", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["schedulers"]
    found = {s["name"]: s for s in listed if s["family"] == "Training policies"}
    assert found.keys() == set(policy_names())
    assert all(s["summary"] and s["source"] for s in found.values())
    assert main(["simulate", "slides_example", "--scheduler", "makespan"]) == 2
    assert "nona training simulate SCENARIO --policy makespan" in capsys.readouterr().err
