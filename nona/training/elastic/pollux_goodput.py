"""Pollux's model of a step, fitted to measurements, and the batch of largest goodput."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy

from nona.core.arrays import Floats, Ints
from nona.core.compiled.decorator import compiled
from nona.training.elastic.applications import EDGE

ALPHA_C, BETA_C, ALPHA_N, BETA_N, ALPHA_R, BETA_R, GAMMA = range(7)
"""Places of the parameters: of computing, of synchronising across nodes, on one node; of the overlap."""
LEAST = 1e-8


@compiled
def compute_s(params: Floats, local: float) -> float:
    """t_c = α_c + β_c·m: seconds of computing on ``local`` samples."""
    return float(params[ALPHA_C] + params[BETA_C] * local)


@compiled
def network_s(params: Floats, wide: bool, gpus: int) -> float:
    """t_n: seconds of synchronising; ``wide``: across nodes.

    α_n + β_n·(r − 2) across nodes, α_r + β_r·(r − 2) on one, next to 0 on one GPU.
    """
    more = max(float(gpus - 2), LEAST)
    if wide:
        return float(params[ALPHA_N] + params[BETA_N] * more)
    if gpus > 1:
        return float(params[ALPHA_R] + params[BETA_R] * more)
    return LEAST + LEAST * more


@compiled
def step_s(compute: float, network: float, gamma: float) -> float:
    """(t_c^γ + t_n^γ)^(1/γ), computed from the larger one so that nothing overflows."""
    large, small = (compute, network) if compute > network else (network, compute)
    return large * math.exp(math.log1p((small / large) ** gamma) / gamma)


START = (0.1, 0.01, 0.1, 0.01, 0.1, 0.01, 1.001)
MOST_GAMMA = 10.0
OVERLAP, RETROGRESSION = 1e-3, 1e-2  # weights of what keeps γ and β/α small
SPREAD = 1.1  # across nodes nothing is faster than on one, as long as nothing was measured


class Observations(NamedTuple):
    """(k,) nodes, GPUs, samples on a GPU; seconds of computing, and of a synchronised step."""

    nodes: Ints
    gpus: Ints
    local: Ints
    compute_s: Floats
    step_s: Floats


@compiled
def loss(params: Floats, nodes: Ints, gpus: Ints, local: Ints, compute: Floats, step: Floats) -> Floats:
    """(8,) the loss, and its derivatives.

    RMSE of ln t_c + RMSE of ln step + 0.001 (γ − 1)² + 0.01 [(β_n/α_n)² + (β_r/α_r)²].
    """
    g = params[GAMMA]
    squares, slopes = np.zeros(2), np.zeros((2, 7))
    for i in range(len(nodes)):
        c = params[ALPHA_C] + params[BETA_C] * local[i]
        more = max(float(gpus[i] - 2), LEAST)
        at = -1
        n = LEAST + LEAST * more
        if gpus[i] > 1:
            at = ALPHA_N if nodes[i] > 1 else ALPHA_R
            n = params[at] + params[at + 1] * more
        large = max(c, n)
        part_c, part_n = (c / large) ** g, (n / large) ** g
        whole = part_c + part_n
        error_c = math.log(c) - math.log(compute[i])
        error_s = math.log(large) + math.log(whole) / g - math.log(step[i])
        squares[0] += error_c * error_c
        squares[1] += error_s * error_s
        slopes[0, ALPHA_C] += error_c / c
        slopes[0, BETA_C] += error_c * local[i] / c
        slope = error_s * part_c / whole / c
        slopes[1, ALPHA_C] += slope
        slopes[1, BETA_C] += slope * local[i]
        if at >= 0:
            slope = error_s * part_n / whole / n
            slopes[1, at] += slope
            slopes[1, at + 1] += slope * more
        mixed = part_c * math.log(c / large) + part_n * math.log(n / large)
        slopes[1, GAMMA] += error_s * (mixed / whole / g - math.log(whole) / (g * g))
    loss_and_slopes = np.zeros(8)
    for k in range(2):
        root = math.sqrt(squares[k] / len(nodes))
        loss_and_slopes[0] += root
        if root > 0.0:
            for place in range(7):  # adding slices takes seconds to compile
                loss_and_slopes[1 + place] += slopes[k, place] / (len(nodes) * root)
    _regularise(params, loss_and_slopes)
    return loss_and_slopes


@compiled
def _regularise(params: Floats, found: Floats) -> None:
    found[0] += OVERLAP * (params[GAMMA] - 1.0) ** 2
    found[1 + GAMMA] += 2.0 * OVERLAP * (params[GAMMA] - 1.0)
    for alpha in (ALPHA_N, ALPHA_R):
        ratio = params[alpha + 1] / params[alpha]
        found[0] += RETROGRESSION * ratio * ratio
        found[1 + alpha] -= 2.0 * RETROGRESSION * ratio * ratio / params[alpha]
        found[2 + alpha] += 2.0 * RETROGRESSION * ratio / params[alpha]


def fit(seen: Observations) -> Floats:
    """(7,) parameters of the least loss, by L-BFGS-B from the usual start.

    What was not observed is not fitted: with one number of samples, α_c is half the mean computing time;
    without GPUs on several nodes (on one node, more than one), their α and β are next to 0; without more
    than two GPUs, both β are. What was not seen across nodes is then at least 1.1 times what was seen on one.

    Source: Qiao et al., Pollux, OSDI 2021, section 4.1, and its public simulator.
    """
    start, low, high = _limits(seen)

    def value(params: Floats) -> tuple[float, Floats]:
        loss_and_slopes = loss(params, *seen)
        return float(loss_and_slopes[0]), loss_and_slopes[1:]

    fitted: Floats = scipy.optimize.minimize(
        value, start, jac=True, bounds=scipy.optimize.Bounds(low, high), method="L-BFGS-B"
    ).x
    if not (seen.nodes > 1).any():
        fitted[ALPHA_N] = max(fitted[ALPHA_N], SPREAD * fitted[ALPHA_R])
        fitted[BETA_N] = max(fitted[BETA_N], SPREAD * fitted[BETA_R])
    return fitted


def _limits(seen: Observations) -> tuple[Floats, Floats, Floats]:
    start = np.array(START)
    low, high = np.full(7, LEAST), np.full(7, np.inf)
    low[GAMMA], high[GAMMA] = 1.0, MOST_GAMMA
    unknown: dict[int, float] = {}
    if len(np.unique(seen.local)) == 1:
        unknown[ALPHA_C] = float(seen.compute_s.mean()) / 2
    if not (seen.nodes > 1).any():
        unknown.update({ALPHA_N: LEAST, BETA_N: LEAST})
    if not ((seen.nodes == 1) & (seen.gpus > 1)).any():
        unknown.update({ALPHA_R: LEAST, BETA_R: LEAST})
    if not (seen.gpus > 2).any():
        unknown.update({BETA_N: LEAST, BETA_R: LEAST})
    for place, value in unknown.items():
        start[place] = low[place] = high[place] = value
    return start, low, high


SIZES = 50
LEAST_BATCH, MOST_BATCH, LEAST_LOCAL, MOST_LOCAL = range(4)
"""Places of an application's limits."""


@compiled
def best_batch(params: Floats, noise: Floats, limits: Ints, wide: bool, gpus: int) -> tuple[float, int, int]:
    """(goodput, samples on each GPU, extra steps) of the best of 50 batch sizes in geometric steps.

    Goodput = B'/T · gain · B₀/B' = gain · B₀ / T: progress per second in samples of the smallest batch. Sizes
    go from max(B₀, b_min·r) to B_max; those that do not fit a GPU count as 0.

    ``noise``: squared norm and variance of the gradient.
    ``limits``: least and most batch size, least and most samples on one GPU.
    ``wide``: whether the GPUs are on several nodes.

    Source: Qiao et al., Pollux, OSDI 2021, section 3, and its public simulator.
    """
    least, most = limits[LEAST_BATCH], limits[MOST_BATCH]
    start = float(max(least, limits[LEAST_LOCAL] * gpus))
    ratio = math.log(most / start) / (SIZES - 1)
    network = network_s(params, wide, gpus)
    best, local, extra = -1.0, 0, 0
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
        if value > best:
            best, local, extra = value, part, steps
    return best, int(local), int(extra)


@compiled
def goodputs(params: Floats, noise: Floats, limits: Ints, node: int, most: int) -> Floats:
    """(2, most + 1) the best goodput by number of GPUs, on one node (of ``node`` GPUs) and on several."""
    best = np.zeros((2, most + 1))
    for wide, first, last in ((False, 1, min(node, most)), (True, 2, most)):
        for gpus in range(first, last + 1):
            best[int(wide), gpus] = best_batch(params, noise, limits, wide, gpus)[0]
    return best
