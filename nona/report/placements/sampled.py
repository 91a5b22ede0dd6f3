"""Report on a search by sampled completion times: the objective, its value and its error."""

from __future__ import annotations

from collections.abc import Sequence

from nona.placement.result.placement import Placement
from nona.results.placement.report import PlacementReport
from nona.results.placement.search import SampledSearch
from nona.units import format_time

WORDS = {"slo": "missed SLOs", "mean-jct": "mean JCT"}


def sampled_report(placement: Placement, names: Sequence[str]) -> SampledSearch | None:
    """The figures of the search; ``None`` where there was none."""
    found = placement.sampled
    if found is None:
        return None
    return SampledSearch(
        value=found.value,
        error=found.error,
        bound=found.bound,
        formula_value=found.formula_value,
        gain=found.gain,
        gain_error=found.gain_error,
        models=dict(zip(names, found.queries, strict=True)),
        evaluations=found.evaluations,
        samples=found.samples,
        settled=found.settled,
        origin=found.origin,
    )


def value_text(objective: str, value: float | None) -> str:
    """A value of the objective as text.

    >>> value_text("slo", 0.0123), value_text("mean-jct", 0.0123), value_text("slo", None)
    ('1.23 %', '12.3 ms', '–')
    """
    if value is None:
        return "–"
    return f"{100 * value:.2f} %" if objective == "slo" else format_time(value)


def missed_finding(report: PlacementReport) -> str:
    """The result of a search for fewer missed SLOs, in a sentence; empty for other objectives."""
    found = report.sampled
    if found is None or report.objective != "slo":
        return ""

    def shown(share: float | None) -> str:
        return value_text("slo", share)

    text = f"Predicted share of missed SLOs: {shown(found.value)} (standard error {shown(found.error)})"
    if found.gain:
        text += f", {shown(found.gain)} less than the {shown(found.formula_value)} of the formula's optimum"
    else:
        text += "; no other candidate is significantly better than the formula's optimum"
    return f"{text}. The search gives no proof; no placement misses fewer than {shown(found.bound)}."


def sampled_rows(report: PlacementReport) -> list[dict[str, str]]:
    """One row for each model that counts."""
    found, objective = report.sampled, report.objective
    if found is None:
        return []
    return [
        {"model": name, WORDS[objective]: value_text(objective, value)}
        for name, value in found.models.items()
        if value is not None
    ]
