"""Report on a search by sampled completion times: the objective, its value and its error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nona.placement.result.placement import Placement
from nona.report.plain import number
from nona.units import format_time

Report = Mapping[str, Any]
WORDS = {"slo": "missed SLOs", "mean-jct": "mean JCT"}


def sampled_report(placement: Placement, names: Sequence[str]) -> dict[str, Any] | None:
    """The search as plain data; ``None`` where there was none.

    ``value`` is a probability for the objective ``slo``, seconds for ``mean-jct``; ``formula_value`` is
    that of the formula's optimum, ``gain`` the difference, pair by pair.
    """
    found = placement.sampled
    if found is None:
        return None
    return {
        "value": number(found.value),
        "error": number(found.error),
        "bound": number(found.bound),
        "formula_value": number(found.formula_value),
        "gain": number(found.gain),
        "gain_error": number(found.gain_error),
        "models": dict(zip(names, found.queries, strict=True)),
        "evaluations": found.evaluations,
        "samples": found.samples,
        "settled": found.settled,
        "origin": found.origin,
    }


def value_text(objective: str, value: float | None) -> str:
    """A value of the objective as text.

    >>> value_text("slo", 0.0123), value_text("mean-jct", 0.0123), value_text("slo", None)
    ('1.23 %', '12.3 ms', '–')
    """
    if value is None:
        return "–"
    return f"{100 * value:.2f} %" if objective == "slo" else format_time(value)


def missed_finding(report: Report) -> str:
    """The result of a search for fewer missed SLOs, in a sentence; empty for other objectives."""
    found = report.get("sampled")
    if found is None or report["objective"] != "slo":
        return ""

    def shown(key: str) -> str:
        return value_text("slo", found[key])

    text = f"Predicted share of missed SLOs: {shown('value')} (standard error {shown('error')})"
    if found["gain"]:
        text += f", {shown('gain')} less than the {shown('formula_value')} of the formula's optimum"
    else:
        text += "; no other candidate is significantly better than the formula's optimum"
    return f"{text}. The search gives no proof; no placement misses fewer than {shown('bound')}."


def sampled_rows(report: Report) -> list[dict[str, str]]:
    """One row for each model that counts."""
    found = report.get("sampled")
    if found is None:
        return []
    objective = report["objective"]
    return [
        {"model": name, WORDS[objective]: value_text(objective, value)}
        for name, value in found["models"].items()
        if value is not None
    ]
