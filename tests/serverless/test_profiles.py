"""Profiles from files: three layouts, times between the measured ones, and what is refused."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import CostError, NonaError
from nona.gpu_sharing.pool import Configuration
from nona.scenario.schema import Scenario
from nona.serverless.fits import shipped_fits
from nona.serverless.functions import grid
from nona.serverless.measurements import measured_points
from nona.serverless.profiles import ProfileRow, between, profile_times, read_profile, rows_of
from nona.serverless.system import ServerlessSystem
from nona.sources.lookup import Sources
from nona.sources.opening import pack_bundle, read_bundle
from nona.sources.unknown import unknown_names
from nona.study.serverless.preparation import prepare_serverless

SMALL = {"batch": [1, 2, 4], "vcpus": [1, 2], "vgpus": [1, 2, 7]}
PARVAGPU = b"""Mig instance,Batch size,Workload Number,Throughput,Latency
1,1,1,100,0.010
1,1,2,60,0.033
1,4,1,200,0.020
2,1,1,0.0,0.0
2,4,1,400,0.010
"""
INFLESS = b"""ssd 2 10 1 60.0
ssd 2 0 1 152.0
ssd 2 20 1 50.0
ssd 2 20 8 23046.33
"""


def test_three_layouts_say_the_same() -> None:
    ours = b"# measured yesterday\nbatch,vgpus,ms\n1,1,10\n4,1,20\n4,2,10\n"
    assert read_profile(PARVAGPU) == read_profile(ours)
    own = b"model,vcpus,gpu_percent,batch,ms\nssd,2,10,1,60\nssd,2,20,1,50\n"
    assert read_profile(INFLESS) == read_profile(own), (
        "what did not finish, or ran without a GPU, is left out"
    )


sizes = st.integers(1, 4096)


@examples(25, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(
        st.tuples(
            sizes, st.none() | sizes, st.none() | st.integers(1, 100), st.sampled_from((5.0, 50.0, 95.0))
        ),
        st.floats(1e-3, 1e6),
        min_size=1,
        max_size=4,
    )
)
def test_what_is_written_is_read(rows: dict[tuple[Any, ...], float]) -> None:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(("ms", "batch", "vcpus", "gpu_percent", "percentile"))
    for (batch, vcpus, percent, percentile), ms in rows.items():
        writer.writerow((repr(ms), batch, vcpus, percent, percentile))
    read = read_profile(out.getvalue().encode())
    found = {
        (r.batch, r.vcpus, None if r.gpu_share is None else round(100 * r.gpu_share), r.percentile): r
        for r in read
    }
    assert set(found) == set(rows)
    assert all(r.seconds == pytest.approx(rows[key] / 1e3) for key, r in found.items())
    kept = rows_of(read, "any")
    (percentile,) = {r.percentile for r in kept}
    assert abs(percentile - 50) == min(abs(r.percentile - 50) for r in read)


@examples(25)
@given(st.floats(1e-3, 1), st.floats(0.1, 3), st.dictionaries(st.integers(1, 64), st.just(0.0), min_size=2))
def test_a_power_law_is_met_between_its_points(seconds: float, power: float, at: dict[int, float]) -> None:
    curve = {float(x): seconds * x**power for x in at}
    for size in range(1, 65):
        inside = min(at) <= size <= max(at)
        expected = seconds * size**power if inside else np.inf
        assert between(curve, size) == pytest.approx(expected)


def test_measured_configurations_take_the_measured_time_and_others_cannot_be_chosen() -> None:
    points = measured_points("resnet152")
    rows = tuple(
        ProfileRow(int(b), s, vgpus=int(g))
        for b, g, s in zip(points.batch, points.vgpus, points.seconds, strict=True)
    )
    space = grid([1, 2, 3, 4, 8, 16, 24, 32, 64], [1, 5], [1, 2, 3, 4, 5, 7])
    times = profile_times(rows, space).rows
    for row in rows:
        for vcpus in (1, 5):
            assert times[Configuration(row.batch, vcpus, row.vgpus)] == row.seconds
    missing = {(c.batch, c.vgpus) for c in space.configurations if c not in times}
    assert missing == {(64, g) for g in (1, 2, 3, 4, 5, 7)} | {(24, 1), (32, 1)}, "it ran out of memory there"
    assert times[Configuration(32, 1, 4)] > times[Configuration(32, 1, 5)] > times[Configuration(32, 1, 7)]


def test_a_percentage_is_a_part_of_the_vgpus() -> None:
    rows = (ProfileRow(1, 0.4, gpu_share=1 / 7), ProfileRow(1, 0.1, gpu_share=4 / 7))
    times = profile_times(rows, grid([1], [1], [1, 2, 4, 7]), parts=7).rows
    assert {c.vgpus: round(s, 9) for c, s in times.items()} == {1: 0.4, 2: 0.2, 4: 0.1}
    on_four = profile_times((ProfileRow(1, 0.4, gpu_share=0.5),), grid([1], [1], [1, 2, 4]), parts=4).rows
    assert [c.vgpus for c in on_four] == [2]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"batch\n1\n", "column 'ms' is missing"),
        (b"batch,ms,speed\n1,2,3\n", "'speed' is unknown"),
        (b"batch,ms,ms\n1,2,3\n", "twice"),
        (b"batch,ms,vgpus,gpu_percent\n1,2,1,10\n", "both"),
        (b"batch,ms\n1,2,3\n", "line 2: 3 cells"),
        (b"batch,ms\n0,2\n", "batch='0' must be a whole number"),
        (b"batch,ms\n1,nan\n", "ms='nan'"),
        (b"batch,ms\n1,-2\n", "above 0"),
        (b"batch,ms\n1,2\n1,3\n", "line 3: there is a time"),
        (b"batch,ms,percentile\n1,2,101\n", "percentile"),
        (b"Mig instance,Batch size,Workload Number,Throughput,Latency\n1,1,2,5,0.1\n", "no time"),
        (b"ssd 2 10 1 99999.0\n", "no time"),
        (b"ssd 2 10 1 5\nssd 2 10 1\n", "line 2: 4 values"),
    ],
)
def test_what_is_refused_is_said_in_one_line(data: bytes, words: str) -> None:
    with pytest.raises(CostError, match=words) as caught:
        read_profile(data)
    assert "\n" not in str(caught.value)


def scenario(function: dict[str, Any]) -> Scenario:
    return Scenario.model_validate(
        {
            "cluster": {"servers": [{"count": 2}]},
            "workload": [{"model": "one", "rate": 3.0, "slo": "2 s"}],
            "models": {"one": {"nodes": [{"id": "f"}], "edges": []}},
            "serverless": {"configurations": SMALL, "functions": {"f": function}},
        }
    )


def test_a_network_is_a_function_of_a_scenario() -> None:
    made: ServerlessSystem = prepare_serverless(scenario({"network": "bert", "cpu": {"parallel": "2 ms"}}))
    (function,) = made.functions
    law = next(f.law for f in shipped_fits() if f.network == "bert")
    number = made.space.number[Configuration(4, 2, 7)]
    assert made.gpu_s[0, number] == law.seconds(4, 7)
    assert made.cpu_s[0, number] == pytest.approx(4 * 0.001)
    assert function.confirmed == ("measured",)
    named = Scenario.model_validate(
        {
            **scenario({"network": "bert"}).model_dump(mode="json"),
            "models": {"one": {"nodes": [{"id": "a", "attributes": {"function": "vgg19"}}], "edges": []}},
        }
    )
    assert prepare_serverless(named).functions[0].name == "vgg19", "a stage may name it without more"


def test_a_profile_is_a_file_beside_the_scenario_and_in_its_bundle(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_bytes(PARVAGPU)
    chosen = scenario({"profile": "p.csv"})
    made = prepare_serverless(chosen, Sources(tmp_path))
    time_s = {made.space[c]: float(made.time_s[0, c]) for c in range(len(made.space))}
    assert time_s[Configuration(1, 2, 1)] == 0.010
    assert time_s[Configuration(2, 1, 1)] == pytest.approx(0.010 * 2**0.5)
    assert time_s[Configuration(1, 1, 2)] == np.inf, "it was not measured"
    assert time_s[Configuration(4, 1, 2)] == 0.010
    assert made.functions[0].source == "p.csv: 3 measured times"
    assert read_bundle(pack_bundle(chosen, Sources(tmp_path)))["p.csv"] == PARVAGPU
    with pytest.raises(NonaError, match=r"serverless.functions.f.profile: 'p.csv' is not a file here"):
        prepare_serverless(chosen, Sources(tmp_path / "elsewhere"))
    (tmp_path / "p.csv").write_bytes(b"batch,vcpus,ms\n1,2,10\n")
    with pytest.raises(NonaError, match=r"no time for the smallest configuration .*sizes that were measured"):
        _ = prepare_serverless(chosen, Sources(tmp_path)).time_s
    (tmp_path / "p.csv").write_bytes(b"batch,model,ms\n1,a,10\n1,b,11\n")
    with pytest.raises(NonaError, match=r"2 models .a, b., none called 'f'"):
        prepare_serverless(chosen, Sources(tmp_path))


def test_one_kind_of_times_only_and_known_networks() -> None:
    with pytest.raises(ValueError, match="2 are given, keep one"):
        scenario({"network": "bert", "profile": "p.csv"})
    with pytest.raises(ValueError, match="leave cpu out"):
        scenario({"profile": "p.csv", "cpu": {"parallel": 1}})
    (line,) = unknown_names({"serverless": {"functions": {"f": {"network": "vgg61"}}}})
    assert "serverless.functions.f.network: 'vgg61' is not a measured network" in line
    assert "vgg16" in line
