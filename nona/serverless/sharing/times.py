"""GPU times as a pool has them, from the functions' own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.serverless.configuration import Configuration
from nona.serverless.function import Function, LawTimes
from nona.serverless.sharing.pool import Pool
from nona.serverless.system import ServerlessSystem


def gpu_seconds(system: ServerlessSystem, pool: Pool) -> NDArray[np.float64]:
    """(F, C) Seconds on the GPU of each function in each configuration, alone on a GPU of this pool.

    gpu_factor(c) · gpu(timed_as(c)). Where a function has a table without the row of ``timed_as(c)``, the
    row of the same jobs and vCPUs with the most vGPUs up to those stands for it.
    """
    every = system.space.configurations
    seconds = system.gpu_s.copy()
    for number, own in enumerate(every):
        timed = pool.timed_as(own)
        if timed != own:
            seconds[:, number] = [
                _timed(function, own, timed, float(seconds[f, number]))
                for f, function in enumerate(system.functions)
            ]
    scaled: NDArray[np.float64] = seconds * np.array([pool.gpu_factor(c) for c in every])
    return scaled


def _timed(function: Function, own: Configuration, timed: Configuration, own_s: float) -> float:
    times = function.times
    if isinstance(times, LawTimes):
        return times.gpu.seconds(timed.batch, timed.vgpus)
    found = [
        (row.vgpus, seconds)
        for row, seconds in times.rows.items()
        if (row.batch, row.vcpus) == (own.batch, own.vcpus) and own.vgpus <= row.vgpus <= timed.vgpus
    ]
    return max(found)[1] if found else own_s
