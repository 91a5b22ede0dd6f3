"""Report on a search by sampled completion times: the objective, its value and its error."""

from __future__ import annotations

from collections.abc import Sequence

from nona.placement.result.placement import Placement
from nona.results.placement.report import PlacementReport
from nona.results.placement.search import SampledSearch
from nona.units import format_time


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
    return f"{text}. {gain_finding(report)} {slo_bound_words(report)}"


def gain_finding(report: PlacementReport) -> str:
    """What the search for fewer missed SLOs gained, in a sentence; empty for other objectives."""
    found = report.sampled
    if found is None or report.objective != "slo":
        return ""
    if not found.gain:
        return "No other candidate misses significantly fewer SLOs than the formula's optimum."
    fewer, own = f"{100 * found.gain:.2g}", value_text("slo", found.formula_value)
    return f"It misses {fewer} points fewer SLOs than the formula's optimum, which misses {own}."


def slo_bound_words(report: PlacementReport) -> str:
    """How far that is proved."""
    bound = None if report.sampled is None else report.sampled.bound
    if not bound:
        return "The search gives no proof."
    return f"The search gives no proof; no placement misses fewer than {value_text('slo', bound)}."
