"""The ranges in which the schedulers of a sweep are unstable, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nona.report.sweeps.values import value_text

Report = Mapping[str, Any]
NEAR = 0.03  # of the swept span: what lies closer together is told as one


def unstable_spans(curve: Report) -> list[tuple[float | None, float | None]]:
    """Ranges without a steady state: (first, last) value of each, ``None``: to the end.

    >>> points = [{"value": v, "state": s} for v, s in [(0, "stable"), (1, "overloaded"), (2, "overloaded")]]
    >>> unstable_spans({"points": points})
    [(1, None)]
    """
    spans: list[tuple[float | None, float | None]] = []
    first = last = None
    points = curve["points"]
    for i, p in enumerate(points):
        if p["state"] == "overloaded":
            first, last = (p["value"], p["value"]) if last is None else (first, p["value"])
        if last is not None and (p["state"] != "overloaded" or i == len(points) - 1):
            begins, ends = first == points[0]["value"], p["state"] == "overloaded"
            spans.append((None if begins else first, None if ends else last))
            first = last = None
    return spans


def merged_spans(curve: Report) -> list[tuple[float | None, float | None]]:
    """:func:`unstable_spans`, close ones merged: near an edge chance decides from point to point.

    >>> flags = [(0.0, 1), (0.7, 0), (0.705, 1), (0.71, 0), (1.0, 0)]
    >>> points = [{"value": v, "state": "stable" if ok else "overloaded"} for v, ok in flags]
    >>> unstable_spans({"points": points}), merged_spans({"points": points})
    ([(0.7, 0.7), (0.71, None)], [(0.7, None)])
    """
    spans, points = unstable_spans(curve), curve["points"]
    close = NEAR * (points[-1]["value"] - points[0]["value"]) if points else 0.0
    merged = spans[:1]
    for low, high in spans[1:]:
        before = merged[-1][1]
        if low is not None and before is not None and low - before <= close:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return merged


def stability_text(curve: Report, unit: str) -> str:
    """The ranges in which a scheduler has no steady state, in words.

    >>> points = [{"value": v, "state": s} for v, s in [(0.1, "stable"), (0.6, "overloaded")]]
    >>> stability_text({"points": points}, "fraction")
    'unstable from 60 %'
    """
    spans = merged_spans(curve)
    if not spans:
        return "stable throughout"
    if spans == [(None, None)]:
        return "unstable everywhere"
    words = []
    for low, high in spans:
        if high is None:
            words.append(f"from {value_text(low or 0.0, unit)}")
        elif low is None:
            words.append(f"up to {value_text(high, unit)}")
        else:
            shown = value_text(low, unit), value_text(high, unit)
            words.append(f"from {shown[0]} to {shown[1]}" if shown[0] != shown[1] else f"at {shown[0]}")
    return "unstable " + " and ".join(words)


def stability_finding(report: Report) -> str:
    """The schedulers that are stable at all values, and the edges of the others: one or two sentences."""
    curves, unit = report["schedulers"], report["unit"]
    by_text: dict[str, list[str]] = {}
    for name, curve in curves.items():
        by_text.setdefault(stability_text(curve, unit), []).append(name)
    holding = by_text.pop("stable throughout", [])
    span = _span(report)
    if not by_text:
        return f"Every scheduler is stable {span}." if len(holding) > 1 else f"{holding[0]} is stable {span}."
    ends = "; ".join(f"{listed(names)} {verb(names, 'is', 'are')} {text}" for text, names in by_text.items())
    held = f"Only {listed(holding)} {verb(holding, 'is', 'are')} stable {span}. " if holding else ""
    return f"{held}{ends[0].upper() if not held else ends[0]}{ends[1:]}."


def _span(report: Report) -> str:
    values = report["values"]
    if len(values) == 1:
        return f"at {value_text(values[0], report['unit'])}"
    return f"from {value_text(values[0], report['unit'])} to {value_text(values[-1], report['unit'])}"


def verb(names: Sequence[str], one: str, many: str) -> str:
    """The word that goes with the names: one or several.

    >>> verb(["a"], "holds", "hold"), verb(["a", "b"], "holds", "hold")
    ('holds', 'hold')
    """
    return one if len(names) == 1 else many


def listed(names: Sequence[str]) -> str:
    """Names in a row.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"
