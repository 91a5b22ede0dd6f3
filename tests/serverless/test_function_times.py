"""Times of functions: laws fitted to measurements, and users' profiles."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from evidence.serverless_fits import (
    Points,
    fit_law,
    law_seconds,
    left_out,
    mean_error,
    measured_names,
    measured_points,
)
from nona.cluster.hardware.table_file import shipped_table
from nona.cluster.sharing.pool import BatchConfiguration
from nona.core.errors import CostError, NonaError, ScenarioError
from nona.scenario.lookup import Sources
from nona.scenario.opening import pack_bundle, read_bundle
from nona.scenario.schema import Scenario
from nona.scenario.serverless import ServerlessSpec
from nona.scenario.unknown import unknown_names
from nona.serverless.functions import (
    TABLE,
    DefaultLaw,
    GpuLaw,
    default_times,
    grid,
    network_law,
    network_names,
)
from nona.serverless.profiles import ProfileRow, interpolated, profile_times, read_profile, rows_of
from nona.serverless.workflows.preparation import prepare_serverless

#: Mean relative errors in per cent that the fits must not exceed, where the issue states them.
STATED = {"vgg16": 2.7, "vgg19": 2.7, "resnet50": 2.95, "bert": 6.8}
LAWS = {name: network_law(name) for name in network_names()}
ERRORS = {row["function"]: float(row["error"]) for row in shipped_table(*TABLE) if row["error"]}


@pytest.fixture(scope="module")
def again():
    return {name: fit_law(measured_points(name)) for name in measured_names()}


def test_the_shipped_fits_are_those_of_the_shipped_measurements(again):
    assert tuple(LAWS) == measured_names() == tuple(ERRORS)
    for name, law in again.items():
        points, shipped = measured_points(name), LAWS[name]
        assert mean_error(shipped, points) == pytest.approx(ERRORS[name], abs=1e-4)
        assert mean_error(law, points) == pytest.approx(ERRORS[name], abs=1e-4), name
        # resnet50 has minima of 2.948 and 2.942 %, 2.8 % apart: last digits of a CPU decide which is found.
        apart = 0.03 if name == "resnet50" else 0.02
        times = law_seconds(shipped, points.batch, points.vgpus)
        assert law_seconds(law, points.batch, points.vgpus) == pytest.approx(times, rel=apart), name


def test_the_laws_are_as_close_as_stated(again):
    errors = {name: 100 * mean_error(law, measured_points(name)) for name, law in again.items()}
    assert all(errors[name] <= most for name, most in STATED.items()), errors
    assert max(errors.values()) == errors["bert"]
    assert np.mean(list(errors.values())) <= 3.2


def test_errors_of_what_was_left_out_are_as_stated():
    points = measured_points("densenet169")
    out, between = left_out(points, points.vgpus)
    assert (out, between) == pytest.approx((0.0283, 0.02759), abs=3e-4)
    assert out > ERRORS["densenet169"], "what was not seen is harder"


@pytest.mark.parametrize("name", ["vgg16", "resnet50", "bert"])
def test_no_law_on_a_grid_is_closer(name):
    """Floors at every measured time, lines through every pair of points, exponents in steps of 0.02."""
    points, least = measured_points(name), np.inf
    i, j = (np.array(x) for x in zip(*itertools.combinations(range(len(points)), 2), strict=True))
    apart = points.batch[i] != points.batch[j]
    i, j = i[apart], j[apart]
    for exponent in np.arange(0.3, 1.1, 0.02):
        work = points.seconds * points.vgpus**exponent
        slope = (work[i] - work[j]) / (points.batch[i] - points.batch[j])
        constant = work[i] - slope * points.batch[i]
        kept = (slope > 0) & (constant >= 0)
        line = (constant[kept, None] + slope[kept, None] * points.batch) / points.vgpus**exponent
        for floor in np.unique(points.seconds)[:12]:
            errors = np.abs(np.maximum(floor, line) / points.seconds - 1).mean(axis=1)
            least = min(least, float(errors.min(initial=np.inf)))
    assert ERRORS[name] <= least + 1e-3
    assert least <= 1.1 * ERRORS[name], "the grid can fail"


@examples(3)
@given(st.floats(1e-3, 0.1), st.floats(0.1, 2.0), st.floats(0.0, 2.0), st.floats(0.3, 1.0))
def test_a_law_is_found_again(per_query, constant, floor, exponent):
    law = GpuLaw(per_query, floor * per_query, constant * per_query, exponent)
    batch, vgpus = map(np.ravel, np.meshgrid([1.0, 2, 4, 8, 16, 32], [1.0, 2, 3, 4, 7]))
    points = Points(batch, vgpus, law_seconds(law, batch, vgpus))
    assert points.seconds == pytest.approx(
        [law.seconds(int(b), int(g)) for b, g in zip(batch, vgpus, strict=True)]
    )
    assert mean_error(fit_law(points), points) < 5e-3


def test_the_default_law_is_that_of_vgg():
    law, spec = DefaultLaw(), ServerlessSpec()
    assert law == DefaultLaw(spec.cpu_share, spec.gpu_floor, spec.gpu_constant, spec.gpu_exponent)
    for name in ("vgg16", "vgg19"):
        fitted = LAWS[name]
        one = fitted.constant_s + fitted.per_query_s
        assert fitted.floor_s / one == pytest.approx(law.floor, abs=0.01)
        assert fitted.constant_s / one == pytest.approx(law.constant, abs=0.01)
        assert fitted.exponent == pytest.approx(law.exponent, abs=0.011)


@given(st.floats(0.01, 10), st.floats(0, 0.9), st.floats(0, 4), st.floats(0, 0.9))
def test_the_smallest_configuration_takes_the_given_time(seconds, share, floor, constant):
    times = default_times(seconds, DefaultLaw(share, floor, constant))
    assert times.cpu.seconds(1, 1) + times.gpu.seconds(1, 1) == pytest.approx(seconds)
    assert times.gpu.seconds(1, 1) == pytest.approx((1 - share) * seconds)


def test_too_little_is_refused():
    five = np.arange(1.0, 6.0)
    for few in ((five[:4], five[:4], five[:4]), (five, np.ones(5), five), (np.ones(5), five, five)):
        with pytest.raises(CostError, match="Fitting a law"):
            fit_law(Points(*few))


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


def test_three_layouts_say_the_same():
    ours = b"# measured yesterday\nbatch,vgpus,ms\n1,1,10\n4,1,20\n4,2,10\n"
    assert read_profile(PARVAGPU) == read_profile(ours)
    own = b"model,vcpus,gpu_percent,batch,ms\nssd,2,10,1,60\nssd,2,20,1,50\n"
    # what did not finish, or ran without a GPU, is left out
    assert read_profile(INFLESS) == read_profile(own)


sizes, percents = st.integers(1, 4096), st.none() | st.integers(1, 100)
KEYS = st.tuples(sizes, st.none() | sizes, percents, st.sampled_from((5.0, 50.0, 95.0)))


@examples(25)
@given(st.dictionaries(KEYS, st.floats(1e-3, 1e6), min_size=1, max_size=4))
def test_what_is_written_is_read(rows):
    lines = [",".join("" if x is None else str(x) for x in (*key, repr(ms))) for key, ms in rows.items()]
    read = read_profile("\n".join(["batch,vcpus,gpu_percent,percentile,ms", *lines]).encode())
    percent = [None if r.gpu_share is None else round(100 * r.gpu_share) for r in read]
    found = {(r.batch, r.vcpus, p, r.percentile): r.seconds for r, p in zip(read, percent, strict=True)}
    assert found == pytest.approx({key: ms / 1e3 for key, ms in rows.items()})
    kept = rows_of(read, "any")
    (percentile,) = {r.percentile for r in kept}
    assert abs(percentile - 50) == min(abs(r.percentile - 50) for r in read)


@examples(25)
@given(st.floats(1e-3, 1), st.floats(0.1, 3), st.dictionaries(st.integers(1, 64), st.just(0.0), min_size=2))
def test_a_power_law_is_met_between_its_points(seconds, power, at):
    curve = {float(x): seconds * x**power for x in at}
    for size in range(1, 65):
        inside = min(at) <= size <= max(at)
        expected = seconds * size**power if inside else np.inf
        assert interpolated(curve, size) == pytest.approx(expected)


def test_measured_configurations_take_the_measured_time_and_others_cannot_be_chosen():
    points = measured_points("resnet152")
    every = zip(points.batch, points.vgpus, points.seconds, strict=True)
    rows = tuple(ProfileRow(int(b), s, vgpus=int(g)) for b, g, s in every)
    space = grid([1, 2, 3, 4, 8, 16, 24, 32, 64], [1, 5], [1, 2, 3, 4, 5, 7])
    times = profile_times(rows, space).rows
    for row in rows:
        for vcpus in (1, 5):
            assert times[BatchConfiguration(row.batch, vcpus, row.vgpus)] == row.seconds
    missing = {(c.batch, c.vgpus) for c in space.configurations if c not in times}
    assert missing == {(64, g) for g in (1, 2, 3, 4, 5, 7)} | {(24, 1), (32, 1)}, "it ran out of memory there"
    assert (
        times[BatchConfiguration(32, 1, 4)]
        > times[BatchConfiguration(32, 1, 5)]
        > times[BatchConfiguration(32, 1, 7)]
    )


def test_a_percentage_is_a_part_of_the_vgpus():
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
        (b"batch,ms,speed\n1,2,3\n", "'speed' is not known"),
        (b"batch,ms,ms\n1,2,3\n", "twice"),
        (b"batch,ms,vgpus,gpu_percent\n1,2,1,10\n", "both"),
        (b"batch,ms\n1,2,3\n", "line 2: 3 cells"),
        (b"batch,ms\n0,2\n", "batch='0' must be a whole number"),
        (b"batch,ms\n1,nan\n", "ms='nan'"),
        (b"batch,ms\n1,-2\n", "line 2: ms='-2' must be a number from 0"),
        (b"batch,ms\n1,0\n", "line 2: ms='0' must be above 0"),
        (b"batch,ms\n1,2\n1,3\n", "line 3: line 2 is about batch 1, percentile 50.0 too"),
        (b"batch,ms,percentile\n1,2,101\n", "percentile"),
        (b"Mig instance,Batch size,Workload Number,Throughput,Latency\n1,1,2,5,0.1\n", "no time"),
        (b"ssd 2 10 1 99999.0\n", "no time"),
        (b"ssd 2 10 1 5\nssd 2 10 1\n", "line 2: 4 cells"),
    ],
)
def test_what_is_refused_is_said_in_one_line(data, words):
    with pytest.raises(ScenarioError, match=words) as caught:
        read_profile(data)
    assert "\n" not in str(caught.value)


def scenario(function, node=None):
    return Scenario.model_validate(
        {
            "cluster": {"servers": [{"count": 2}]},
            "workload": [{"model": "one", "rate": 3.0, "slo": "2 s"}],
            "models": {"one": {"nodes": [node or {"id": "f"}], "edges": []}},
            "serverless": {"configurations": SMALL, "functions": {"f": function}},
        }
    )


def test_a_network_is_a_function_of_a_scenario():
    made = prepare_serverless(scenario({"network": "bert", "cpu": {"parallel": "2 ms"}}))
    (function,) = made.functions
    number = made.space.number[BatchConfiguration(4, 2, 7)]
    assert made.gpu_s[0, number] == LAWS["bert"].seconds(4, 7)
    assert made.cpu_s[0, number] == pytest.approx(4 * 0.001)
    assert (function.confirmed, "ParvaGPU" in function.source) == (("measured",), True)
    named = scenario({"network": "bert"}, {"id": "a", "attributes": {"function": "vgg19"}})
    assert prepare_serverless(named).functions[0].name == "vgg19", "a stage may name it without more"
    with pytest.raises(ValueError, match="2 are given, keep one"):
        scenario({"network": "bert", "profile": "p.csv"})
    with pytest.raises(ValueError, match="leave cpu out"):
        scenario({"profile": "p.csv", "cpu": {"parallel": 1}})
    (line,) = unknown_names({"serverless": {"functions": {"f": {"network": "vgg61"}}}})
    assert line.startswith("serverless.functions.f.network: 'vgg61' is not a measured network")
    assert "vgg16" in line


def test_a_profile_is_a_file_beside_the_scenario_and_in_its_bundle(tmp_path):
    (tmp_path / "p.csv").write_bytes(PARVAGPU)
    chosen = scenario({"profile": "p.csv"})
    made = prepare_serverless(chosen, Sources(tmp_path))
    time_s = {made.space[c]: float(made.time_s[0, c]) for c in range(len(made.space))}
    expected = {(1, 2, 1): 0.010, (2, 1, 1): 0.010 * 2**0.5, (4, 1, 2): 0.010}
    assert {c: time_s[BatchConfiguration(*c)] for c in expected} == pytest.approx(expected)
    assert time_s[BatchConfiguration(1, 1, 2)] == np.inf, "it was not measured"
    assert made.functions[0].source == "p.csv: 3 measured times"
    assert read_bundle(pack_bundle(chosen, Sources(tmp_path)))["p.csv"] == PARVAGPU
    with pytest.raises(NonaError, match=r"serverless.functions.f.profile: 'p.csv' is not a file here"):
        prepare_serverless(chosen, Sources(tmp_path / "elsewhere"))
    (tmp_path / "p.csv").write_bytes(b"batch,vcpus,ms\n1,2,10\n")
    with pytest.raises(NonaError, match=r"no time for the smallest configuration .*measured sizes"):
        _ = prepare_serverless(chosen, Sources(tmp_path)).time_s
    (tmp_path / "p.csv").write_bytes(b"batch,model,ms\n1,a,10\n1,b,11\n")
    with pytest.raises(NonaError, match=r"2 models .a, b., none called 'f'"):
        prepare_serverless(chosen, Sources(tmp_path))
