"""The solved placement beside local and spread: by sampled jobs, in mean JCTs or in SLO hits.

The response (sampled jobs among random waits) is what has been compared with simulations, so that it is what
stands in headlines, bars and sentences, whatever the objective of the search was. The formula's figures stand
beside it as such.
"""

from __future__ import annotations

from typing import Literal

from nona.report.placements.certificate_text import mean_of
from nona.results.placement.outcome import PlacementOutcome
from nona.results.placement.report import FullPlacementReport, PlacementReport

Other = Literal["local", "spread"]
SAME = 1e-6  # relative, of means: what is less apart is equal
SAME_HITS = 5e-5  # absolute, of hit rates: less cannot be seen


def is_slo(report: PlacementReport) -> bool:
    """Whether the placement was searched for the fewest missed SLOs."""
    return report.objective == "slo"


def hits_of(report: FullPlacementReport | None) -> float | None:
    """The share of SLOs kept by sampled jobs; ``None`` without a steady state or without SLOs."""
    if report is None or report.response.miss is None or report.response.mean_s is None:
        return None
    return 1.0 - report.response.miss


def hits_text(report: PlacementReport) -> str:
    """The predicted share of SLOs kept with its standard error: ``98.2 % ± 0.12 points, by sampled jobs``."""
    found = report.sampled
    if found is None or found.value is None:
        return "–"
    error = f" ± {100 * found.error:.2g} points" if found.error else ""
    return f"{100 * (1 - found.value):.4g} %{error}, by sampled jobs"


def value_of(data: PlacementOutcome, report: FullPlacementReport | None) -> float | None:
    """What placements are compared by: SLO hits where those were the objective, else mean JCTs."""
    if report is None:
        return None
    return hits_of(report) if is_slo(data.nona) else mean_of(report)


def against(data: PlacementOutcome, name: Other) -> str:
    """How far nona is from one of the others: ``25 % below local``, ``3.2 points more hits than local``."""
    best, value = value_of(data, data.nona), value_of(data, _other(data, name))
    if value is None:
        return f"{name} overloads {'executors' if data.local is None else 'the link'}"
    if best is None or _same(data, best, value):
        return f"{'as many hits as' if is_slo(data.nona) else 'as fast as'} {name}"
    if is_slo(data.nona):
        word = "more" if best > value else "fewer"
        return f"{100 * abs(best - value):.2g} points {word} hits than {name}"
    word = "below" if best < value else "above"
    return f"{100 * abs(1 - best / value):.3g} % {word} {name}"


def comparison_finding(data: PlacementOutcome) -> str:
    """How far nona is from local and from spread, all by the same measure.

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
    told = [f"nona {verb} {' and '.join(beside)}"] if beside else []
    told += [
        f"{' and '.join(names)} {w if len(names) == 1 else w.replace('overloads', 'overload')}"
        for w, names in over.items()
    ]
    return "; ".join(told)


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
