"""The response of a placement in words and rows."""

from __future__ import annotations

from collections.abc import Mapping

from nona.report.text import percent_text, time_text
from nona.results.placement.configuration import PlacedModel
from nona.results.placement.response import ResponseReport


def response_finding(response: ResponseReport) -> str:
    """The predicted completion times in a sentence, without the mean.

    >>> times = {"mean_s": 0.01, "p50_s": 0.01, "p95_s": 0.02, "p99_s": 0.02, "sampling_s": 0.0}
    >>> loads = {"compute_utilization": 0.5, "link_utilization": 0.5}
    >>> response_finding(ResponseReport(miss=0.031, models={}, **times, **loads))
    'Of 100 sampled jobs 95 are complete within 20 ms, and 3.1 % miss their SLO'
    """
    missed = "" if response.miss is None else f", and {percent_text(response.miss)} miss their SLO"
    return f"Of 100 sampled jobs 95 are complete within {time_text(response.p95_s)}{missed}"


def response_rows(response: ResponseReport, formula: Mapping[str, PlacedModel]) -> list[dict[str, str]]:
    """A row for each model; ``formula`` has the optimiser's mean as ``jct_s``."""
    return [
        {
            "model": name,
            "mean": time_text(m.mean_s),
            "mean by formula": time_text(formula[name].jct_s),
            "median": time_text(m.p50_s),
            "95th percentile": time_text(m.p95_s),
            "99th percentile": time_text(m.p99_s),
            "SLO": "–" if m.slo_s is None else time_text(m.slo_s),
            "SLO missed": "–" if m.miss is None else percent_text(m.miss),
        }
        for name, m in response.models.items()
    ]


def response_lines(response: ResponseReport) -> list[str]:
    """What ``nona place`` prints of it."""
    lines = [response_finding(response)]
    for name, m in response.models.items():
        missed = "" if m.miss is None else f", {percent_text(m.miss)} beyond {time_text(m.slo_s)}"
        lines.append(f"  {name}: mean {time_text(m.mean_s)}, p95 {time_text(m.p95_s)}{missed}")
    return lines + ([f"warning: {response.warning}"] if response.warning else [])
