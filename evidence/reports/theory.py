"""Theory against simulation: rows, table, figure, sentence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import plotly.graph_objects as go

from evidence.agreement import Agreement, Comparison, Expected, KnownSystem
from evidence.results import ComparedRow, TheoryRow, TheorySummary, Verdict
from nona.core.figures import BAD, PALETTE, add_points, figure, rule, text
from nona.core.registry import ChartStyle
from nona.core.tables import WHOLE_SHARE, Column, NumberKind, Table, share_text
from nona.core.text import count_text
from nona.core.units import format_number

AGREES: Verdict = "agrees"
UNCLEAR: Verdict = "unclear"
DIFFERS: Verdict = "differs"
TROUBLE: Verdict = "no steady state"
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
    """Return the rows counted, and their errors."""
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
    agree = f"{count[AGREES]} of {count_text(len(rows), 'mean')} agree with theory"
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


def _simulated(of: Callable[[ComparedRow], float | str]) -> Callable[[TheoryRow], float | str | None]:
    return lambda r: of(r) if isinstance(r, ComparedRow) else None


MS, PERCENT = NumberKind("{:.3f}".format), NumberKind("{:+.2f} %".format)
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


def theory_figure(rows: Sequence[ComparedRow]) -> go.Figure:
    """Error of the simulated mean with its interval in per cent, one line per system and job class.

    Where theory gives bounds, between them there is no error. Means that differ are red.
    """
    labels = list(dict.fromkeys(_label(r) for r in rows))
    loads = sorted({r.load for r in rows})
    chart = figure(110 + 26 * len(labels))
    for number, load in enumerate(loads):
        own = [r for r in rows if r.load == load]
        shift = (number - (len(loads) - 1) / 2) * 0.22
        add_points(
            chart,
            f"load {load:.0%}",
            [r.error_percent for r in own],
            [labels.index(_label(r)) + shift for r in own],
            ChartStyle(PALETTE[number], "solid", "circle"),
            "%{customdata}",
            size=7,
            across=[
                (r.error_percent - r.half_width_percent, r.error_percent + r.half_width_percent) for r in own
            ],
            bar=1.5,
            customdata=[_theory_hover(r) for r in own],
        )
        seen = [PALETTE[number] if r.verdict in (AGREES, UNCLEAR) else BAD for r in own]
        chart.data[-1].marker.update(color=seen, line={"color": seen})
    rule(chart, 0.0, "", "x")
    chart.update_xaxes(title="simulated mean over theory − 1, %", ticksuffix=" %")
    chart.update_yaxes(
        tickvals=list(range(len(labels))),
        ticktext=[text(label) for label in labels],
        range=[len(labels) - 0.4, -0.6],
        showgrid=False,
    )
    return chart


def _label(row: ComparedRow) -> str:
    return f"{row.system}: {row.jobs}" if row.jobs else row.system


def _theory_hover(row: ComparedRow) -> str:
    upper = "" if row.to_ms is None else f" to {format_number(row.to_ms)}"
    return (
        f"{text(_label(row))}, load {row.load:.0%}<br>theory {format_number(row.theory_ms)}{upper} ms<br>"
        f"simulated {format_number(row.simulated_ms)} ± {format_number(row.half_width_ms, 2)} ms: "
        f"{text(row.verdict)}"
    )
