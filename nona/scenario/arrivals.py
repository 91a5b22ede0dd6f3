"""Arrival processes: endless chunks of increasing instants, one function per process.

Every process has the class's mean rate. All begin at time 0 with no history, so a simulation
needs its warm-up; the deterministic process has a random phase, so that classes do not meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from nona.core.arrays import Floats
from nona.core.errors import SimulationError

CHUNK = 1024
Times = Iterator[Floats]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The arrivals of the queries of one class.

    ``process`` is ``poisson``, ``gamma`` (``cv``: coefficient of variation of the gaps),
    ``deterministic``, ``mmpp`` (Markov-modulated Poisson with two states: ``burst_factor`` times
    the mean rate during bursts, which take ``burst_fraction`` of the time and last
    ``burst_mean_s`` on average), or ``trace`` (``times_s``: arrival instants, replayed
    cyclically when the run is longer than the trace; ``scale_to_rate`` stretches time so that
    the mean rate is the class's rate). With ``period_s`` above 0 the instants lie in a window of that
    length, which is replayed from its start; classes with equal ``trace`` keep in step with one another.
    """

    process: str = "poisson"
    cv: float = 1.0
    burst_factor: float = 3.0
    burst_fraction: float = 0.1
    burst_mean_s: float = 10.0
    times_s: tuple[float, ...] = ()
    scale_to_rate: bool = True
    period_s: float = 0.0
    trace: str = ""


def arrival_chunks(arrivals: Arrivals, rate: float, rng: np.random.Generator, replication: int = 0) -> Times:
    """Draw the arrival instants of one query class, or replay them.

    Parameters
    ----------
    arrivals : Arrivals
        The process.
    rate : float
        Its mean rate, 1/s, above 0; unused by a trace that keeps its own time.
    rng : numpy.random.Generator
        The random stream of this class.
    replication : int, optional
        Replication 0 replays a trace from its first row, or its window from the start; others begin at a
        drawn row or instant.

    Returns
    -------
    iterator of ndarray of float, shape (n,)
        Endless chunks of increasing instants, seconds.

    Raises
    ------
    SimulationError
        For an unknown process, or parameters that no process has.

    Examples
    --------
    >>> times = next(arrival_chunks(Arrivals("deterministic"), 4.0, np.random.default_rng(1)))
    >>> np.diff(times[:4]).tolist()
    [0.25, 0.25, 0.25]
    """
    if arrivals.process not in PROCESSES:
        names = ", ".join(PROCESSES)
        raise SimulationError(f"Arrivals: process {arrivals.process!r} is not known; choose one of {names}.")
    if arrivals.process != "trace" and not (rate > 0 and math.isfinite(rate)):
        raise SimulationError(f"Arrivals: rate={rate:g} must be above 0 and finite; give queries per second.")
    return PROCESSES[arrivals.process](arrivals, rate, rng, replication)


def effective_rate(arrivals: Arrivals, rate: float) -> float:
    """Mean arrivals per second: the class's rate, or the trace's own where it is not rescaled."""
    if arrivals.process == "trace" and not arrivals.scale_to_rate:
        return len(arrivals.times_s) / _trace_period(arrivals, rate)
    return rate


def cycle_s(arrivals: Arrivals, rate: float) -> float:
    """Seconds after which the load has gone up and down once: a trace's cycle, on average that of bursts.

    0 where the load is the same all the time.

    >>> cycle_s(Arrivals("mmpp", burst_fraction=0.1, burst_mean_s=10.0), 5.0), cycle_s(Arrivals(), 5.0)
    (100.0, 0.0)
    """
    if arrivals.process == "trace":
        return _trace_period(arrivals, rate)
    return arrivals.burst_mean_s / arrivals.burst_fraction if arrivals.process == "mmpp" else 0.0


def _renewal(gaps: Callable[[int], Floats], start: float = 0.0) -> Times:
    while True:
        times = start + np.cumsum(gaps(CHUNK))
        start = float(times[-1])
        yield times


def _poisson(arrivals: Arrivals, rate: float, rng: np.random.Generator, replication: int) -> Times:
    return _renewal(lambda n: rng.exponential(1 / rate, n))


def _gamma(arrivals: Arrivals, rate: float, rng: np.random.Generator, replication: int) -> Times:
    """Gaps are gamma with mean 1/rate and coefficient of variation cv: shape 1/cv²."""
    if not (arrivals.cv >= 0 and math.isfinite(arrivals.cv)):
        raise SimulationError(f"Arrivals: cv={arrivals.cv:g} must be at least 0; 1 is Poisson.")
    scv = arrivals.cv**2
    if scv < 1e-12:
        return _deterministic(arrivals, rate, rng, replication)
    return _renewal(lambda n: rng.gamma(1 / scv, scv / rate, n))


def _deterministic(arrivals: Arrivals, rate: float, rng: np.random.Generator, replication: int) -> Times:
    phase = float(rng.random())
    count = 0
    while True:
        yield (phase + np.arange(count, count + CHUNK, dtype=np.float64)) / rate
        count += CHUNK


def _mmpp(arrivals: Arrivals, rate: float, rng: np.random.Generator, replication: int) -> Times:
    """Two states with exponential sojourns; within one, Poisson: a count, then sorted uniforms."""
    fraction, factor, burst_s = arrivals.burst_fraction, arrivals.burst_factor, arrivals.burst_mean_s
    if not (0 < fraction < 1 and burst_s > 0 and factor >= 0 and fraction * factor <= 1):
        raise SimulationError(
            f"Arrivals: bursts of factor {factor:g}, fraction {fraction:g} and {burst_s:g} s are not "
            "possible; keep factor × fraction at most 1 and 0 < fraction < 1."
        )
    rates = (rate * (1 - fraction * factor) / (1 - fraction), rate * factor)
    sojourns = (burst_s * (1 - fraction) / fraction, burst_s)
    state = int(rng.random() < fraction)
    now, pending, count = 0.0, [], 0
    while True:
        left = float(rng.exponential(sojourns[state]))
        while left > 0:  # long sojourns in pieces: bounded memory
            piece = min(left, CHUNK / max(rates[state], rate))
            times = now + np.sort(rng.random(int(rng.poisson(rates[state] * piece)))) * piece
            now, left = now + piece, left - piece
            pending.append(times)
            count += len(times)
            if count >= CHUNK:
                yield np.concatenate(pending)
                pending, count = [], 0
        state = 1 - state


def _trace_period(arrivals: Arrivals, rate: float) -> float:
    """Seconds of one cycle: the span plus one mean gap, or n/rate when rescaled."""
    times = arrivals.times_s
    if arrivals.period_s and not arrivals.scale_to_rate:
        return arrivals.period_s
    span = times[-1] - times[0] if times else 0.0
    if arrivals.scale_to_rate and times and rate > 0:
        return len(times) / rate
    if span <= 0:
        raise SimulationError(
            f"Arrivals: a trace of {len(times)} arrivals over {span:g} s has no rate; "
            "give arrivals at two different instants, or a rate to scale to."
        )
    return span * len(times) / (len(times) - 1)


def _trace(arrivals: Arrivals, rate: float, rng: np.random.Generator, replication: int) -> Times:
    times = np.asarray(arrivals.times_s, dtype=float)
    if not np.isfinite(times).all() or (np.diff(times) < 0).any():
        raise SimulationError("Arrivals: times_s must be finite and in increasing order; sort the trace.")
    period = _trace_period(arrivals, rate)
    if arrivals.period_s:
        start = float(rng.random()) * period if replication else 0.0
        return _cycles(np.sort((times * (period / arrivals.period_s) - start) % period), period)
    offsets = times - times[0]
    if offsets[-1] > 0:
        offsets *= period * (len(times) - 1) / len(times) / offsets[-1]
    if replication:
        first = int(rng.integers(len(times)))
        offsets = np.concatenate([offsets[first:], offsets[:first] + period]) - offsets[first]
    return _cycles(offsets, period)


def _cycles(offsets: Floats, period: float) -> Times:
    cycle = 0
    while True:
        for begin in range(0, len(offsets), CHUNK):
            yield offsets[begin : begin + CHUNK] + cycle * period
        cycle += 1


Process = Callable[[Arrivals, float, np.random.Generator, int], Times]
PROCESSES: Mapping[str, Process] = {
    "poisson": _poisson,
    "gamma": _gamma,
    "deterministic": _deterministic,
    "mmpp": _mmpp,
    "trace": _trace,
}
