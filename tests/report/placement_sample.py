"""A small placement report made by hand, to be changed field by field."""

from __future__ import annotations

from typing import Any

from nona.results.document import About
from nona.results.placement import (
    CertifiedOptimum,
    FullPlacementReport,
    MemoryReport,
    PlacementOutcome,
    PlacementReport,
    PredictedClass,
    PredictedMix,
    ResponseReport,
)

ABOUT = About(
    name="sample",
    description="",
    seed=1,
    hash="0",
    version="0",
    made="today",
    jobs=1,
    replications=1,
    yaml="",
    files=(),
)
RESPONSE = ResponseReport(
    mean_s=0.08,
    p50_s=0.08,
    p95_s=0.1,
    p99_s=0.1,
    sampling_s=0.0,
    miss=None,
    compute_utilization=0.5,
    link_utilization=0.2,
    models={},
)
MIX = PredictedMix(
    jct_s=0.08,
    network_wait_s=0.0,
    server_wait_s=0.001,
    network_utilization=0.2,
    compute_utilization=0.5,
    congestion_price_s_per_byte=0.0,
    classes=(PredictedClass(executor_class="t4", executors=2, utilization=0.5, wait_s=0.001),),
    links=(),
)


def report(**more: Any) -> FullPlacementReport:
    """A placement by formula alone, with other values for some fields."""
    plain = PlacementReport(
        objective_s=0.08,
        objective_error_s=0.0,
        lower_bound_s=0.068,
        gap=0.15,
        global_bound_s=None,
        global_gap=None,
        formula=CertifiedOptimum(objective_s=0.08, lower_bound_s=0.068, gap=0.15),
        solver="parametric",
        seconds=0.1,
        predicted=MIX,
        models={},
        class_shares={},
        memory=MemoryReport(classes=(), models={}, replicas_bytes=0.0),
        notes=(),
        objective="formula",
        origin="formula",
        sampled=None,
    )
    return FullPlacementReport.of(plain, RESPONSE).model_copy(update=more)


def outcome(nona_s: float, local_s: float | None, spread_s: float | None, **more: Any) -> PlacementOutcome:
    """An outcome with these mean JCTs; ``None``: no steady state."""

    def taking(mean_s: float) -> FullPlacementReport:
        return report(objective_s=mean_s, response=RESPONSE.model_copy(update={"mean_s": mean_s}))

    local, spread = (None if s is None else taking(s) for s in (local_s, spread_s))
    return PlacementOutcome(about=ABOUT, nona=taking(nona_s), local=local, spread=spread, models={}, **more)
