"""The measurements that ship, and the laws of GPU times that are fitted to them.

Source: Lee et al., *ParvaGPU: Efficient Spatial GPU Sharing for Large-Scale DNN Inference in Cloud
Environments*, SC 2024, the artifact's ``prof_data``: one process alone on a MIG instance of an A100-80GB,
batches of 1 to 32. Their latencies are rounded to a millisecond; batch / throughput is not.

The laws are in ``data/networks.csv``; ``python -m studies.serverless_fits FILE`` fits them again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.arrays import Bools, Floats
from nona.errors import CostError
from nona.hardware.table_file import shipped_table
from nona.serverless.functions import NETWORKS, GpuLaw, network_law

TABLE = ("nona.serverless", "data/measured.csv")
SOURCE = "ParvaGPU (Lee et al., SC 2024), A100-80GB, one process alone"


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
    """Names of the measured networks, in the order of the table.

    >>> measured_names()[0], len(measured_names())
    ('vgg16', 11)
    """
    return tuple(dict.fromkeys(row["network"] for row in shipped_table(*TABLE)))


def measured_points(name: str) -> Points:
    """Return the measured points of the network ``name``: seconds = batch / throughput.

    Raises ``CostError`` when it was not measured.

    >>> points = measured_points("vgg16")
    >>> len(points), round(1e3 * float(points.seconds[0]), 3)
    (30, 8.108)
    """
    rows = [row for row in shipped_table(*TABLE) if row["network"] == name]
    if not rows:
        raise CostError(
            f"Network {name!r}: it is not among the measured ones; use {', '.join(measured_names())}."
        )
    batch, vgpus, rate = (
        np.array([float(row[column]) for row in rows]) for column in ("batch", "vgpus", "jobs_per_s")
    )
    return Points(batch, vgpus, batch / rate)


def relative_errors(law: GpuLaw, points: Points) -> Floats:
    """(N,) |t̂ / t - 1|."""
    return np.asarray(np.abs(law_seconds(law, points.batch, points.vgpus) / points.seconds - 1))


def law_seconds(law: GpuLaw, batch: Floats, vgpus: Floats) -> Floats:
    """The law's seconds, elementwise."""
    scaled_s = (law.constant_s + law.per_query_s * batch) * vgpus**-law.exponent
    return np.asarray(np.maximum(law.floor_s, scaled_s))


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
