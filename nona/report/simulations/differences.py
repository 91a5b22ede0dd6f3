"""Every scheduler against a baseline: paired differences, and the saving by pairing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from nona.errors import SimulationError
from nona.report.means import mean_of
from nona.results.simulation.differences import Difference, Differences, PairedMean, Verdict
from nona.simulation.records.run import Records
from nona.simulation.statistics.measured import Measured
from nona.simulation.statistics.paired import PairedDifference
from nona.simulation.statistics.summary import hit_rate_difference, jct_difference

Runs = Mapping[str, Sequence[Records]]


def differences(runs: Runs, slo_s: Sequence[float | None], baseline: str) -> dict[str, Difference]:
    """Scheduler → its mean JCT and SLO hit rate minus those of the ``baseline``, at 95 %.

    The verdict is ``overloaded`` where one of the two has no mean. Each interval holds by itself: with
    many schedulers, one in twenty excludes 0 by chance.

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
        rows[name] = Difference(
            jct_s=mean_of(jct.difference),
            variance_reduction=jct.variance_reduction,
            correlation=jct.correlation,
            relative=jct.difference.mean / mean if mean else None,
            verdict=_verdict(jct),
            slo_hit_rate=None if hits is None else _paired(hits),
            replications=len(records),
        )
    return rows


def check_baseline(baseline: str | None, schedulers: Sequence[str]) -> None:
    """Raise :class:`~nona.errors.SimulationError` when the baseline is not among the schedulers."""
    if baseline is not None and baseline not in schedulers:
        raise SimulationError(
            f"Baseline {baseline!r} is not simulated; choose one of {', '.join(schedulers)}, or add it."
        )


def all_differences(runs: Runs, slo_s: Sequence[float | None]) -> Differences:
    """Baseline → :func:`differences` from it, for every scheduler as the baseline."""
    return {baseline: differences(runs, slo_s, baseline) for baseline in runs}


def _paired(found: PairedDifference) -> PairedMean:
    mean = mean_of(found.difference)
    return PairedMean(
        mean=mean.mean,
        ci95=mean.ci95,
        variance_reduction=found.variance_reduction,
        correlation=found.correlation,
    )


def _verdict(found: PairedDifference) -> Verdict:
    if math.isnan(found.difference.mean):
        return "overloaded"
    if not found.is_clear:
        return "not told apart"
    return "faster" if found.difference.mean < 0 else "slower"
