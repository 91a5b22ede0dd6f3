"""The law of GPU times: it fits the measurements that ship, and what ships is what a fit gives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import CostError
from nona.scenario.serverless import ServerlessSpec
from nona.serverless.fits import COLUMNS, fits_text, shipped_fits
from nona.serverless.functions import (
    MEASURED,
    DefaultLaw,
    GpuLaw,
    default_times,
    network_names,
    shipped_function,
)
from nona.serverless.measurements import (
    Points,
    errors_left_out,
    fit_law,
    law_seconds,
    mean_error,
    measured_names,
    measured_points,
)

#: Mean relative errors in per cent that the fits must not exceed, where the issue states them.
STATED = {"vgg16": 2.7, "vgg19": 2.7, "resnet50": 2.95, "bert": 6.8}
FITS = {fit.network: fit for fit in shipped_fits()}


@pytest.fixture(scope="module")
def again() -> dict[str, GpuLaw]:
    return {name: fit_law(measured_points(name)) for name in measured_names()}


def test_the_shipped_fits_are_those_of_the_shipped_measurements(again: dict[str, GpuLaw]) -> None:
    assert tuple(FITS) == measured_names() == network_names()
    for name, law in again.items():
        points, fit = measured_points(name), FITS[name]
        assert fit.points == len(points)
        assert mean_error(fit.law, points) == pytest.approx(fit.error, abs=1e-4)
        assert mean_error(law, points) == pytest.approx(fit.error, abs=1e-4), name
        # resnet50 has minima of 2.948 and 2.942 %, 2.8 % apart: last digits of a CPU decide which is found.
        apart = 0.03 if name == "resnet50" else 0.02
        times = law_seconds(fit.law, points.batch, points.vgpus)
        assert law_seconds(law, points.batch, points.vgpus) == pytest.approx(times, rel=apart), name


def test_the_laws_are_as_close_as_stated(again: dict[str, GpuLaw]) -> None:
    errors = {name: 100 * mean_error(law, measured_points(name)) for name, law in again.items()}
    assert all(errors[name] <= most for name, most in STATED.items()), errors
    assert max(errors.values()) == errors["bert"]
    assert np.mean(list(errors.values())) <= 3.2
    fits = FITS.values()
    assert 100 * np.mean([f.error_slices_between for f in fits]) <= 3.56
    assert 100 * np.mean([f.error_slices_out for f in fits]) <= 5.0
    assert 100 * np.mean([f.error_batches_between for f in fits]) <= 4.0
    assert 100 * np.mean([f.error_batches_out for f in fits]) <= 4.5


def test_errors_of_what_was_left_out_are_those_that_ship() -> None:
    points, fit = measured_points("densenet169"), FITS["densenet169"]
    errors = errors_left_out(points, points.vgpus)
    inner = (points.vgpus > 1) & (points.vgpus < 7)
    assert errors.mean() == pytest.approx(fit.error_slices_out, abs=3e-4)
    assert errors[inner].mean() == pytest.approx(fit.error_slices_between, abs=3e-4)
    assert errors.mean() > fit.error, "what was not seen is harder"


@pytest.mark.parametrize("name", ["vgg16", "resnet50", "bert"])
def test_no_law_on_a_grid_is_closer(name: str) -> None:
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
    assert FITS[name].error <= least + 1e-3
    assert least <= 1.1 * FITS[name].error, "the grid can fail"


@examples(3)
@given(
    st.floats(1e-3, 0.1),
    st.floats(0.1, 2.0),
    st.floats(0.0, 2.0),
    st.floats(0.3, 1.0),
)
def test_a_law_is_found_again(per_query: float, constant: float, floor: float, exponent: float) -> None:
    law = GpuLaw(per_query, floor * per_query, constant * per_query, exponent)
    batch, vgpus = map(np.ravel, np.meshgrid([1.0, 2, 4, 8, 16, 32], [1.0, 2, 3, 4, 7]))
    points = Points(batch, vgpus, law_seconds(law, batch, vgpus))
    assert points.seconds == pytest.approx(
        [law.seconds(int(b), int(g)) for b, g in zip(batch, vgpus, strict=True)]
    )
    assert mean_error(fit_law(points), points) < 5e-3


def test_a_slice_saves_by_batches_what_was_measured() -> None:
    """A batch of 8 on one slice: from 1.4 (BERT) to 5.0 (Inception v3) times the rate of batch 1."""
    for name in measured_names():
        points, law = measured_points(name), FITS[name].law
        at = {int(b): s for b, g, s in zip(points.batch, points.vgpus, points.seconds, strict=True) if g == 1}
        gain = 8 * at[1] / at[8]
        assert 1.35 < gain < 5.05
        assert 8 * law.seconds(1, 1) / law.seconds(8, 1) == pytest.approx(gain, rel=0.25), name
    default = default_times(1.0).gpu
    assert 8 * default.seconds(1, 1) / default.seconds(8, 1) == pytest.approx(8 / 4.15)


def test_the_default_law_is_that_of_vgg() -> None:
    law, spec = DefaultLaw(), ServerlessSpec()
    assert law == DefaultLaw(spec.cpu_share, spec.gpu_floor, spec.gpu_constant, spec.gpu_exponent)
    for name in ("vgg16", "vgg19"):
        fitted = FITS[name].law
        one = fitted.constant_s + fitted.per_query_s
        assert fitted.floor_s / one == pytest.approx(law.floor, abs=0.01)
        assert fitted.constant_s / one == pytest.approx(law.constant, abs=0.01)
        assert fitted.exponent == pytest.approx(law.exponent, abs=0.011)


@given(st.floats(0.01, 10), st.floats(0, 0.9), st.floats(0, 4), st.floats(0, 0.9))
def test_the_smallest_configuration_takes_the_given_time(
    seconds: float, share: float, floor: float, constant: float
) -> None:
    times = default_times(seconds, DefaultLaw(share, floor, constant))
    assert times.cpu.seconds(1, 1) + times.gpu.seconds(1, 1) == pytest.approx(seconds)
    assert times.gpu.seconds(1, 1) == pytest.approx((1 - share) * seconds)


def test_networks_are_functions_of_measured_provenance() -> None:
    for name in network_names():
        function = shipped_function(name)
        assert function is not None
        assert function.confirmed == (MEASURED,)
        assert "ParvaGPU" in function.source
        assert function.times.gpu == FITS[name].law
        assert function.times.cpu.seconds(8, 1) == 0, "no part on the CPU was measured"


def test_too_little_is_refused() -> None:
    five = np.arange(1.0, 6.0)
    for points in (
        Points(five[:4], five[:4], five[:4]),
        Points(five, np.ones(5), five),
        Points(np.ones(5), five, five),
    ):
        with pytest.raises(CostError, match="Fitting a law"):
            fit_law(points)
    with pytest.raises(CostError, match="not among the measured"):
        measured_points("alexnet")


def test_the_table_of_fits_is_written_as_it_ships() -> None:
    assert fits_text(shipped_fits()).splitlines()[0].split(",") == list(COLUMNS)
    assert "resnet152" in fits_text(shipped_fits())
