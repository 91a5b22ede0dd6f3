"""Rows with every process of arrivals in the serverless engine; a trace at light, normal and heavy load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nona.errors import NonaError
from nona.scenario.schema import Scenario
from nona.serverless.engine.options import RunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.policies.registry import get_policy
from nona.serverless.records import ServerlessRecords
from nona.serverless.system import ServerlessSystem
from nona.sources.lookup import Sources
from nona.study.serverless.preparation import prepare_serverless

TRACE_S = np.cumsum(np.tile([0.1, 0.1, 0.8, 0.3, 0.05], 40))  # bursts: 200 calls, 3.7 a second


def system(folder: Path | None, arrivals: dict[str, Any], rate: float = 4.0) -> ServerlessSystem:
    row = {"model": "image_classification", "rate": rate, "slo": "1 s", "arrivals": arrivals}
    return prepare_serverless(
        Scenario.model_validate(
            {
                "seed": 3,
                "cluster": {"servers": [{"count": 4}]},
                "workload": [row, {"model": "depth_recognition", "rate": 1.0, "slo": "2 s"}],
                "serverless": {},
            }
        ),
        Sources(folder),
    )


def run(made: ServerlessSystem, calls: int = 400, replication: int = 0) -> ServerlessRecords:
    return simulate_serverless(
        made, get_policy("esg"), {}, RunOptions(calls=calls, warmup=0, replication=replication)
    )


def own_s(records: ServerlessRecords) -> Any:
    return records.calls.arrival_s[records.calls.application == 0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "calls.csv").write_text("\n".join(["time", *(f"{t:.6f}" for t in TRACE_S)]), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("rate", [1.0, 3.0, 9.0], ids=["light", "normal", "heavy"])
def test_a_trace_is_replayed_at_the_row_s_rate(folder: Path, rate: float) -> None:
    made = system(folder, {"process": "trace", "trace": "calls.csv"}, rate)
    found = own_s(run(made, calls=300))
    gaps, trace_gaps = np.diff(found), np.diff(TRACE_S)
    n = min(len(gaps), len(trace_gaps))
    assert gaps[:n] / gaps[0] == pytest.approx(trace_gaps[:n] / trace_gaps[0], rel=1e-4)
    assert len(found) / (found[-1] + 1 / rate) == pytest.approx(rate, rel=0.1)


def test_a_trace_that_keeps_its_time_is_replayed_again_and_from_elsewhere(folder: Path) -> None:
    made = system(folder, {"process": "trace", "trace": "calls.csv", "scale_to_rate": False})
    found = own_s(run(made))
    assert len(found) > len(TRACE_S)  # it begins anew at its end
    assert found[: len(TRACE_S)] == pytest.approx(TRACE_S - TRACE_S[0], abs=1e-5)
    other = own_s(run(made, replication=1))
    assert not np.allclose(other[:50], found[:50])


@pytest.mark.parametrize(
    ("arrivals", "least", "most"),
    [
        ({"process": "gamma", "cv": 3.0}, 2.4, 3.6),
        ({"process": "gamma", "cv": 0.2}, 0.15, 0.25),
        ({"process": "mmpp", "burst_factor": 8.0, "burst_fraction": 0.1, "burst_mean": "200 ms"}, 1.2, 2.5),
        ({"process": "deterministic"}, 0.0, 1e-6),
        ({"process": "poisson"}, 0.9, 1.1),
    ],
)
def test_gaps_vary_as_the_process_says(arrivals: dict[str, Any], least: float, most: float) -> None:
    records = run(system(None, arrivals, rate=8.0), calls=2000)
    gaps = np.diff(own_s(records))
    assert gaps.mean() == pytest.approx(1 / 8, rel=0.12)
    assert least <= gaps.std() / gaps.mean() <= most
    assert not np.isnan(records.calls.completion_s[records.calls.measured]).any()


def test_a_trace_that_is_missing_is_named() -> None:
    with pytest.raises(NonaError, match=r"calls\.csv"):
        system(None, {"process": "trace", "trace": "calls.csv"})
