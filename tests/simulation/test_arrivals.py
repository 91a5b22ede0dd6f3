"""Arrival processes: rate and variability against their definition, and the shape of chunks."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from nona.errors import SimulationError
from nona.simulation.arrivals import arrival_chunks, effective_rate
from nona.system import Arrivals

RATE = 50.0


def times(arrivals: Arrivals, n: int = 60_000, rate: float = RATE, replication: int = 0) -> np.ndarray:
    chunks = arrival_chunks(arrivals, rate, np.random.default_rng(5), replication)
    out: list[np.ndarray] = []
    while sum(map(len, out)) < n:
        out += islice(chunks, 1)
    return np.concatenate(out)[:n]


@pytest.mark.parametrize(
    ("arrivals", "cv"),
    [
        (Arrivals("poisson"), 1.0),
        (Arrivals("gamma", cv=0.5), 0.5),
        (Arrivals("gamma", cv=3.0), 3.0),
        (Arrivals("gamma", cv=0.0), 0.0),
        (Arrivals("deterministic"), 0.0),
    ],
    ids=lambda x: f"{x.process}-{x.cv}" if isinstance(x, Arrivals) else "",
)
def test_rate_and_cv_of_renewal_processes(arrivals: Arrivals, cv: float) -> None:
    gaps = np.diff(times(arrivals))
    error = max(cv, 1e-9) / len(gaps) ** 0.5
    assert abs(gaps.mean() * RATE - 1) < 5 * error
    assert gaps.std() / gaps.mean() == pytest.approx(cv, abs=0.05 * max(cv, 1e-6) + 1e-9)


def test_mmpp_rate_and_index_of_dispersion() -> None:
    """Counts of a two-state MMPP in a window w: Var/mean = 1 + 2 var τ (1 − (1 − e^(−w/τ)) τ/w) / rate."""
    burst = Arrivals("mmpp", burst_factor=3.0, burst_fraction=0.2, burst_mean_s=0.5)
    instants = times(burst, 400_000)
    span = instants[-1]
    tau = 1 / (1 / 0.5 + 1 / (0.5 * 0.8 / 0.2))
    low = RATE * (1 - 0.6) / 0.8
    variance = 0.2 * 0.8 * (3 * RATE - low) ** 2
    window = 4.0
    index = 1 + 2 * variance * tau * (1 - (1 - np.exp(-window / tau)) * tau / window) / RATE
    counts = np.bincount((instants / window).astype(int))[:-1]
    assert len(instants) / span == pytest.approx(RATE, rel=5 * (index / len(instants)) ** 0.5)
    assert counts.var() / counts.mean() == pytest.approx(index, rel=5 * (2 / len(counts)) ** 0.5)


@pytest.mark.parametrize("process", ["poisson", "gamma", "deterministic", "mmpp"])
def test_instants_increase_across_chunks(process: str) -> None:
    assert (np.diff(times(Arrivals(process, cv=2.0))) >= 0).all()


def test_trace_keeps_its_own_time_and_goes_round() -> None:
    trace = Arrivals("trace", times_s=(10.0, 11.0, 13.0), scale_to_rate=False)
    assert effective_rate(trace, RATE) == pytest.approx(1 / 1.5)
    assert times(trace, 7) == pytest.approx([0, 1, 3, 4.5, 5.5, 7.5, 9.0])


def test_trace_scaled_to_the_rate() -> None:
    trace = Arrivals("trace", times_s=(10.0, 11.0, 13.0))
    assert effective_rate(trace, 2.0) == 2.0
    assert times(trace, 4, rate=2.0) == pytest.approx([0, 1 / 3, 1, 1.5])


def test_trace_starts_elsewhere_in_other_replications() -> None:
    trace = Arrivals("trace", times_s=tuple(float(i * i) for i in range(50)))
    gaps = np.diff(times(trace, 51))
    other = np.diff(times(trace, 51, replication=1))
    assert other != pytest.approx(gaps)
    assert sorted(other) == pytest.approx(sorted(gaps))


@pytest.mark.parametrize(
    ("arrivals", "rate", "what"),
    [
        (Arrivals("weibull"), 1.0, "weibull"),
        (Arrivals(), 0.0, "rate=0"),
        (Arrivals("gamma", cv=-1.0), 1.0, "cv=-1"),
        (Arrivals("mmpp", burst_factor=20.0), 1.0, "factor × fraction"),
        (Arrivals("trace"), 0.0, "no rate"),
        (Arrivals("trace", times_s=(2.0, 1.0)), 1.0, "increasing"),
        (Arrivals("trace", times_s=(1.0, 1.0), scale_to_rate=False), 1.0, "no rate"),
    ],
)
def test_impossible_arrivals(arrivals: Arrivals, rate: float, what: str) -> None:
    with pytest.raises(SimulationError, match=what) as error:
        next(arrival_chunks(arrivals, rate, np.random.default_rng(0)))
    assert "\n" not in str(error.value)
