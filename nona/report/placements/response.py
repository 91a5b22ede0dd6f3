"""Report on the response of a placement: mean, percentiles and SLO misses, of each model and of the mix."""

from __future__ import annotations

from collections.abc import Sequence

from nona.placement.response import ResponseTimes
from nona.placement.result.placement import Placement
from nona.placement.sampled.reported import reported_response
from nona.results.placement.response import ModelResponse, ResponseReport
from nona.system import System


def response_report(system: System, placement: Placement, names: Sequence[str]) -> ResponseReport:
    """What ``nona place --json`` prints as ``response``; ``names`` are the labels of the workload's rows.

    The jobs are those by which placements are judged, so
    ``mean_s`` equals the ``objective_s`` of a placement that was judged.
    """
    response = reported_response(system, placement)
    slo_s = [q.slo_s for q in system.queries]
    missed = response.miss(slo_s)
    counted = [(q.rate, m) for q, m in zip(system.queries, missed, strict=True) if m is not None]
    total = sum(rate for rate, _ in counted)
    mix = response.mix
    return ResponseReport(
        mean_s=mix.mean_s,
        p50_s=mix.quantile_s(0.50),
        p95_s=mix.quantile_s(0.95),
        p99_s=mix.quantile_s(0.99),
        sampling_s=mix.error_s,
        miss=sum(rate * m for rate, m in counted) / total if total > 0 else None,
        compute_utilization=float(response.compute_utilization.max()),
        link_utilization=response.link_utilization,
        models={
            name: _model(times, slo, miss)
            for name, times, slo, miss in zip(names, response.queries, slo_s, missed, strict=True)
        },
    )


def _model(times: ResponseTimes, slo_s: float | None, miss: float | None) -> ModelResponse:
    return ModelResponse(
        mean_s=times.mean_s,
        p50_s=times.quantile_s(0.50),
        p95_s=times.quantile_s(0.95),
        p99_s=times.quantile_s(0.99),
        slo_s=slo_s,
        miss=miss,
    )
