"""A simulated placement compared with local and spread, the formula's optimum, and the other candidates."""

from __future__ import annotations

from typing import Literal

from nona.core.document import UNKNOWN, Estimate
from nona.core.statistics import level_with, not_apart
from nona.core.tables import kept_text, mean_text, time_text
from nona.core.units import format_number, format_time
from nona.queries.placement.results import PlacementOutcome, PlacementReport

Other = Literal["local", "spread"]
SAME = 0.003  # relative, of means: what is less apart is equal
SAME_HITS = 5e-4  # of the jobs, of hit rates
ORIGINS = {
    "formula": "The placement is the formula's optimum",
    "local": "All local: everything on one server",
    "expert": "The placement is the expert preset: what is fastest on an idle cluster",
    "move": "The placement was found by changing one sub-graph after the other",
    "mixture": "The placement mixes the two best candidates",
    "shares": "The placement was found by changing how often executors of each class are drawn",
}


def is_slo(report: PlacementReport) -> bool:
    """Return whether the placement was chosen for the fewest missed SLOs."""
    return report.objective == "slo"


def mean_of(report: PlacementReport | None) -> float | None:
    """Return the simulated mean JCT in seconds; ``None`` without a steady state."""
    return None if report is None or not report.simulated.steady else report.simulated.mean


def hits_of(report: PlacementReport | None) -> float | None:
    """Return the simulated share of SLOs kept; ``None`` without a steady state or without SLOs."""
    if report is None or not report.simulated.steady or report.simulated.misses is None:
        return None
    return 1.0 - report.simulated.misses


def estimate_of(report: PlacementReport) -> Estimate:
    """Return the simulated mean with its interval; unknown without a steady state."""
    mean_s = mean_of(report)
    return UNKNOWN if mean_s is None else Estimate(mean=mean_s, ci95=report.simulated.ci95)


def figure_text(report: PlacementReport) -> str:
    """Return the figures a placement was chosen for: its mean, and the SLOs kept if there are any."""
    kept = f", {hits_text(report)} of the SLOs kept" if hits_of(report) is not None else ""
    return f"mean JCT {mean_text(estimate_of(report), format_time)}{kept}"


def interval_text(report: PlacementReport) -> str:
    """Return the interval of the simulated mean: ``12.9 ms to 16.1 ms (95 %), simulated``."""
    ends = report.simulated.ci95
    if ends is None or ends[1] - ends[0] <= 1e-6 * ends[1]:
        return "simulated"
    return f"{format_time(ends[0])} to {format_time(ends[1])} (95 %), simulated"


def hits_estimate(report: PlacementReport | None) -> Estimate:
    """Return the simulated share of SLOs kept, with its interval; unknown without a steady state or SLOs."""
    hits = hits_of(report)
    if report is None or hits is None:
        return UNKNOWN
    late = report.simulated.misses_ci95
    return Estimate(mean=hits, ci95=None if late is None else (1 - late[1], 1 - late[0]))


def hits_text(report: PlacementReport) -> str:
    """Return the simulated share of SLOs kept: ``98.2 %``."""
    return kept_text(hits_of(report))


def hits_interval_text(report: PlacementReport) -> str:
    """Return the interval of the simulated share of SLOs kept: ``97.5 % to 98.7 % (95 %), simulated``."""
    ends = hits_estimate(report).ci95
    return "simulated" if ends is None else f"{kept_text(ends[0])} to {kept_text(ends[1])} (95 %), simulated"


def hits_within_text(report: PlacementReport) -> str:
    """Return the SLO hits with their interval: ``98.2 % (97.5 % to 98.7 %)``."""
    hits = hits_estimate(report)
    between = "" if hits.ci95 is None else f" ({kept_text(hits.ci95[0])} to {kept_text(hits.ci95[1])})"
    return f"{kept_text(hits.mean)}{between}"


def lead_text(report: PlacementReport) -> str:
    """How many candidates were compared, and how far the next one was behind."""
    simulated = report.simulated
    if report.objective == "formula":
        return "The formula chose it; no other candidate was simulated."
    if simulated.candidates < 2:
        return "No other candidate has a steady state."
    found = f"No better candidate was found among {simulated.candidates:,}"
    lead, error = simulated.lead, simulated.lead_error
    if lead is None or error is None:
        return f"{found}."
    unit = "points" if is_slo(report) else "%"
    if lead <= 2 * error:
        return f"{found}; the next candidate is equally fast."
    behind = f"{format_number(100 * lead, 2)} ± {format_number(200 * error, 2)} {unit}"
    return f"{found}; in the runs of the search the next one is {behind} behind."


NO_WAITS = "The formula has no waits for batches, shared GPUs and closed loops; only loads are predicted."


def origin_text(report: PlacementReport) -> str:
    """Where the placement comes from, in a sentence."""
    return f"{ORIGINS.get(report.origin, f'The placement is the preset {report.origin}')}."


def formula_text(report: PlacementReport) -> str:
    """Return the formula's value of this placement beside the simulated one, and its optimum with the gap."""
    predicted, mean = report.predicted.jct_s, mean_of(report)
    if predicted is None:
        return NO_WAITS
    text = f"By formula its mean is {format_time(predicted)}"
    if mean:
        text += f", {_error_text(predicted / mean - 1)}"
    return f"{text}. {optimum_text(report)}".strip()


def _error_text(error: float) -> str:
    share = f"{format_number(100 * abs(error), 2)} %"
    if abs(error) < SAME:
        return "as simulated"
    return f"{share} {'above' if error > 0 else 'below'} the simulated one"


def optimum_text(report: PlacementReport) -> str:
    """Return the formula's optimum and its gap; its bound only where it lies below what was simulated."""
    own = report.formula
    if own is None:
        return ""
    gap = (
        "" if own.gap is None else f", proved to {format_number(100 * own.gap, 2)} % of the formula's optimum"
    )
    text = f"The formula's own optimum takes {time_text(own.objective_s)} by formula{gap}."
    ends = report.simulated.ci95
    if own.lower_bound_s is not None and ends is not None and own.lower_bound_s > ends[1] * (1 + SAME):
        text += " Its bound lies above what was simulated, so it bounds no simulated time here."
    return text


def value_of(data: PlacementOutcome, report: PlacementReport | None) -> float | None:
    """Return the measure to compare: SLO hits where those were the objective, else the mean JCT (s)."""
    return hits_of(report) if is_slo(data.nona) else mean_of(report)


def distance_text(data: PlacementOutcome, name: Other) -> str:
    """State nona's distance from one other: ``25 % below local``, ``3.2 points more hits than local``."""
    best, value = value_of(data, data.nona), value_of(data, _other(data, name))
    if value is None:
        return f"{name} overloads {'executors' if data.local is None else 'the link'}"
    if best is None or _same(data, best, value):
        return f"{'as many hits as' if is_slo(data.nona) else 'as fast as'} {name}"
    if is_level(data, name):
        return f"not clearly different from {name}"
    if is_slo(data.nona):
        word = "more" if best > value else "fewer"
        return f"{format_number(100 * abs(best - value), 2)} points {word} hits than {name}"
    word = "below" if best < value else "above"
    return f"{format_number(100 * abs(1 - best / value))} % {word} {name}"


def comparison_finding(data: PlacementOutcome) -> str:
    """State nona's distance from local and from spread, by one measure.

    ``nona: 25 % below local, spread overloads the link``
    """
    return f"nona: {distance_text(data, 'local')}, {distance_text(data, 'spread')}"


def order_finding(data: PlacementOutcome) -> str:
    """Return the best placement, without a number: the title of the bars.

    ``nona is faster than local; spread overloads the link``
    """
    words: dict[str, list[str]] = {}
    names: tuple[Other, ...] = ("local", "spread")
    for name in names:
        words.setdefault(_order(data, name), []).append(name)
    over = {w: names for w, names in words.items() if w.startswith("overloads")}
    beside = [f"{w} {' and '.join(names)}" for w, names in words.items() if w not in over]
    verb = "keeps" if is_slo(data.nona) else "is"
    clauses = [f"nona {verb} {' and '.join(beside)}"] if beside else []
    clauses += [
        f"{' and '.join(names)} {w if len(names) == 1 else w.replace('overloads', 'overload')}"
        for w, names in over.items()
    ]
    return "; ".join(clauses)


def _order(data: PlacementOutcome, name: Other) -> str:
    best, value = value_of(data, data.nona), value_of(data, _other(data, name))
    slo = is_slo(data.nona)
    if value is None:
        return "overloads executors" if data.local is None else "overloads the link"
    if best is None or _same(data, best, value):
        return "as many SLOs as" if slo else "as fast as"
    clearly = "not clearly " if is_level(data, name) else ""
    if slo:
        return f"{clearly}more SLOs than" if best > value else f"{clearly}fewer SLOs than"
    return f"{clearly}faster than" if best < value else f"{clearly}slower than"


def is_level(data: PlacementOutcome, name: Other) -> bool:
    """Whether the difference from one other is not clear, by the measure that was the objective.

    Run i of both had the same jobs, so that differences are paired, as those of schedulers in a simulation;
    results without their runs, as those of a cancelled search, are judged by their intervals.
    """
    own, other = data.nona, _other(data, name)
    if other is None or value_of(data, own) is None or value_of(data, other) is None:
        return False
    slo, pair = is_slo(own), {"nona": own, name: other}
    runs = {n: r.simulated.run_hits if slo else r.simulated.run_means for n, r in pair.items()}
    if own.simulated.jobs == other.simulated.jobs and all(runs.values()):
        return bool(level_with("nona", runs))
    return bool(not_apart("nona", {n: hits_estimate(r) if slo else estimate_of(r) for n, r in pair.items()}))


def _same(data: PlacementOutcome, best: float, value: float) -> bool:
    return abs(value - best) <= (SAME_HITS if is_slo(data.nona) else SAME * best)


def _other(data: PlacementOutcome, name: Other) -> PlacementReport | None:
    return data.local if name == "local" else data.spread
