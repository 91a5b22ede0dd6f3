"""The response of a placement by sampled jobs: mean, percentiles and SLO misses."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document, Figure


class ResponseSummary(Document):
    """Mean and percentiles of completion times, in seconds."""

    mean_s: Figure
    p50_s: Figure
    p95_s: Figure
    p99_s: Figure


class ModelResponse(ResponseSummary):
    """The same of one row of the workload, with its SLO and the share of its jobs beyond it."""

    slo_s: Figure
    miss: Figure


class ResponseReport(ResponseSummary):
    """The same of the whole mix, and of each row of the workload.

    ``sampling_s`` is the standard error of the mean, ``miss`` the share of jobs beyond their SLO among
    those that have one, ``None`` without any. ``warning`` is a line where the prediction was not tested.
    """

    sampling_s: Figure
    miss: Figure
    compute_utilization: float
    link_utilization: float
    models: Mapping[str, ModelResponse]
    warning: str | None = None
