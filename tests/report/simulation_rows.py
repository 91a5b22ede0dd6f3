"""Results of simulations made by hand, for tests of what is written and drawn of them."""

from __future__ import annotations

from typing import Any

from nona.results.document import Estimate
from nona.results.simulation import (
    Difference,
    Jct,
    JobCounts,
    ModelResult,
    Parts,
    Percentile,
    Resources,
    SchedulerResult,
    SimulationReport,
)

NO_MEAN = Estimate(mean=None, ci95=None)


def around(mean: float | None, half: float | None) -> Estimate:
    """A mean with an interval of that half-width."""
    known = mean is not None and half is not None
    return Estimate(mean=mean, ci95=(mean - half, mean + half) if known else None)  # type: ignore[operator]


def parts(*values: float | None) -> Parts:
    """Compute, transfer, waits at links, at servers and, where given, for own tasks."""
    compute, transfer, link_wait, server_wait, own_wait = (*values, None if values[0] is None else 0.0)[:5]
    return Parts(
        compute=compute, transfer=transfer, link_wait=link_wait, server_wait=server_wait, own_wait=own_wait
    )


def model(mean: float | None, of: Parts) -> ModelResult:
    """A model with that mean and those parts, without percentiles and SLO."""
    return ModelResult(
        jct_s=mean,
        jct_ci95=None,
        parts_s=of,
        jct_p50_s=None,
        jct_p95_s=None,
        jct_p99_s=None,
        percentiles={},
        slo_s=None,
        slo_hit_rate=None,
    )


def scheduler(mean: float | None, state: str = "stable", **changes: Any) -> SchedulerResult:
    """A scheduler with that mean ± 10 %; half of it are waits where it is overloaded."""
    jct = around(mean, None if mean is None else 0.1 * mean)
    p95 = Percentile(
        value_s=None if mean is None else 2 * mean, ci95=None, withheld=None, interval_withheld=None
    )
    row = SchedulerResult(
        jct_s=Jct(
            mean=jct.mean,
            ci95=jct.ci95,
            p50=None,
            p95=p95.value_s,
            p99=None,
            percentiles={"p95": p95},
            p99_reliable=True,
            jobs=100,
        ),
        parts_s=parts(None if mean is None else 0.75 * mean, 0.0, None, None),
        models={},
        slo_hit_rate=Estimate(mean=0.5 if mean is None else 0.9, ci95=None),
        jobs=JobCounts(arrived=110, completed=100, in_flight=10),
        utilization=Resources(compute=0.25, network=0.5),
        offered=Resources(compute=0.25, network=1.25 if mean is None else 0.5),
        little_s=mean,
        links={},
        state=state,  # type: ignore[arg-type]
        state_reason="" if state == "stable" else "Because.",
        replications=5,
        decisions="machine code",
    )
    return row.model_copy(update=changes)


def difference(mean: float, relative: float, verdict: str) -> Difference:
    """A difference with an interval of 1 ms on either side."""
    return Difference(
        jct_s=around(mean, 0.001),
        variance_reduction=None,
        correlation=None,
        relative=relative,
        verdict=verdict,  # type: ignore[arg-type]
        slo_hit_rate=None,
        replications=5,
    )


def report(schedulers: dict[str, SchedulerResult], **changes: Any) -> SimulationReport:
    """A report on them, without checks, warm-up and precision."""
    made = SimulationReport(
        engine="compiled",
        seconds=1.0,
        schedulers=schedulers,
        checks={},
        failed_checks=(),
        warmup=None,
        precision=None,
    )
    return made.model_copy(update=changes)
