"""The laws fitted to the shipped measurements: what ``data/networks.csv`` holds.

``python -m nona.serverless.fits FILE`` fits again and writes that table.
"""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nona.hardware.table_file import shipped_table
from nona.serverless.functions import NETWORKS, GpuLaw, network_law
from nona.serverless.measurements import (
    Points,
    errors_left_out,
    fit_law,
    mean_error,
    measured_names,
    measured_points,
)

COLUMNS = (
    "network",
    "floor_ms",
    "constant_ms",
    "per_query_ms",
    "exponent",
    "points",
    "error",
    "error_slices_out",
    "error_slices_between",
    "error_batches_out",
    "error_batches_between",
)


@dataclass(frozen=True, slots=True)
class Fit:
    """A law fitted to a network's measurements.

    ``error`` is the mean of |t̂ / t - 1| over its ``points``. ``error_slices_out`` is that of points whose
    number of vGPUs the fit did not see, over all numbers in turn; ``error_slices_between`` is that of those
    numbers only which lie between others. The same for sizes of the batch.
    """

    network: str
    law: GpuLaw
    points: int
    error: float
    error_slices_out: float
    error_slices_between: float
    error_batches_out: float
    error_batches_between: float


def shipped_fits() -> tuple[Fit, ...]:
    """The fits that ship, in the order of the measurements.

    >>> fit = shipped_fits()[0]
    >>> fit.network, fit.points, round(fit.error, 3)
    ('vgg16', 30, 0.027)
    """
    return tuple(
        Fit(
            row["network"],
            network_law(row["network"]),
            int(row["points"]),
            float(row["error"]),
            *(float(row[column]) for column in COLUMNS[7:]),
        )
        for row in shipped_table(*NETWORKS)
    )


def _fit_network(name: str) -> Fit:
    """Fit the law to the network's measurements, and again without each slice and without each batch size."""
    points = measured_points(name)
    law = fit_law(points)
    slices, batches = _left_out(points, points.vgpus), _left_out(points, points.batch)
    return Fit(name, law, len(points), mean_error(law, points), *slices, *batches)


def _left_out(points: Points, values: NDArray[np.float64]) -> tuple[float, float]:
    """The error of values left out: over all of them, over those between others."""
    errors = errors_left_out(points, values)
    between = (values > values.min()) & (values < values.max())
    return float(errors.mean()), float(errors[between].mean())


def fits_text(fits: tuple[Fit, ...]) -> str:
    """The fits as CSV, to six digits."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for f in fits:
        law = [1e3 * f.law.floor_s, 1e3 * f.law.constant_s, 1e3 * f.law.per_query_s, f.law.exponent]
        errors = [getattr(f, column) for column in COLUMNS[6:]]
        writer.writerow(
            [f.network, *(f"{v:.6g}" for v in law), f.points, *(f"{round(v, 5):.5g}" for v in errors)]
        )
    return out.getvalue()


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(fits_text(tuple(map(_fit_network, measured_names()))), "utf-8")
