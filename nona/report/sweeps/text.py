"""The findings of a sweep as text and rows, computed from its report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nona.report.means import mean_text
from nona.report.sweeps.stability import stability_finding, stability_text
from nona.report.sweeps.values import value_text
from nona.report.text import counted, listed, or_dash, table, verb
from nona.results.estimate import Estimate
from nona.results.sweep import SweepReport, SweptPoint, Unit
from nona.units import format_time

SHOWN = 4  # names in one list


def ratio_text(ratio: Estimate) -> str:
    """A ratio with the ends of its interval.

    >>> ratio_text(Estimate(mean=1.41, ci95=(1.38, 1.442)))
    '1.41 × (1.38–1.44)'
    """
    if ratio.mean is None:
        return "–"
    ends = "" if ratio.ci95 is None else f" ({ratio.ci95[0]:.3g}–{ratio.ci95[1]:.3g})"
    return f"{ratio.mean:.3g} ×{ends}"


def at_value(report: SweepReport, value: float) -> dict[str, SweptPoint]:
    """Scheduler → its point at ``value``, where it was simulated there."""
    found = {}
    for name, curve in report.schedulers.items():
        point = next((p for p in curve.points if p.value == value), None)
        if point is not None:
            found[name] = point
    return found


def place_text(label: str, unit: Unit, value: float) -> str:
    """A value of the swept number as the beginning of a sentence.

    >>> place_text("Link background", "fraction", 0.6), place_text("Servers", "count", 12.0)
    ('At 60 % link background', 'With 12 servers')
    >>> place_text("Servers", "count", 1.0)
    'With 1 server'
    """
    shown = value_text(value, unit)
    if unit == "count":
        noun = label.replace("Servers", "Server") if value == 1 else label
        return f"With {shown} {noun[0].lower()}{noun[1:]}"
    if "." in label:  # a key that has no name for people
        return f"At {label} = {shown}"
    return f"At {shown} {label[0].lower()}{label[1:]}"


def headline(report: SweepReport, value: float) -> str:
    """The schedulers faster and slower at ``value``, by how much, and those without a steady state."""
    found, base = at_value(report, value), report.reference
    where = place_text(report.label, report.unit, value)
    if base not in found:
        return f"{where} {base} is not simulated yet."
    unstable = [n for n, p in found.items() if not p.steady]
    if base in unstable:
        holding = [n for n in found if n not in unstable]
        ending = f"; {listed(holding)} {verb(holding, 'is', 'are')} stable" if holding else ""
        ending = ", nor has any other scheduler" if not holding and len(found) > 1 else ending
        return f"{where} {base} has no steady state{ending}."
    said = [_faster(found, base), _slower(found, base), _alike(found, base)]
    alone = f"{base} takes {or_dash(found[base].jct_s.mean, format_time)} on average"
    sentence = "; ".join(s for s in said if s) or alone
    ends = f" {listed(unstable)} {verb(unstable, 'has', 'have')} no steady state there." if unstable else ""
    return f"{where} {sentence} (simulated).{ends}"


def _compared(
    found: Mapping[str, SweptPoint], base: str, wanted: Callable[[float, float], bool]
) -> dict[str, float]:
    """Name → ratio of those with an interval of the ratio that satisfies ``wanted(low, high)``."""
    ratios = {}
    for name, p in found.items():
        if name != base and p.ratio.mean is not None:
            low, high = p.ratio.ci95 or (p.ratio.mean, p.ratio.mean)
            if wanted(low, high):
                ratios[name] = p.ratio.mean
    return ratios


def _faster(found: Mapping[str, SweptPoint], base: str) -> str:
    ratios = _compared(found, base, lambda low, high: low > 1)
    names = sorted(ratios, key=lambda n: ratios[n])
    parts = [f"{ratios[n]:.3g} × {'as fast as ' if i == 0 else ''}{n}" for i, n in _few(names)]
    return f"{base} is {listed(parts)}{_more(names)}" if parts else ""


def _slower(found: Mapping[str, SweptPoint], base: str) -> str:
    ratios = _compared(found, base, lambda low, high: high < 1)
    names = sorted(ratios, key=lambda n: -ratios[n])
    parts = [
        f"{n} {'is ' if i == 0 else ''}{1 / ratios[n]:.3g} ×" + (f" as fast as {base}" if i == 0 else "")
        for i, n in _few(names)
    ]
    return f"{listed(parts)}{_more(names)}" if parts else ""


def _alike(found: Mapping[str, SweptPoint], base: str) -> str:
    names = list(_compared(found, base, lambda low, high: low <= 1 <= high))
    return f"{listed(names)} {verb(names, 'does', 'do')} not differ clearly from it" if names else ""


def _few(names: Sequence[str]) -> list[tuple[int, str]]:
    return list(enumerate(names[:SHOWN]))


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""


def value_rows(report: SweepReport, value: float) -> list[dict[str, str]]:
    """One row for each scheduler at one value, as text."""
    base = report.reference
    return [
        {
            "scheduler": name,
            "mean JCT": mean_text(p.jct_s, format_time) if p.steady else "–",
            f"times {base}": "1 ×" if name == base and p.ratio.mean else ratio_text(p.ratio),
            "SLO hits": mean_text(p.slo_hit_rate, "{:.1%}".format),
            "state": p.state,
            "stability": stability_text(report.schedulers[name], report.unit),
            "formula": _formula(p),
            "formula's error": or_dash(p.error, "{:+.1%}".format),
            "link": or_dash(p.utilization.network, "{:.0%}".format),
            "executors": or_dash(p.utilization.compute, "{:.0%}".format),
        }
        for name, p in at_value(report, value).items()
    ]


def _formula(point: SweptPoint) -> str:
    if not point.has_formula:
        return "none"
    return "unstable" if point.predicted_s is None else format_time(point.predicted_s)


def sweep_text(report: SweepReport) -> str:
    """What ``nona sweep`` prints."""
    lines = [
        f"{report.label} ({report.key}): {counted(len(report.values), 'value')}, "
        f"{counted(report.replications, 'replication')} of {report.jobs:,} jobs "
        f"({report.engine}, {report.seconds:.1f} s)",
        stability_finding(report),
    ]
    columns = ("scheduler", "mean JCT", f"times {report.reference}", "SLO hits", "formula", "state")
    for value in report.values:
        lines += ["", headline(report, value), table(value_rows(report, value), columns)]
    return "\n".join(lines)
