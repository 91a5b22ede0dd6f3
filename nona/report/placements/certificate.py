"""A placement's certificate and prediction in lines, compared with local and spread.

The response (sampled jobs among random waits) is what has been compared with simulations, so that it is what
stands in headlines, bars and sentences, whatever the objective of the search was. The formula's figures stand
beside it as such.
"""

from __future__ import annotations

from typing import Literal

from nona.results.placement import FullPlacementReport, PlacementOutcome, PlacementReport
from nona.tables import or_dash, time_text
from nona.units import format_number, format_time

FORMULA = "formula"
_NO_ERROR = 1e-6  # of the value: what is left is rounding
_UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
_AGREE = 0.005  # relative: two predictions nearer than this are called equal
WHY = (
    "The formula uses mean waits, and at a join the largest of these means; the expected maximum of several "
    "random waits is longer, and so are waits behind messages of the same job."
)
ORIGINS = {
    "formula": "It is {formula}: no other candidate is significantly faster",
    "search": "It was found by a search from the fastest start",
    "local": "All local: sampled jobs are faster there than at {formula}",
    "expert": "It is the expert's: for each model the preset that is fastest on an idle cluster",
}


def is_certified(report: PlacementReport) -> bool:
    """Return whether the formula's placement is proved to be optimal; it is not where executors batch."""
    return report.formula.lower_bound_s is not None


def formula_words(report: PlacementReport) -> str:
    """The formula's placement: an optimum only where that is proved."""
    return "the formula's optimum" if is_certified(report) else "the formula's proposal"


def is_sampled(report: PlacementReport) -> bool:
    """Return whether the objective is the mean by sampled jobs; else it is that of the formula."""
    return report.objective != FORMULA


def mean_of(report: PlacementReport) -> float | None:
    """The predicted mean JCT, seconds: by sampled jobs wherever there are some, else by formula."""
    return report.response.mean_s if isinstance(report, FullPlacementReport) else report.objective_s


def error_of(report: PlacementReport) -> float | None:
    """The standard error of :func:`mean_of`, seconds; ``None`` where all jobs take equally long."""
    error_s, mean_s = report.objective_error_s, mean_of(report)
    if isinstance(report, FullPlacementReport) and not is_sampled(report):
        error_s = report.response.sampling_s
    return error_s if error_s and mean_s is not None and error_s > _NO_ERROR * mean_s else None


def error_text(report: PlacementReport) -> str:
    """``± 0.3 ms``, or nothing if all jobs take equally long."""
    return plus_minus(mean_of(report), error_of(report))


def plus_minus(value_s: float | None, error_s: float | None) -> str:
    """The standard error of a value; empty if it is only rounding.

    >>> plus_minus(0.08, 0.000314), plus_minus(0.08, 1e-12)
    ('± 0.31 ms', '')
    """
    if value_s is None or not error_s or error_s <= _NO_ERROR * value_s:
        return ""
    unit = format_time(value_s).split()[-1]
    return f"± {format_number(error_s / _UNITS[unit], 2)} {unit}"


def measure_text(report: PlacementReport) -> str:
    """The method that predicts the mean, for the line below it."""
    if not is_sampled(report) and not isinstance(report, FullPlacementReport):
        return "by formula alone: mean waits"
    error = error_text(report)
    return f"{error}, by sampled jobs" if error else "by sampled jobs, all equal"


def bound_above(report: PlacementReport) -> bool:
    """Return whether the formula's bound is significantly above the prediction, so bounds no sampled mean."""
    excess_s = _excess_s(report)
    return excess_s > max(2 * (report.objective_error_s or 0.0), _AGREE * (report.objective_s or 0.0))


def _excess_s(report: PlacementReport) -> float:
    bound, value = report.formula.lower_bound_s, report.objective_s
    if bound is None or value is None or not is_sampled(report):
        return 0.0
    return max(bound - value, 0.0)


def gap_text(report: PlacementReport) -> str:
    """The gap as a tile shows it: ``15 %``."""
    if report.gap is None:
        return "no bound"
    return "none" if bound_above(report) else f"{format_number(100 * report.gap, 2)} %"


def bound_text(report: PlacementReport) -> str:
    """The bound that the gap is measured to, for the line below it."""
    bound = report.formula.lower_bound_s
    if bound is None:
        return "no bound: it is for batches of 1, by solvers that prove one"
    if bound_above(report):
        return f"the formula's bound, {time_text(bound)}, is above the prediction"
    if _excess_s(report) > 0:
        return f"within its error of the formula's bound, {time_text(bound)}"
    if report.lower_bound_s is not None and report.lower_bound_s > bound * (1 + _AGREE):
        return f"bound by the work that servers must do: {time_text(report.lower_bound_s)}"
    return f"formula's bound at its own waits: {time_text(bound)}"


def formula_line(report: PlacementReport) -> str:
    """The formula's own figures and why they differ; empty where it is all that there is."""
    own, sampled = report.formula, report.sampled
    if not is_sampled(report):
        if not isinstance(report, FullPlacementReport):
            return ""
        mean = time_text(own.objective_s)
        return f"By formula, which the search minimised, the mean is {mean}. {_why(report)}"
    gap = (
        ""
        if own.gap is None
        else f", proved to {format_number(100 * own.gap, 2)} % of the formula's own optimum"
    )
    what = "the optimum" if is_certified(report) else "its proposal"
    text = f"By formula alone {what} takes {time_text(own.objective_s)}{gap}"
    if sampled and report.objective == "mean-jct" and report.origin != FORMULA:
        text += f"; sampled jobs take {or_dash(sampled.formula_value, time_text)} there"
    return f"{text}. {_why(report)}"


def _why(report: PlacementReport) -> str:
    value, formula = mean_of(report), report.predicted.jct_s
    if report.origin != FORMULA or value is None or formula is None or value > formula * (1 + _AGREE):
        return WHY
    if value < formula * (1 - _AGREE):
        return (
            "Sampled jobs take less: in the formula every message and visit waits as if it arrived at random."
        )
    return "Sampled jobs take equally long."


def origin_text(report: PlacementReport) -> str:
    """The origin of the placement; empty if the formula is the objective."""
    if report.objective != "mean-jct" or report.sampled is None:
        return ""  # a search that was cancelled has not tried everything
    preset = f"It is the preset {report.origin}: sampled jobs are faster there than at {{formula}}"
    return ORIGINS.get(report.origin, preset).format(formula=formula_words(report)) + "."


def certificate_words(report: PlacementReport) -> str:
    """The scope of the bounds, in a few sentences."""
    if report.formula.lower_bound_s is None:
        return "No bound is known, so better placements may exist."
    if not is_sampled(report):
        return "The bound holds for every placement by formula; it does not cover the formula's own error."
    if bound_above(report):
        return "Sampled jobs wait less than the formula predicts, so here its bound does not apply to them."
    return (
        "The bound holds for every placement by formula. It bounds the mean by sampled jobs only if the "
        "formula's waits are correct: the mean of the slowest of several random branches is never below the "
        "slowest of their means. The search itself gives no proof."
    )


Other = Literal["local", "spread"]
SAME = 1e-6  # relative, of means: what is less apart is equal
SAME_HITS = 5e-5  # absolute, of hit rates: less cannot be seen


def is_slo(report: PlacementReport) -> bool:
    """Return whether the placement was searched for the fewest missed SLOs."""
    return report.objective == "slo"


def hits_of(report: FullPlacementReport | None) -> float | None:
    """The share of SLOs kept by sampled jobs; ``None`` without a steady state or without SLOs."""
    if report is None or report.response.miss is None or report.response.mean_s is None:
        return None
    return 1.0 - report.response.miss


def hits_text(report: PlacementReport) -> str:
    """The predicted share of SLOs kept with its standard error: ``98.2 % ± 0.12 points, by sampled jobs``."""
    sampled = report.sampled
    if sampled is None or sampled.value is None:
        return "–"
    error = f" ± {format_number(100 * sampled.error, 2)} points" if sampled.error else ""
    return f"{100 * (1 - sampled.value):.4g} %{error}, by sampled jobs"


def value_of(data: PlacementOutcome, report: FullPlacementReport | None) -> float | None:
    """Return the measure to compare: SLO hits where those were the objective, else the mean JCT (s)."""
    if report is None:
        return None
    return hits_of(report) if is_slo(data.nona) else mean_of(report)


def against(data: PlacementOutcome, name: Other) -> str:
    """State nona's distance from one other: ``25 % below local``, ``3.2 points more hits than local``."""
    best, value = value_of(data, data.nona), value_of(data, _other(data, name))
    if value is None:
        return f"{name} overloads {'executors' if data.local is None else 'the link'}"
    if best is None or _same(data, best, value):
        return f"{'as many hits as' if is_slo(data.nona) else 'as fast as'} {name}"
    if is_slo(data.nona):
        word = "more" if best > value else "fewer"
        return f"{format_number(100 * abs(best - value), 2)} points {word} hits than {name}"
    word = "below" if best < value else "above"
    return f"{format_number(100 * abs(1 - best / value))} % {word} {name}"


def comparison_finding(data: PlacementOutcome) -> str:
    """State nona's distance from local and from spread, by one measure.

    ``nona: 25 % below local, spread overloads the link``
    """
    return f"nona: {against(data, 'local')}, {against(data, 'spread')}"


def order_finding(data: PlacementOutcome) -> str:
    """The best placement, without a number: the title of the bars.

    ``nona is faster than local; spread overloads the link``
    """
    words: dict[str, list[str]] = {}
    for name, report in (("local", data.local), ("spread", data.spread)):
        words.setdefault(_order(data, report), []).append(name)
    over = {w: names for w, names in words.items() if w.startswith("overloads")}
    beside = [f"{w} {' and '.join(names)}" for w, names in words.items() if w not in over]
    verb = "keeps" if is_slo(data.nona) else "is"
    clauses = [f"nona {verb} {' and '.join(beside)}"] if beside else []
    clauses += [
        f"{' and '.join(names)} {w if len(names) == 1 else w.replace('overloads', 'overload')}"
        for w, names in over.items()
    ]
    return "; ".join(clauses)


def _order(data: PlacementOutcome, report: FullPlacementReport | None) -> str:
    best, value = value_of(data, data.nona), value_of(data, report)
    slo = is_slo(data.nona)
    if value is None:
        return "overloads executors" if data.local is None else "overloads the link"
    if best is None or _same(data, best, value):
        return "as many SLOs as" if slo else "as fast as"
    if slo:
        return "more SLOs than" if best > value else "fewer SLOs than"
    return "faster than" if best < value else "slower than"


def _same(data: PlacementOutcome, best: float, value: float) -> bool:
    return abs(value - best) <= (SAME_HITS if is_slo(data.nona) else SAME * best)


def _other(data: PlacementOutcome, name: Other) -> FullPlacementReport | None:
    return data.local if name == "local" else data.spread
