"""Report on the response of a placement: mean, percentiles and SLO misses, of each model and of the mix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nona.placement.response import ResponseTimes
from nona.placement.result.placement import Placement
from nona.placement.sampled.choose import reported_response
from nona.system import System

LEVELS = {"p50_s": 0.50, "p95_s": 0.95, "p99_s": 0.99}


def response_report(system: System, placement: Placement, names: Sequence[str]) -> dict[str, Any]:
    """What ``nona place --json`` prints as ``response``; ``names`` are the labels of the workload's rows.

    ``miss`` is the share of jobs beyond their SLO among those that have one, ``None`` without any.
    ``sampling_s`` is the standard error of the mean. The jobs are those by which placements are judged, so
    ``mean_s`` equals the ``objective_s`` of a placement that was judged.
    """
    response = reported_response(system, placement)
    slo_s = [q.slo_s for q in system.queries]
    missed = response.miss(slo_s)
    counted = [(q.rate, m) for q, m in zip(system.queries, missed, strict=True) if m is not None]
    total = sum(rate for rate, _ in counted)
    return {
        **_times(response.mix),
        "sampling_s": response.mix.error_s,
        "miss": sum(rate * m for rate, m in counted) / total if total > 0 else None,
        "compute_utilization": float(response.compute_utilization.max()),
        "link_utilization": response.link_utilization,
        "models": {
            name: {**_times(times), "slo_s": slo, "miss": miss}
            for name, times, slo, miss in zip(names, response.queries, slo_s, missed, strict=True)
        },
    }


def _times(times: ResponseTimes) -> dict[str, float]:
    return {"mean_s": times.mean_s, **{key: times.quantile_s(level) for key, level in LEVELS.items()}}
