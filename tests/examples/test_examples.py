"""The examples run as a user would run them, are short, and their answers make sense."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import nona

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def main_of(name):
    return runpy.run_path(str(ROOT / "examples" / f"{name}.py"))["main"]


@pytest.mark.verify
def test_more_servers_keep_the_slo_more_often(capsys):
    rates = main_of("plan_a_cluster")(["--servers", "24", "8", "4", "--jobs", "1500"])
    assert list(rates) == [4, 8, 24]
    assert rates[4] is None, "4 servers cannot carry the load"
    assert rates[24] > 0.95 > rates[8]
    shown = capsys.readouterr().out
    assert "overloaded" in shown
    assert "5 servers of this mix" in shown
    assert "Servers for 95% within 500 ms: 24" in shown


@pytest.mark.verify
def test_a_scheduler_that_sees_queues_is_faster_than_one_that_does_not():
    result = main_of("add_a_scheduler")()
    shortest, nonas = (result.summaries[name].result.jct_s for name in ("shortest-queue", "nona"))
    assert shortest.mean + shortest.half_width < nonas.mean - nonas.half_width
    assert "shortest-queue" not in nona.SCHEDULERS


def test_a_model_of_ones_own_is_split_where_that_is_faster(capsys):
    means = main_of("place_my_model")()
    assert means["nona"] <= min(means.values()) * 1.005
    assert means["nona"] < 0.9 * means["local"]
    assert means["nona"] > 9e-3, "no placement beats the longest path"
    assert "gains at most 1.56" in capsys.readouterr().out


def test_the_script_runs_from_a_shell():
    command = [sys.executable, "examples/plan_a_cluster.py", "--servers", "4"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Servers for 95% within 500 ms: more than were tried" in done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_read_in_a_minute(path):
    assert len(path.read_text("utf-8").splitlines()) < 60
