"""Fit the laws of GPU times that ship (``functions.csv``) again: ``python -m evidence.serverless_fits``.

Measurements: Lee et al., *ParvaGPU: Efficient Spatial GPU Sharing for Large-Scale DNN Inference in Cloud
Environments*, SC 2024, the artifact's ``prof_data``: one process alone on a MIG instance of an A100-80GB,
batches of 1 to 32. Their latencies are rounded to a millisecond; batch / throughput is not.

The error of a law t̂ on N points is the mean of |t̂ᵢ / tᵢ - 1|. It is neither convex nor smooth, so the search
has a fixed set of starts: least squares of log(t̂ᵢ / tᵢ), which is smooth, then the simplex method on
the error itself, begun again where it stopped until it gains nothing. No start is random: equal points give
equal laws. Constants and exponent are at least 0.

Sources: Nelder and Mead, *A simplex method for function minimization*, The Computer Journal 7 (1965); least
squares by Levenberg-Marquardt (Moré 1978), both as SciPy has them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import scipy

from nona.cluster.hardware.table_file import shipped_table
from nona.core.arrays import Bools, Floats
from nona.core.errors import CostError
from nona.serverless.functions import GpuLaw

TABLE = ("evidence", "serverless_measured.csv")
LEAST_POINTS = 5
_FLOORS, _CONSTANTS, _EXPONENTS = (0.6, 1.05), (0.1, 1.0), (0.4, 0.9)
_POLISHED = 3  # of the starts, the best by least squares
_GAIN = 1e-7
_MOST_ROUNDS = 20


@dataclass(frozen=True)
class Points:
    """Measured points: (N,) jobs in the batch, (N,) vGPUs, (N,) seconds of the batch."""

    batch: Floats
    vgpus: Floats
    seconds: Floats

    def __len__(self) -> int:
        return len(self.seconds)

    def only(self, chosen: Bools) -> Points:
        return Points(self.batch[chosen], self.vgpus[chosen], self.seconds[chosen])


def measured_names() -> tuple[str, ...]:
    """Names of the measured networks, in the order of the table."""
    return tuple(dict.fromkeys(row["network"] for row in shipped_table(*TABLE)))


def measured_points(name: str) -> Points:
    """Return the measured points of a network: seconds = batch / throughput."""
    rows = [row for row in shipped_table(*TABLE) if row["network"] == name]
    columns = ("batch", "vgpus", "jobs_per_s")
    batch, vgpus, rate = (np.array([float(row[column]) for row in rows]) for column in columns)
    return Points(batch, vgpus, batch / rate)


def relative_errors(law: GpuLaw, points: Points) -> Floats:
    """(N,) |t̂ / t - 1|."""
    return np.asarray(np.abs(law_seconds(law, points.batch, points.vgpus) / points.seconds - 1))


def law_seconds(law: GpuLaw, batch: Floats, vgpus: Floats) -> Floats:
    """Return the law's seconds, elementwise."""
    scaled_s = (law.constant_s + law.per_query_s * batch) * vgpus**-law.exponent
    return np.asarray(np.maximum(law.floor_s, scaled_s))


def fit_law(points: Points) -> GpuLaw:
    """Return the law with the least mean relative error on ``points``.

    Raises ``CostError`` for fewer than five points, one batch size only, or one number of vGPUs only.

    >>> law = GpuLaw(0.004, floor_s=0.01, constant_s=0.002, exponent=0.9)
    >>> batch, vgpus = (np.array(x, float) for x in zip(*[(b, g) for b in (1, 2, 4, 8) for g in (1, 2, 4)]))
    >>> exact = Points(batch, vgpus, law_seconds(law, batch, vgpus))
    >>> mean_error(fit_law(exact), exact) < 1e-4
    True
    """
    if len(points) < LEAST_POINTS or not (points.seconds > 0).all():
        raise CostError(
            f"Fitting a law: {len(points)} measured times are given; it takes {LEAST_POINTS} above 0."
        )
    for values, name in ((points.batch, "batch size"), (points.vgpus, "number of vGPUs")):
        if len(np.unique(values)) < 2:
            raise CostError(f"Fitting a law: all times are of one {name}; measure at least two.")
    ranked = sorted((_squares(points, start) for start in _starts(points)), key=lambda p: _error(p, points))
    best = min((_polished(points, p) for p in ranked[:_POLISHED]), key=lambda p: _error(p, points))
    floor, constant, per_query = np.exp(best[:3]).tolist()
    return GpuLaw(per_query, floor, constant_s=constant, exponent=float(best[3]))


def mean_error(law: GpuLaw, points: Points) -> float:
    """Mean of |t̂ / t - 1| over the points."""
    return float(np.mean(relative_errors(law, points)))


def errors_left_out(points: Points, values: Floats) -> Floats:
    """(N,) |t̂ / t - 1| of each point, by the law fitted to the points that have another of ``values``."""
    errors = np.empty(len(points))
    for value in np.unique(values):
        law = fit_law(points.only(values != value))
        errors[values == value] = relative_errors(law, points.only(values == value))
    return errors


def _seconds(p: Floats, batch: Floats, log_vgpus: Floats) -> Floats:
    floor, constant, per_query = np.exp(p[:3])
    law_s: Floats = np.maximum(floor, (constant + per_query * batch) * np.exp(-p[3] * log_vgpus))
    return law_s


def _error(p: Floats, points: Points) -> float:
    return float(np.abs(_seconds(p, points.batch, np.log(points.vgpus)) / points.seconds - 1).mean())


def _starts(points: Points) -> list[Floats]:
    """Floors around the shortest time, constants as shares of the time per query, two exponents."""
    starts = []
    for floor, constant, exponent in itertools.product(_FLOORS, _CONSTANTS, _EXPONENTS):
        per_query = float(np.median(points.seconds * points.vgpus**exponent / points.batch))
        logs = np.log([floor * points.seconds.min(), constant * per_query, per_query])
        starts.append(np.array([*logs, exponent]))
    return starts


def _squares(points: Points, start: Floats) -> Floats:
    log_vgpus, log_s = np.log(points.vgpus), np.log(points.seconds)

    def residuals(p: Floats) -> Floats:
        return np.log(_seconds(p, points.batch, log_vgpus)) - log_s

    bounds = ([*(start[:3] - 12), 0.0], [*(start[:3] + 12), 2.0])
    fitted: Floats = scipy.optimize.least_squares(residuals, start, bounds=bounds).x
    return fitted


def _polished(points: Points, start: Floats) -> Floats:
    log_vgpus = np.log(points.vgpus)

    def error(p: Floats) -> float:
        if not 0 <= p[3] <= 2 or np.abs(p[:3]).max() > 60:
            return np.inf
        return float(np.abs(_seconds(p, points.batch, log_vgpus) / points.seconds - 1).mean())

    best, least = start, error(start)
    for _ in range(_MOST_ROUNDS):
        polished = scipy.optimize.minimize(
            error, best, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10}
        )
        gained, (best, least) = least - polished.fun, (polished.x, float(polished.fun))
        if gained < _GAIN:
            break
    return best


def left_out(points: Points, values: Floats) -> tuple[float, float]:
    """Return the error of values left out: over all of them, over those between others."""
    errors = errors_left_out(points, values)
    between = (values > values.min()) & (values < values.max())
    return float(errors.mean()), float(errors[between].mean())


def _line(name: str) -> str:
    """Return the law of a network, and its errors on all points, on slices and on batches left out."""
    points = measured_points(name)
    law = fit_law(points)
    numbers = (1e3 * law.floor_s, 1e3 * law.constant_s, 1e3 * law.per_query_s, law.exponent)
    errors = mean_error(law, points), *left_out(points, points.vgpus), *left_out(points, points.batch)
    return ",".join((name, *(f"{v:.6g}" for v in numbers), *(f"{e:.5f}" for e in errors)))


if __name__ == "__main__":
    print("network,floor_ms,constant_ms,per_query_ms,exponent,error,slices out,between,batches out,between")
    print(*map(_line, measured_names()), sep="\n")
