"""Every scheduler against a baseline: paired differences, and the saving by pairing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nona.errors import SimulationError
from nona.report.plain import interval_bounds, number
from nona.simulation.records.run import Records
from nona.simulation.statistics.measured import Measured
from nona.simulation.statistics.paired import PairedDifference
from nona.simulation.statistics.summary import hit_rate_difference, jct_difference

Runs = Mapping[str, Sequence[Records]]


def differences(runs: Runs, slo_s: Sequence[float | None], baseline: str) -> dict[str, Any]:
    """Scheduler → its mean JCT and SLO hit rate minus those of the ``baseline``, at 95 %.

    ``relative`` is the difference over the baseline's mean; ``verdict`` is ``faster``, ``slower``,
    ``not told apart``, or ``overloaded`` where one of the two has no mean. Each interval holds by
    itself: with many schedulers, one in twenty excludes 0 by chance.

    Raises
    ------
    SimulationError
        When the baseline was not simulated.
    """
    check_baseline(baseline, tuple(runs))
    with_slo = any(s is not None for s in slo_s)
    rows = {}
    for name, records in runs.items():
        if name == baseline:
            continue
        jct = jct_difference(records, runs[baseline])
        hits = hit_rate_difference(records, runs[baseline], slo_s) if with_slo else None
        mean = Measured(runs[baseline], slo_s).mean_jct().mean
        rows[name] = {
            "jct_s": _interval(jct),
            **_gain(jct),
            "relative": number(jct.difference.mean / mean) if mean else None,
            "verdict": _verdict(jct),
            "slo_hit_rate": None if hits is None else {**_interval(hits), **_gain(hits)},
            "replications": len(records),
        }
    return rows


def check_baseline(baseline: str | None, schedulers: Sequence[str]) -> None:
    """Raise :class:`~nona.errors.SimulationError` when the baseline is not among the schedulers."""
    if baseline is not None and baseline not in schedulers:
        raise SimulationError(
            f"Baseline {baseline!r} is not simulated; choose one of {', '.join(schedulers)}, or add it."
        )


def all_differences(runs: Runs, slo_s: Sequence[float | None]) -> dict[str, Any]:
    """Baseline → :func:`differences` from it, for every scheduler as the baseline."""
    return {baseline: differences(runs, slo_s, baseline) for baseline in runs}


def _interval(found: PairedDifference) -> dict[str, Any]:
    return {"mean": number(found.difference.mean), "ci95": interval_bounds(found.difference)}


def _gain(found: PairedDifference) -> dict[str, Any]:
    return {
        "variance_reduction": number(found.variance_reduction),
        "correlation": number(found.correlation),
    }


def _verdict(found: PairedDifference) -> str:
    if math.isnan(found.difference.mean):
        return "overloaded"
    if not found.is_clear:
        return "not told apart"
    return "faster" if found.difference.mean < 0 else "slower"
