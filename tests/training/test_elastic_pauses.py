"""Pauses that are long beside ticks, turns and rounds: every run ends, or is refused before it begins."""

import math
from dataclasses import replace

import pytest

from nona.cli.main import main
from nona.errors import SimulationError
from nona.training.elastic.engine import simulate_elastic
from nona.training.elastic.policy import alone_s
from nona.training.elastic.records import elastic_checks
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.system import Cluster, ElasticSystem
from nona.training.elastic.workload import at_load, shipped_workload

ONE = Cluster(1, 1)
NCF = next(job for job in shipped_workload(1) if job.application.name == "ncf" and job.gpus == 1)
TWO = (replace(NCF, name="a", arrival_s=0.0), replace(NCF, name="b", arrival_s=0.0))


@pytest.mark.parametrize(
    ("tick_s", "restart_s", "turn"), [(1, 30, 10), (1, 10, 10), (5, 32, 4), (60, 3600, 1)]
)
def test_a_turn_under_gandiva_brings_progress_however_long_a_restart_takes(tick_s, restart_s, turn):
    """Two equal jobs on one GPU take turns of ``turn`` ticks that train: each starts once a turn."""
    system = ElasticSystem(ONE, TWO, tick_s=tick_s, restart_s=restart_s)
    records = simulate_elastic(system, ELASTIC["gandiva"], {"slice_ticks": turn})
    assert [check for check in elastic_checks(system, records) if not check.ok] == []
    starts = records.restarts + 1
    assert records.paused_gpu_s == pytest.approx(starts * restart_s)  # no pause is broken off
    first = turn * tick_s - restart_s % tick_s  # seconds that train, where a pause ends within a tick
    turns = math.ceil(alone_s(ONE, NCF) / (first if restart_s % tick_s else turn * tick_s))
    assert starts == pytest.approx(turns, abs=1)  # epochs end at whole seconds


def test_gavel_refuses_rounds_that_a_restart_takes_whole():
    system = ElasticSystem(ONE, TWO, tick_s=1, restart_s=30)
    with pytest.raises(SimulationError, match=r"round_ticks=30 makes rounds of 30 s.*set it to 31 or more"):
        simulate_elastic(system, ELASTIC["gavel"], {"round_ticks": 30})
    records = simulate_elastic(system, ELASTIC["gavel"], {"round_ticks": 31})
    assert [check for check in elastic_checks(system, records) if not check.ok] == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"restart_s": 3601}, "restart 3601 s must be from 0 to 3600 s"),
        ({"restart_s": -1}, "restart -1 s must be from 0 to 3600 s"),
        ({"tick_s": 0}, "tick 0 s must be from 1 to 86400 s"),
        ({"tick_s": 86401}, "tick 86401 s must be from 1 to 86400 s"),
        ({"interference": 1.0}, "interference 1 must be at least 0 and below 1"),
    ],
)
def test_times_out_of_range_are_refused_by_their_own_names(changed, said):
    with pytest.raises(SimulationError, match=said):
        ElasticSystem(ONE, TWO, **changed)
    assert ElasticSystem(ONE, TWO, tick_s=86_400, restart_s=3_600, interference=0.99).jobs == TWO


@pytest.mark.parametrize("option", ["--restart=100000", "--tick=100000"])
def test_the_command_refuses_them_at_once(option, capsys):
    assert main(["training", "elastic", option]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "100000" in error


def test_so_does_a_scenario(tmp_path, capsys):
    path = tmp_path / "slow.yaml"
    path.write_text(
        "{version: 1, cluster: {servers: [{count: 2, gpu: t4, gpus: 4}]}, "
        "training: {elastic: {workload: 1, restart: 2 h}}}"
    )
    assert main(["training", "elastic", str(path)]) != 0
    assert "training.elastic.restart" in capsys.readouterr().err


def test_a_load_that_leaves_no_job_says_so():
    with pytest.raises(SimulationError, match=r"Load 0\.006 leaves none of the 160 jobs of workload 2"):
        at_load(2, 0.006)
    assert len(at_load(2, 0.00625)) == 1
