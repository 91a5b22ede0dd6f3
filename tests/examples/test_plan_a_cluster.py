"""The example script runs as a user would run it, and its answers make sense."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "examples" / "plan_a_cluster.py"


@pytest.mark.verify
def test_more_servers_keep_the_slo_more_often(capsys):
    main = runpy.run_path(str(SCRIPT))["main"]
    few, some, many = main(["--servers", "24", "8", "4", "--jobs", "1500"])
    assert [few.servers, some.servers, many.servers] == [4, 8, 24]
    assert few.placed_s is None, "4 servers cannot carry the load"
    for plan in (some, many):
        assert plan.simulated_s == pytest.approx(plan.placed_s, rel=0.2)
    assert many.placed_s < some.placed_s
    assert many.slo_hit_rate > some.slo_hit_rate
    shown = capsys.readouterr().out
    assert "overloaded" in shown
    assert "5 servers of this mix" in shown
    assert "Servers for 95 % within 500 ms" in shown


def test_the_script_runs_from_a_shell():
    command = [sys.executable, str(SCRIPT), "--servers", "12", "--jobs", "200"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "rag_pipeline on a100-40gb: 13 operators, 13 tasks" in done.stdout
