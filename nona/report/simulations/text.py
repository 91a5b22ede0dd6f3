"""The report on a simulation as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from nona.report.means import mean_text
from nona.report.simulations.report import python_decisions
from nona.report.simulations.tables.cells import Style, text_rows
from nona.report.simulations.tables.columns import columns, headings
from nona.report.simulations.tables.rows import ResultRow, result_rows
from nona.report.text import or_dash, share_text, table
from nona.report.times_off import off_lines
from nona.results.simulation.differences import Difference
from nona.results.simulation.report import (
    ComparedReport,
    Percentile,
    PrecisionReport,
    Schedulers,
    SimulationReport,
    WarmupReport,
)
from nona.units import format_time

RESULTS = columns(
    "scheduler",
    ("jct", "JCT"),
    "jct_p50",
    "jct_p95",
    "jct_p99",
    "slo_hit_rate",
    ("utilization_compute", "compute"),
    "utilization_network",
    "state",
)
PARTS = columns(
    "scheduler",
    "model",
    "jct_mean",
    "compute",
    "transfer",
    ("link_wait", "link wait"),
    ("server_wait", "server wait"),
    ("own_wait", "own tasks"),
)
STYLE = Style(partial(share_text, digits=2), share_text, "{:,}".format)


def compared_text(report: ComparedReport) -> str:
    """What ``nona simulate`` prints."""
    more = [*off_lines(report.off), *report.advice]
    text = "\n".join([simulation_text(report), *([""] if more else []), *more])
    if not report.baseline:
        return text
    return f"{text}\n\n{difference_text(report.baseline, report.differences)}"


def simulation_text(report: SimulationReport) -> str:
    """The report without differences."""
    passed = all(report.checks.values())
    checks = "all passed" if passed else "FAILED: " + "; ".join(report.failed_checks)
    lines = [
        table(text_rows(result_rows(report.schedulers), RESULTS, STYLE), headings(RESULTS)),
        f"{report.engine}, {report.seconds:.1f} s; intervals at 95 %; checks: {checks}",
    ]
    lines += [f"{n}: {s.state_reason}" for n, s in report.schedulers.items() if s.state_reason]
    lines += withheld_lines(report.schedulers)
    lines += decision_lines(report)
    lines += ["", parts_text(report.schedulers)]
    lines += [*warmup_lines(report.warmup), *precision_lines(report.precision)]
    return "\n".join(lines)


def percentile_text(percentile: Percentile) -> str:
    """A percentile with its interval, without one, or a dash where it is withheld.

    >>> percentile_text(Percentile(value_s=0.25, ci95=(0.2, 0.3), withheld=None, interval_withheld=None))
    '250 ms ± 50 ms'
    """
    return mean_text(percentile.as_mean, format_time)


def parts_text(schedulers: Schedulers) -> str:
    """The parts of the mean JCT of each scheduler and model as a table; the parts add up to the mean."""
    rows: list[ResultRow] = []
    for name, s in schedulers.items():
        own = result_rows({name: s}, models=len(s.models) > 1)
        rows += [own[0], *(replace(r, scheduler="") for r in own[1:])]
    return table(text_rows(rows, PARTS, STYLE), headings(PARTS)) if rows else ""


def withheld_lines(schedulers: Schedulers) -> list[str]:
    """One line for each reason why percentiles or their intervals are withheld, but for overload."""
    reasons: dict[str, None] = {}
    for s in schedulers.values():
        if not s.overloaded:
            for p in s.jct_s.percentiles.values():
                reason = p.withheld or p.interval_withheld
                if reason:
                    reasons[reason] = None
    return [f"withheld: {reason}" for reason in reasons]


def decision_lines(report: SimulationReport) -> Iterator[str]:
    """The schedulers that slow the compiled engine down; nothing if there are none."""
    names = python_decisions(report)
    if names:
        yield f"decisions: {', '.join(names)} could not be compiled and ran in plain Python, which is slower"


def warmup_lines(warmup: WarmupReport | None) -> Iterator[str]:
    """The warm-up, if pilot runs determined it."""
    if not warmup or warmup.rule != "mser":
        return
    cuts = ", ".join(f"{n} {c.jobs:,}" for n, c in warmup.schedulers.items() if not c.too_short)
    yield f"warm-up: {warmup.jobs:,} jobs, by MSER-5 on pilot runs" + (f" ({cuts})" if cuts else "")
    if warmup.too_short:
        yield f"warm-up: the pilot runs of {', '.join(warmup.too_short)} were too short; use more jobs"


def precision_lines(precision: PrecisionReport | None) -> Iterator[str]:
    """Whether the precision was reached, if one was requested."""
    if not precision:
        return
    done = f"after {precision.replications} replications"
    if precision.reached:
        yield f"precision: every mean has a relative half-width of {precision.target:.3g} or less {done}"
    else:
        found = precision.relative_half_width
        missed = ", ".join(f"{n} (± {or_dash(found[n], _tenths)})" for n in precision.not_reached)
        yield f"precision: {precision.target:.3g} NOT reached {done} by {missed}; use more replications"


def _tenths(share: float) -> str:
    return share_text(share, 1)


def difference_text(baseline: str, differences: Mapping[str, Difference]) -> str:
    """Paired differences from the baseline as a table.

    ``saves``: how many times as many replications unpaired runs would need for the same interval.
    """
    rows = [difference_row(name, d) for name, d in differences.items()]
    title = f"minus {baseline}, on the same jobs"
    if not rows:
        return f"{title}: no other scheduler"
    return f"{title}\n" + table(rows, tuple(rows[0]))


def difference_row(name: str, difference: Difference) -> dict[str, str]:
    """One row of the table of differences, as text."""
    hits = difference.slo_hit_rate
    return {
        "scheduler": name,
        "JCT difference": mean_text(difference.jct_s, format_time),
        "change": or_dash(difference.relative, partial(share_text, digits=1, sign="+")),
        "verdict": difference.verdict,
        "pairing saves": or_dash(difference.variance_reduction, "{:.3g} ×".format),
        "correlation": or_dash(difference.correlation, "{:.3f}".format),
        "SLO hits": mean_text(hits, partial(share_text, digits=2)) if hits else "–",
    }
