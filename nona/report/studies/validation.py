"""Accuracy of the models: theory against simulation, published latencies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from nona.cost.validation import SliceRatio, ValidationRow, ValidationSummary
from nona.report.text import counted
from nona.results.document import number
from nona.results.program import ComparedRow, SelfCheck, TheoryRow, TheorySummary, Verdict
from nona.simulation.agreement import Agreement, Comparison, Expected, KnownSystem
from nona.tables import COUNT, FACTOR, SHARE, TIME, WHOLE_SHARE, Column, Kind, Table, share_text

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


def theory_sentence(rows: Sequence[ComparedRow]) -> str:
    """Say how many means agree with theory, and what is known of the others."""
    count = Counter(r.verdict for r in rows)
    others = {
        UNCLEAR: f"within intervals wider than ± {share_text(WIDE)} (longer runs narrow them)",
        TROUBLE: "without a steady state",
    }
    parts = [f"{count[verdict]} {what}" for verdict, what in others.items() if count[verdict]]
    agree = f"{count[AGREES]} of {counted(len(rows), 'mean')} agree with theory"
    differ = f"{count[DIFFERS]} differ" if count[DIFFERS] else "none differs"
    return f"{', '.join([agree, *parts, differ])}."


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


def _simulated(of: Callable[[ComparedRow], float | str]) -> Callable[[TheoryRow], float | str | None]:
    return lambda r: of(r) if isinstance(r, ComparedRow) else None


MS, PERCENT = Kind("{:.3f}".format), Kind("{:+.2f} %".format)
CHECKS = Table[SelfCheck](
    "",
    (
        Column("check", lambda c: c.name),
        Column("verdict", lambda c: "not tried" if c.ok is None else "holds" if c.ok else "FAILS"),
        Column("found", lambda c: c.found),
    ),
)
THEORY = Table[TheoryRow](
    "",
    (
        Column("system", lambda r: r.system),
        Column("jobs", lambda r: r.jobs or "all"),
        Column("load", lambda r: r.load, WHOLE_SHARE, help="Of steps with up to B members: λ·s(B)/B."),
        Column("theory, ms", lambda r: _theory_text(r), help="Two numbers: bounds of the mean."),
        Column("simulated, ms", _simulated(lambda r: r.simulated_ms), MS, optional=True),
        Column(
            "± ms",
            _simulated(lambda r: r.half_width_ms),
            MS,
            optional=True,
            help="Half of the confidence interval.",
        ),
        Column(
            "error",
            _simulated(lambda r: r.error_percent),
            PERCENT,
            optional=True,
            help="Simulated over theory, less 1.",
        ),
        Column("verdict", _simulated(lambda r: r.verdict), optional=True),
        Column(
            "rules out",
            _simulated(lambda r: ", ".join(r.told_apart_from)),
            optional=True,
            help="Theories, e.g. of a simulator with a likely error, that the interval excludes.",
        ),
        Column("theory by", lambda r: r.by),
    ),
)


def _theory_text(row: TheoryRow) -> str:
    return f"{row.theory_ms:.3f}" + ("" if row.to_ms is None else f" – {row.to_ms:.3f}")
