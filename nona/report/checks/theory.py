"""Theory against simulation as rows that tables, figures and the documentation hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nona.simulation.known import Agreement, Comparison, Effort, Expected, KnownSystem

AGREES, UNCLEAR, DIFFERS, TROUBLE = "agrees", "unclear", "differs", "no steady state"
WIDE = 0.25  # an interval whose half is a greater share of its mean proves little


def theory_rows(known: KnownSystem) -> list[dict[str, Any]]:
    """What theory says of a system: one row per expectation, times in milliseconds.

    Where theory gives bounds, ``theory ms`` is the lower and ``to ms`` the upper one.
    """
    return [_theory(known, e) for e in known.expected]


def comparison_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """The same with what was simulated: mean, half of the interval, error, verdict.

    A mean that agrees by a very wide interval is called unclear: longer runs would tell.
    ``told apart from`` names the neighbouring theories that the interval rules out.
    """
    return [
        {**_theory(comparison.known, a.expected), **_simulated(a), "verdict": _verdict(comparison, a)}
        for a in comparison.agreements
    ]


def theory_summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How many rows there are and how many agree; errors and the median half interval as fractions.

    ``worst`` is the largest error as a multiple of its own half interval.
    """
    errors = [abs(r["error %"]) / 100 for r in rows]
    return {
        "rows": len(rows),
        "agree": sum(r["verdict"] == AGREES for r in rows),
        "mean_error": sum(errors) / len(errors) if errors else math.nan,
        "largest_error": max(errors, default=math.nan),
        "worst": max((abs(r["error %"]) / r["± %"] for r in rows), default=math.nan),
        "half_width": sorted(r["± %"] for r in rows)[len(rows) // 2] / 100 if rows else math.nan,
    }


def theory_markdown(comparisons: Iterable[Comparison], effort: Effort) -> str:
    """The section of the documentation, in Markdown."""
    rows = [r for c in comparisons for r in comparison_rows(c)]
    summary = theory_summary(rows)
    header = ("system", "jobs", "load", "theory ms", "simulated ms", "error", "verdict", "told apart from")
    cells = [
        (
            r["system"],
            r["jobs"] or "all",
            f"{r['load']:.0%}",
            f"{r['theory ms']:.4g}" + (f"–{r['to ms']:.4g}" if r["to ms"] is not None else ""),
            f"{r['simulated ms']:.4g} ± {r['± ms']:.2g}",
            f"{round(r['error %'], 1) + 0.0:+.1f}%",
            r["verdict"],
            ", ".join(r["told apart from"]) or "–",
        )
        for r in rows
    ]
    lines = [header, ("---",) * len(header), *cells]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join(
        [
            "## Theory against simulation\n",
            _INTRODUCTION.format(replications=effort.replications, level=f"{effort.level:.1%}"),
            f"{summary['agree']} of {summary['rows']} means agree; they are off by "
            f"{summary['mean_error']:.1%} on average and by {summary['largest_error']:.1%} at most.\n",
            table + "\n",
        ]
    )


_INTRODUCTION = """\
Waits and completion times come from a simulator. These are systems whose mean completion time is
known; `nona/simulation/known/` defines them, `nona/simulation/theory/` has the formulas with their
sources. Each mean is that of {replications} independent runs, with Student's t interval at the level {level}
of each row. A row agrees when its interval meets theory (two numbers: bounds). The last
column names neighbouring theories, which a simulator with a likely error would follow, and which
the interval rules out. With hundreds of executors theory is the limit for infinitely many.
"""


def _theory(known: KnownSystem, expected: Expected) -> dict[str, Any]:
    return {
        "system": known.name,
        "jobs": expected.jobs,
        "load": known.load,
        "theory ms": 1e3 * expected.low_s,
        "to ms": None if expected.exact else 1e3 * expected.high_s,
        "by": known.theory,
    }


def _simulated(agreement: Agreement) -> dict[str, Any]:
    return {
        "simulated ms": 1e3 * agreement.simulated.mean,
        "± ms": 1e3 * agreement.simulated.half_width,
        "error %": 100 * agreement.error,
        "± %": 100 * agreement.half_width,
        "told apart from": list(agreement.told_apart()),
    }


def _verdict(comparison: Comparison, agreement: Agreement) -> str:
    if comparison.trouble:
        return TROUBLE
    if not agreement.agrees:
        return DIFFERS
    return AGREES if agreement.half_width <= WIDE else UNCLEAR
