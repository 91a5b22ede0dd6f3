"""Energy of an option: GPUs that draw watts between idle and busy, by their mean utilisation."""

from __future__ import annotations

from nona.planning.offers import Option
from nona.planning.prices import listed_prices
from nona.study.planning.question import Question


def watts(question: Question, option: Option, utilization: float | None) -> float | None:
    """Watts of all GPUs: Σ n · (idle + u · (busy − idle)); ``None`` where one of them is not known."""
    if utilization is None:
        return None
    total = 0.0
    for k in option.used:
        offer = question.offers[k]
        found = _of_gpu(question, offer.gpu)
        if found is None:
            return None
        idle, busy = found
        total += option.counts[k] * offer.gpus * (idle + min(utilization, 1.0) * (busy - idle))
    return total


def _of_gpu(question: Question, gpu: str) -> tuple[float, float] | None:
    """Watts of a GPU, idle and busy: as given, else as listed."""
    given = question.spec.prices.watts.get(gpu)
    if given is not None:
        return given.idle, given.busy
    listed = listed_prices().get(gpu)
    if listed is None or listed.watts_idle is None or listed.watts_busy is None:
        return None
    return listed.watts_idle, listed.watts_busy


def kwh_per_million(power: float | None, rate: float) -> float | None:
    """Energy of a million queries at ``rate`` per second, from watts: W/1000 · 10⁶/(rate · 3600).

    >>> round(kwh_per_million(3600.0, 1000.0), 6)
    1.0
    """
    return None if power is None or rate <= 0 else power / 1000 * 1e6 / (rate * 3600)
