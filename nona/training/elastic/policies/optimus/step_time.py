"""Optimus's model of a step, fitted to what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from nona.allocation.policies.problem import Floats


class Shape(NamedTuple):
    """``nodes`` p and ``gpus`` w."""

    nodes: int
    gpus: int


def _row(batch: int, at: Shape) -> tuple[float, ...]:
    return (batch / at.gpus, 1.0, at.gpus / at.nodes, float(at.gpus), float(at.nodes))


def fit_step(batch: int, measured_s: Mapping[Shape, float]) -> Floats:
    """(5,) θ ≥ 0 of 1/f(p, w) = θ0·B/w + θ1 + θ2·w/p + θ3·w + θ4·p, by non-negative least squares.

    Parameters
    ----------
    batch
        B, samples of a step on all GPUs.
    measured_s
        Seconds of a step by nodes and GPUs.

    Examples
    --------
    >>> fit_step(100, {Shape(1, w): 0.02 * 100 / w + 0.5 for w in (1, 2, 4)}).round(6).tolist()[:2]
    [0.02, 0.5]

    Source: Peng et al., Optimus, EuroSys 2018, section 3.2 (recollected). There p are parameter servers;
    here, where GPUs reduce among themselves, it is the number of nodes (ours).
    """
    rows = np.array([_row(batch, at) for at in measured_s])
    seconds = np.array(list(measured_s.values()))
    # Relative errors count, so that long steps of few GPUs do not decide alone.
    found: Floats = nnls(rows / seconds[:, None], np.ones(len(seconds)))[0]
    return found


def step_s(params: Floats, batch: int, at: Shape) -> float:
    """1/f: seconds of a step."""
    return float(params @ np.array(_row(batch, at)))
