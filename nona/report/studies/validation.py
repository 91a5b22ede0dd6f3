"""Accuracy of the models: theory against simulation, published latencies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from nona.cost.validation import SliceRatio, ValidationRow, ValidationSummary
from nona.results.document import number
from nona.results.program import ComparedRow, TheoryRow, TheorySummary, Verdict
from nona.simulation.agreement import Agreement, Comparison, Effort, Expected, KnownSystem
from nona.tables.table import COUNT, FACTOR, SHARE, TIME, Column, Kind, Table
from nona.units import format_number

AGREES: Verdict = "agrees"
UNCLEAR: Verdict = "unclear"
DIFFERS: Verdict = "differs"
TROUBLE: Verdict = "no steady state"
RATIO = Kind("{:.2f}".format)
WIDE = 0.25  # an interval whose half is a greater share of its mean proves little


def theory_rows(system: KnownSystem) -> list[TheoryRow]:
    """Compare a system with theory: one row per expectation."""
    return [_theory(system, e) for e in system.expected]


def comparison_rows(comparison: Comparison) -> list[ComparedRow]:
    """Tabulate theory with the simulation: mean, half of the interval, error, verdict.

    A mean that agrees by a very wide interval is called unclear: longer runs would tell.
    """
    return [_compared(comparison, a) for a in comparison.agreements]


def theory_summary(rows: Sequence[ComparedRow]) -> TheorySummary:
    """The rows counted, and their errors."""
    errors = [abs(r.error_percent) / 100 for r in rows]
    halves = sorted(r.half_width_percent for r in rows)
    return TheorySummary(
        rows=len(rows),
        agree=sum(r.verdict == AGREES for r in rows),
        mean_error=sum(errors) / len(errors) if errors else math.nan,
        largest_error=max(errors, default=math.nan),
        worst=max((abs(r.error_percent) / r.half_width_percent for r in rows), default=math.nan),
        half_width=halves[len(rows) // 2] / 100 if rows else math.nan,
    )


def theory_markdown(comparisons: Iterable[Comparison], effort: Effort) -> str:
    """The section of the documentation, in Markdown."""
    rows = [r for c in comparisons for r in comparison_rows(c)]
    summary = theory_summary(rows)
    header = ("system", "jobs", "load", "theory ms", "simulated ms", "error", "verdict", "rules out")
    cells = [
        (
            r.system,
            r.jobs or "all",
            f"{r.load:.0%}",
            f"{r.theory_ms:.4g}" + (f"–{r.to_ms:.4g}" if r.to_ms is not None else ""),
            f"{r.simulated_ms:.4g} ± {format_number(r.half_width_ms, 2)}",
            f"{round(r.error_percent, 1) + 0.0:+.1f}%",
            r.verdict,
            ", ".join(r.told_apart_from) or "–",
        )
        for r in rows
    ]
    lines = [header, ("---",) * len(header), *cells]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join(
        [
            "## Theory against simulation\n",
            _INTRODUCTION.format(replications=effort.replications, level=f"{effort.level:.1%}"),
            f"{summary.agree} of {summary.rows} means agree; they are off by "
            f"{summary.mean_error:.1%} on average and by {summary.largest_error:.1%} at most.\n",
            table + "\n",
        ]
    )


_INTRODUCTION = """\
Waits and completion times come from a simulator. These are systems whose mean completion time is known;
`nona/simulation/known_systems.py` defines them, `nona/simulation/theory.py` has the formulas with their
sources. Each mean is that of {replications} independent runs, with Student's t interval at the level {level}
of each row. A row agrees when its interval meets theory (two numbers: bounds). The last
column names neighbouring theories, which a simulator with a likely error would follow, and which
the interval rules out. With hundreds of executors theory is the limit for infinitely many.
"""


def _theory(system: KnownSystem, expected: Expected) -> TheoryRow:
    return TheoryRow(
        system=system.name,
        jobs=expected.jobs,
        load=system.load,
        theory_ms=1e3 * expected.low_s,
        to_ms=None if expected.exact else 1e3 * expected.high_s,
        by=system.theory,
    )


def _compared(comparison: Comparison, agreement: Agreement) -> ComparedRow:
    return ComparedRow(
        **dict(_theory(comparison.known, agreement.expected)),
        simulated_ms=1e3 * agreement.simulated.mean,
        half_width_ms=1e3 * agreement.simulated.half_width,
        error_percent=100 * agreement.error,
        half_width_percent=100 * agreement.half_width,
        told_apart_from=tuple(agreement.told_apart()),
        verdict=_verdict(comparison, agreement),
    )


def _verdict(comparison: Comparison, agreement: Agreement) -> Verdict:
    if comparison.trouble:
        return TROUBLE
    if not agreement.agrees:
        return DIFFERS
    return AGREES if agreement.half_width <= WIDE else UNCLEAR


LATENCIES = Table[ValidationRow](
    "",
    (
        Column("model", lambda r: r.model),
        Column("device", lambda r: r.executor),
        Column("precision", lambda r: r.precision),
        Column("stack", lambda r: r.stack),
        Column("published", lambda r: r.measured_s, TIME),
        Column("predicted", lambda r: r.predicted_s, TIME),
        Column("predicted / published", lambda r: r.ratio, RATIO),
        Column("use", lambda r: r.use),
        Column("group", lambda r: r.group),
        Column("note", lambda r: r.note),
        Column("source", lambda r: r.source),
    ),
)
GROUPS = Table[ValidationSummary](
    "",
    (
        Column("group", lambda s: s.group),
        Column("latencies", lambda s: s.rows, COUNT),
        Column("MAPE", lambda s: s.mape, SHARE),
        Column("bias", lambda s: s.bias, RATIO),
        Column("Spearman", lambda s: number(s.spearman), Kind("{:.3f}".format)),
        Column("log σ", lambda s: number(s.log_sigma), RATIO),
    ),
)
SLICES = Table[SliceRatio](
    "",
    (
        Column("model", lambda s: s.model),
        Column("slice", lambda s: s.executor),
        Column("published", lambda s: s.measured, FACTOR),
        Column("predicted", lambda s: s.predicted, FACTOR),
    ),
)
