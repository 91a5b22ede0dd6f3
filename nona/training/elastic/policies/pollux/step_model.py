"""Pollux's model of a step: computing and synchronising overlap in part."""

from __future__ import annotations

import math

from nona.allocation.policies.problem import Floats
from nona.compiled import compiled

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
