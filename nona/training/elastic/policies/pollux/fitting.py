"""Parameters of the step model from what a job measured of itself."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, minimize

from nona.allocation.policies.problem import Floats, Ints
from nona.compiled import compiled
from nona.training.elastic.policies.pollux.step_model import (
    ALPHA_C,
    ALPHA_N,
    ALPHA_R,
    BETA_C,
    BETA_N,
    BETA_R,
    GAMMA,
    LEAST,
)

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
    found = np.zeros(8)
    for k in range(2):
        root = math.sqrt(squares[k] / len(nodes))
        found[0] += root
        if root > 0.0:
            found[1:] += slopes[k] / (len(nodes) * root)
    _regularise(params, found)
    return found


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
        found = loss(params, *seen)
        return float(found[0]), found[1:]

    found: Floats = minimize(value, start, jac=True, bounds=Bounds(low, high), method="L-BFGS-B").x
    if not (seen.nodes > 1).any():
        found[ALPHA_N] = max(found[ALPHA_N], SPREAD * found[ALPHA_R])
        found[BETA_N] = max(found[BETA_N], SPREAD * found[BETA_R])
    return found


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
