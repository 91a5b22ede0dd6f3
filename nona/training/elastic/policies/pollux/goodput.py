"""The batch size of the largest goodput, and goodputs by number of GPUs."""

from __future__ import annotations

import math

import numpy as np

from nona.allocation.policies.problem import Floats, Ints
from nona.compiled import compiled
from nona.training.elastic.applications.batches import EDGE
from nona.training.elastic.policies.pollux.step_model import GAMMA, compute_s, network_s, step_s

SIZES = 50
LEAST_BATCH, MOST_BATCH, LEAST_LOCAL, MOST_LOCAL = range(4)
"""Places of an application's limits."""


@compiled
def best_batch(params: Floats, noise: Floats, limits: Ints, wide: bool, gpus: int) -> tuple[float, int, int]:
    """(goodput, samples on each GPU, extra steps) of the best of 50 batch sizes in geometric steps.

    Goodput = B'/T · gain · B₀/B' = gain · B₀ / T: progress per second in samples of the smallest batch. Sizes
    go from max(B₀, b_min·r) to B_max; those that do not fit a GPU count as 0.

    Parameters
    ----------
    noise
        Squared norm and variance of the gradient.
    limits
        Least and most batch size, least and most samples on one GPU.
    wide
        Whether the GPUs are on several nodes.

    Source: Qiao et al., Pollux, OSDI 2021, section 3, and its public simulator.
    """
    least, most = limits[LEAST_BATCH], limits[MOST_BATCH]
    start = float(max(least, limits[LEAST_LOCAL] * gpus))
    ratio = math.log(most / start) / (SIZES - 1)
    network = network_s(params, wide, gpus)
    found, local, extra = -1.0, 0, 0
    for size in range(SIZES):
        share = start * math.exp(ratio * size) / gpus
        steps = math.ceil(share / limits[MOST_LOCAL] - EDGE) - 1
        if gpus == 1 and share > least + EDGE:
            steps = max(steps, 1)
        part = math.ceil(share / (steps + 1) - EDGE)
        value = 0.0
        if limits[LEAST_LOCAL] <= part <= limits[MOST_LOCAL]:
            compute = compute_s(params, part)
            seconds = steps * compute + step_s(compute, network, params[GAMMA])
            scale = gpus * part * (steps + 1) / least
            gain = (noise[1] + noise[0]) / (noise[1] / scale + noise[0])
            value = gain * least / seconds
        if value > found:
            found, local, extra = value, part, steps
    return found, int(local), int(extra)


@compiled
def goodputs(params: Floats, noise: Floats, limits: Ints, node: int, most: int) -> Floats:
    """(2, most + 1) the best goodput by number of GPUs, on one node (of ``node`` GPUs) and on several."""
    found = np.zeros((2, most + 1))
    for gpus in range(1, min(node, most) + 1):
        found[0, gpus] = best_batch(params, noise, limits, False, gpus)[0]
    for gpus in range(2, most + 1):
        found[1, gpus] = best_batch(params, noise, limits, True, gpus)[0]
    return found
