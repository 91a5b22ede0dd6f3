"""One policy in one setting: the numbers of a run that claims and rankings need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nona.report.plain import number
from nona.study.serverless.tasks import Done


def cell(done: Done, slo_s: Sequence[float]) -> dict[str, Any]:
    """The numbers of a task.

    ``hits``, ``costs``: share of SLOs kept and US dollars a call, one per replication, so that policies
    can be paired; ``miss``: configuration miss rate, ``None`` without carried plans; ``search_s``: mean;
    ``fill``: median latency / SLO of each application; ``mean_fill``: mean latency / SLO over all.
    """
    summary = done.summary
    applications = list(zip(summary.applications, slo_s, strict=True))
    means = [(a.latency_s.mean.mean / s, a.calls) for a, s in applications]
    missed = summary.configuration_miss_rate
    return {
        "hits": [r.all.hit_rate for r in done.runs],
        "costs": [r.all.cost_per_call for r in done.runs],
        "miss": None if missed is None else number(missed.mean),
        "search_s": number(summary.search_s.mean.mean),
        "fill": [number(a.latency_s.percentiles[50] / s) for a, s in applications],
        "mean_fill": number(sum(m * n for m, n in means) / sum(n for _, n in means)),
        "state": summary.state,
    }
