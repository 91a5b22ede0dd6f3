"""The measurements that ship with the program: seconds of a batch of eleven networks on slices of a GPU.

Source: Lee et al., *ParvaGPU: Efficient Spatial GPU Sharing for Large-Scale DNN Inference in Cloud
Environments*, SC 2024, the artifact's ``prof_data``: one process alone on a MIG instance of an A100-80GB,
batches of 1 to 32. Their latencies are rounded to a millisecond; batch / throughput is not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.errors import CostError
from nona.hardware.table_file import shipped_table

TABLE = ("nona.serverless", "data/measured.csv")
SOURCE = "ParvaGPU (Lee et al., SC 2024), A100-80GB, one process alone"


@dataclass(frozen=True)
class Points:
    """Measured points: (N,) jobs in the batch, (N,) vGPUs, (N,) seconds of the batch."""

    batch: NDArray[np.float64]
    vgpus: NDArray[np.float64]
    seconds: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.seconds)

    def only(self, chosen: NDArray[np.bool_]) -> Points:
        """The points for which ``chosen`` holds."""
        return Points(self.batch[chosen], self.vgpus[chosen], self.seconds[chosen])


def measured_names() -> tuple[str, ...]:
    """Names of the measured networks, in the order of the table.

    >>> measured_names()[0], len(measured_names())
    ('vgg16', 11)
    """
    return tuple(dict.fromkeys(row["network"] for row in shipped_table(*TABLE)))


def measured_points(name: str) -> Points:
    """What was measured of the network ``name``: seconds = batch / throughput.

    Raises
    ------
    CostError
        When it was not measured.

    Examples
    --------
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
