"""Sequences whose truth is known: AR(1) and the sojourn times of M/M/1; and how often intervals cover it."""

from __future__ import annotations

import math

import numpy as np
from scipy.signal import lfilter
from scipy.stats import binom

PHI = 0.8


def ar1(random, runs, n, start=None):
    """x_{i+1} = 0.8 xᵢ + noise, of mean 0, stationary or from ``start``: one run per row."""
    noise = random.normal(size=(runs, n))
    noise[:, 0] = noise[:, 0] / math.sqrt(1 - PHI**2) if start is None else start
    return lfilter([1.0], [1.0, -PHI], noise, axis=1)


def mm1(random, runs, n, load, skipped=300):
    """Sojourn times by Lindley's recursion, service rate 1, after the first ``skipped`` customers."""
    service = random.exponential(1.0, (runs, n + skipped))
    walk = np.cumsum(service[:, :-1] - random.exponential(1 / load, (runs, n + skipped - 1)), axis=1)
    walk = np.concatenate([np.zeros((runs, 1)), walk], axis=1)
    return (walk - np.minimum.accumulate(walk, axis=1) + service)[:, skipped:]


def is_nominal(hits, experiments, level=0.95):
    """Whether so many hits happen with 99.8 % when the level is the true one."""
    low, high = binom.ppf([0.001, 0.999], experiments, level)
    return low <= hits <= high
