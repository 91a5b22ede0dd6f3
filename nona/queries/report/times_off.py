"""How far a mean may move where task times are off.

A simulated or predicted mean is exact for the task times that it was given. Times that a cost model
made are themselves uncertain (:mod:`nona.models.cost.costed`), and this error is usually far larger than
that of the simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from nona.core.document import ErrorRange, Interval, ModelFacts
from nona.core.units import format_time
from nona.models.times_report import LEVEL, TAKEN
from nona.queries.results import Schedulers

_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


USUAL = "if task times are wrong by the usual error"


@dataclass(frozen=True, slots=True)
class TimesError:
    """True task times are usually between ``low`` and ``high`` times those that were modelled."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class MeanParts:
    """A mean completion time and the parts of it that depend on task times.

    ``mean_s``: the mean, seconds.
    ``compute_s``: its part in which a task runs, seconds.
    ``server_wait_s``: its part in which a task waits for an executor, seconds.
    ``load``: utilisation offered to the executors, background included (0 to 1).
    ``background``: the share of it that is not queries, hence does not change with their times.
    ``ci95``: the interval of the mean, where it was simulated.
    """

    mean_s: float
    compute_s: float
    server_wait_s: float = 0.0
    load: float = 0.0
    background: float = 0.0
    ci95: Interval = None


def times_error(
    models: Sequence[ModelFacts], rates: Sequence[float] = (), level: float = LEVEL
) -> TimesError | None:
    """By which factors the true task times of a workload usually differ from its times.

    Formula: Σ_p w_p · exp(∓ z·σ_p), where w_p is the share of the work that has origin p (each model's
    total time times its rate, by default the same for all), σ_p the standard deviation of the logarithm of
    true over stated time, and z the normal quantile of (1 + ``level``) / 2. Errors of one origin have one
    cause (the same constants of the same device), so they do not average out over operators or models.
    Given and measured times are taken at their word.
    ``None`` where all times are given or measured.

    >>> facts = ModelFacts(parallelism=1, total_compute_s=1, critical_path_s=1, device="t4",
    ...                    provenance={"modelled": 1.0}, sigma={"modelled": 0.35})
    >>> off = times_error([facts])
    >>> round(off.low, 2), round(off.high, 2)
    (0.56, 1.78)
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    total = low = high = 0.0
    for facts, rate in zip(models, rates or [1.0] * len(models), strict=True):
        for origin, share in facts.provenance.items():
            sigma = 0.0 if origin in TAKEN else facts.sigma.get(origin, 0.0)
            weight = share * facts.total_compute_s * rate
            total += weight
            low += weight * math.exp(-z * sigma)
            high += weight * math.exp(z * sigma)
    if total <= 0 or high <= total:
        return None
    return TimesError(low / total, high / total)


def mean_if_off(parts: MeanParts, error: TimesError | None) -> ErrorRange | None:
    """Return the range of a mean if all task times are off by one factor, as ``error`` says.

    ``None`` without one.

    Formula: with the factor f, T(f) = T + (f − 1)·C + (g − 1)·Q + (h − 1)·(W − Q), where C is the computing
    part of the mean T and W its waits for executors. With the load ρ(f) = b + f·(ρ − b), b being background:
    Q = min(W, C·ρ / (1 − ρ)) is what one queue would make of that load, g = f · [ρ(f) / (1 − ρ(f))] / [ρ /
    (1 − ρ)] how it grows (M/M/1; Pollaczek–Khinchine with an unchanged coefficient of variation). The rest of
    the waits, for tasks of the same job on the same executor and because of bursts, grows like a response,
    h = f · (1 − ρ) / (1 − ρ(f)), which is f on an idle cluster.

    Assumed: the placement, the routing and the waits for links stay as they are, for rates and bytes do; one
    ρ, the mean over executors, stands for all. For schedulers that observe queues the growth is too large at
    high load, which errs on the side of caution. Where ρ(f) reaches 1 there is no steady state: ``high_s`` is
    ``None``. The sampling error of the mean is another one: each end is moved by √(a² + b²), a from the
    times and b from the interval of the mean, so that the range holds both. A range that reads as the
    interval does, or whose ends are equal to two digits, says nothing: there is none then.

    >>> known = MeanParts(mean_s=6.0, compute_s=4.0, server_wait_s=1.0, load=0.5)
    >>> found = mean_if_off(known, TimesError(0.5, 1.5))
    >>> round(found.low_s, 3), round(found.high_s, 3)
    (3.167, 11.5)
    >>> mean_if_off(known, TimesError(0.5, 2.5)).high_s is None, mean_if_off(known, None)
    (True, None)
    >>> mean_if_off(known, TimesError(0.999, 1.001)) is None
    True
    >>> loose = MeanParts(mean_s=6.0, compute_s=4.0, server_wait_s=1.0, load=0.5, ci95=(4.5, 7.5))
    >>> [mean_if_off(loose, TimesError(1 - e, 1 + e)) is None for e in (0.01, 0.5)]
    [True, False]
    """
    if error is None:
        return None
    low, high = _moved(parts, error.low), _moved(parts, error.high)
    if low is None:
        return None
    below, above = parts.ci95 or (parts.mean_s, parts.mean_s)
    low = max(parts.mean_s - math.hypot(parts.mean_s - low, parts.mean_s - below), 0.0)
    if high is not None:
        high = parts.mean_s + math.hypot(high - parts.mean_s, above - parts.mean_s)
    if high is not None and len({*_rounded(low, high)}) == 1:
        return None
    if parts.ci95 is not None and high is not None and _rounded(low, high) == _rounded(below, above):
        return None
    return ErrorRange(low_s=low, high_s=high)


def _rounded(*values: float) -> list[float]:
    return [float(f"{value:.2g}") for value in values]


def _moved(parts: MeanParts, factor: float) -> float | None:
    load = parts.background + factor * max(parts.load - parts.background, 0.0)
    if load >= 1 or parts.load >= 1:
        return None
    response = factor * (1 - parts.load) / (1 - load)
    queued = min(parts.server_wait_s, parts.compute_s * parts.load / (1 - parts.load))
    queue = response * load / parts.load if parts.load > 0 else factor
    return (
        parts.mean_s
        + (factor - 1) * parts.compute_s
        + (queue - 1) * queued
        + (response - 1) * (parts.server_wait_s - queued)
    )


def means_if_off(
    schedulers: Schedulers, error: TimesError | None, background: float = 0.0
) -> dict[str, ErrorRange]:
    """Scheduler → :func:`mean_if_off` of its simulated mean, for those that have one.

    ``background`` is the share of the executors that others take (0 to 1).
    """
    ranges = {}
    for name, s in schedulers.items():
        compute, load = s.parts_s.compute, s.offered.compute
        wait = (s.parts_s.server_wait or 0.0) + (s.parts_s.own_wait or 0.0)
        if s.jct_s.mean is None or compute is None:
            continue
        off = mean_if_off(
            MeanParts(s.jct_s.mean, compute, wait, load or 0.0, background, s.jct_s.ci95), error
        )
        if off is not None:
            ranges[name] = off
    return ranges


def off_lines(off: Mapping[str, ErrorRange]) -> list[str]:
    """One line on the ranges of all schedulers, for reports; none without ranges.

    >>> off_lines({"local": ErrorRange(low_s=0.0034, high_s=0.0107)})
    ['mean JCT if task times are wrong by the usual error: local 3.4 to 11 ms']
    """
    ranges = ", ".join(f"{name} {_span(off_range)}" for name, off_range in off.items())
    return [f"mean JCT {USUAL}: {ranges}"] if ranges else []


def off_text(off: ErrorRange) -> str:
    """Return the range in words, to two digits.

    >>> off_text(ErrorRange(low_s=0.0034, high_s=0.0107))
    '3.4 to 11 ms if task times are wrong by the usual error'
    >>> off_text(ErrorRange(low_s=0.0034, high_s=None))
    'from 3.4 ms to no steady state if task times are wrong by the usual error'
    """
    return f"{_span(off)} {USUAL}"


def _span(off: ErrorRange) -> str:
    if off.high_s is None:
        return f"from {format_time(_two_digits(off.low_s, math.floor), 2)} to no steady state"
    unit_s, unit = next((f, u) for f, u in _TIME_UNITS if off.high_s >= f or f == _TIME_UNITS[-1][0])
    ends = _two_digits(off.low_s, math.floor), _two_digits(off.high_s, math.ceil)
    low, high = (f"{end / unit_s:.4g}" for end in ends)
    return f"{low} to {high} {unit}"


def _two_digits(value: float, cut: Callable[[float], int]) -> float:
    """Return the value to two digits, cut outwards: what is shown of a range is no narrower than it.

    >>> _two_digits(0.01391, math.floor), _two_digits(0.01571, math.ceil), _two_digits(0.4, math.ceil)
    (0.013, 0.016, 0.4)
    """
    if value <= 0:
        return 0.0
    power = math.floor(math.log10(value)) - 1
    digits = value / 10.0**power
    return float(f"{cut(round(digits, 6))}e{power}")
