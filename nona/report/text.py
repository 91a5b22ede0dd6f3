"""Numbers, counts, shares, times and tables as text; values that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nona.report.times import given_text
from nona.results.models import FullContraction, Inspection
from nona.units import format_count, format_number, format_size, format_time


def plain(value: Any) -> Any:
    """The value with ``None`` in place of infinities and NaN.

    >>> plain({"a": (1.0, float("inf"))})
    {'a': [1.0, None]}
    """
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


MARKS: Mapping[str, str] = {"prediction": "◇ predicted", "simulation": "● simulated"}
"""Marks and words for the evidence behind a value; other evidence has no mark."""


Row = Mapping[str, object]
_STEPS = 8  # of a coarsening, that are printed


def table(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """A table with a header line; columns as wide as needed, the last one not padded.

    >>> print(table([{"a": 1, "b": "x"}, {"a": 22, "b": "y"}], ("a", "b")))
    a   b
    1   x
    22  y
    """
    cells = [list(columns), *([str(row[c]) for c in columns] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    widths[-1] = 0
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in cells
    )


def counted(count: int, noun: str) -> str:
    """A count with its noun.

    >>> counted(1, "sub-graph"), counted(1200, "sub-graph")
    ('1 sub-graph', '1,200 sub-graphs')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(names: Sequence[str]) -> str:
    """All names in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed([])
    ('a', 'a, b and c', 'none')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def verb(names: Sequence[object], one: str = "is", many: str = "are") -> str:
    """The word that goes with the names: one or several.

    >>> verb(["a"], "holds", "hold"), verb(["a", "b"])
    ('holds', 'are')
    """
    return one if len(names) == 1 else many


def inspection_text(report: Inspection) -> str:
    """Format the output of ``nona inspect``."""
    shares = ", ".join(f"{share:.0%} {kind}" for kind, share in report.provenance.items())
    given = given_text(report.given, report.device)
    shares += f"; {given}" if given else ""
    low, high = report.total_compute_interval_s
    lines = [
        f"{report.model} on {report.device}",
        f"  {report.operators} operators, {report.edges} edges, "
        f"{format_count(report.parameters)} parameters ({format_size(report.weight_bytes)})",
        f"  {format_number(report.gmac)} GMAC, {format_size(report.activation_bytes)} of activations",
        f"  time {format_time(report.total_compute_s)} in sequence ({shares}; 90 % interval from "
        f"{format_time(low)} to {format_time(high)}), "
        f"{format_time(report.critical_path_s)} on the critical path",
        f"  parallelism {report.parallelism:.3f}: splitting one query can gain at most "
        f"{1 - 1 / report.parallelism:.1%} of its time",
        *(f"  warning: {w}" for w in report.warnings),
    ]
    return "\n".join(lines)


def contraction_text(report: FullContraction) -> str:
    """Format the output of ``nona contract``."""
    coarsening = report.coarsening
    lines = [
        f"{report.model}: {report.summary}",
        f"{counted(len(report.subgraphs), 'sub-graph')} to place",
        f"{coarsening.summary}",
    ]
    rows = [
        {
            "interior": len(s.interior),
            "groups": glued.interior_units,
            "configurations": s.configurations,
            "root": s.root or "(start)",
            "sink": s.sink or "(end)",
        }
        for s, glued in zip(report.subgraphs, coarsening.subgraphs, strict=True)
    ]
    columns = ("interior", "groups", "configurations", "root", "sink")
    if rows:
        lines.append(table(rows, columns))
    if report.rule == coarsening.rule:
        steps = coarsening.steps
        lines += [s.reason for s in steps[:_STEPS]]
        lines += [f"… and {len(steps) - _STEPS:,} more steps; --json has all"] if len(steps) > _STEPS else []
    return "\n".join(lines)


def or_dash(value: float | None, show: Any) -> str:
    """The value as ``show`` writes it, or a dash.

    >>> or_dash(0.5, "{:.0%}".format), or_dash(None, str)
    ('50%', '–')
    """
    return "–" if value is None else str(show(value))


def money(amount: float | None, currency: str) -> str:
    """An amount with its currency, which is a label only.

    >>> money(14.2, "USD"), money(None, "EUR"), money(222_222.2, "USD")
    ('14.2 USD', '–', '222,000 USD')
    """
    return or_dash(amount, lambda value: f"{format_number(value)} {currency}")


def per_hour(amount: float, currency: str) -> str:
    """Format a cost of servers per hour, alike for every family.

    >>> per_hour(14.2, "USD")
    '14.2 USD per hour'
    """
    return f"{money(amount, currency)} per hour"


def time_text(seconds: float | None) -> str:
    """A time with its unit, or a dash where there is none.

    >>> time_text(0.002), time_text(None)
    ('2 ms', '–')
    """
    return or_dash(seconds, format_time)


def short_share(share: float) -> str:
    """Format a share in per cent to three digits, rounded down; next to 100 % to the digit that differs.

    >>> short_share(0.991423), short_share(0.98964), short_share(0.9997), short_share(1e-103)
    ('99.1 %', '98.9 %', '99.97 %', '0 %')
    """
    value = round(100 * share, 9)
    decimals = 1 if value >= 10 else 2 if value >= 1 else 3
    if 0 < 100 - value < 0.1:
        decimals = math.ceil(-math.log10(100 - value) - 1e-9)
    return f"{math.floor(value * 10**decimals + 1e-6) / 10**decimals:.12g} %"


def times_text(ratio: float) -> str:
    """Format a ratio as a factor.

    >>> times_text(1234.5)
    '1,230 ×'
    """
    return f"{format_number(ratio)} ×"


def percent_text(share: float | None) -> str:
    """A share in per cent, or a dash where it is not known.

    >>> percent_text(0.5), percent_text(None)
    ('50.0 %', '–')
    """
    return or_dash(share, lambda known: share_text(known, 1))


def share_text(share: float, digits: int = 0, sign: str = "") -> str:
    """A share in per cent, with a space as SI has it; halves are rounded up, as browsers round them.

    >>> share_text(0.125, 1), share_text(-0.5, sign="+"), share_text(0.4725, 1)
    ('12.5 %', '-50 %', '47.3 %')
    """
    return f"{100 * share * (1 + 1e-12):{sign}.{digits}f} %"
