"""The changes from the baseline, as text and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from nona.report.simulations.headline import REFERENCE
from nona.report.text import interval_text, share_text
from nona.units import format_time

Row = Mapping[str, Any]
Changes = Mapping[str, Mapping[str, Row]]


def points(share: float) -> str:
    """A difference of shares in percentage points.

    >>> points(0.0123)
    '1.23 points'
    """
    return f"{100 * share:.3g} points"


def baseline_headline(what: str, changes: Changes, states: Mapping[str, tuple[str, str]]) -> str:
    """The finding in a sentence: the effect of ``what`` on the scheduler that now has the lowest mean JCT.

    ``states`` has the state of each scheduler in the baseline and in this run.
    """
    means = {n: r["jct_s"]["new"]["mean"] for n, r in changes.items()}
    known = [n for n, m in means.items() if m is not None]
    if not known:
        return f"{what}: no scheduler has a steady state." if changes else f"{what}: no scheduler in common."
    name = min(known, key=lambda n: (means[n], n != REFERENCE))
    row = changes[name]
    return f"{what}: {_jct(name, row['jct_s'])}{_hits(row['slo_hit_rate'])}{_loads(row)}{_states(states)}."


def _jct(name: str, row: Row) -> str:
    change, old, new = row["change"], row["old"]["mean"], row["new"]
    if change["mean"] is None:
        return f"{name} now has a mean JCT of {interval_text(new, format_time)}, and had none before"
    share = f" ({share_text(change['mean'] / old, sign='+')})" if old else ""
    if change["ci95"] is None:
        return f"the mean JCT of {name} changes by {format_time(change['mean'])}{share}, without an interval"
    if not row["clear"]:
        return f"the mean JCT of {name} does not change clearly ({interval_text(change, format_time)})"
    word = "falls" if change["mean"] < 0 else "rises"
    size = {"mean": abs(change["mean"]), "ci95": _mirrored(change)}
    return f"the mean JCT of {name} {word} by {interval_text(size, format_time)}{share}"


def _mirrored(change: Row) -> list[float]:
    low, high = change["ci95"]
    return [-high, -low] if change["mean"] < 0 else [low, high]


def _hits(row: Row) -> str:
    change = row["change"]
    if change["mean"] is None or not row["clear"]:
        return ""
    word = "more" if change["mean"] > 0 else "fewer"
    size = {"mean": abs(change["mean"]), "ci95": None if change["ci95"] is None else _mirrored(change)}
    return f", {interval_text(size, points)} {word} SLO hits"


def _loads(row: Mapping[str, Row]) -> str:
    executors, link = row["compute"], row["network"]
    told = []
    for word, of in (("executors", executors), ("link", link)):
        old, new = of["old"]["mean"], of["new"]["mean"]
        if old is not None and new is not None:
            told.append(f"{word} {share_text(old)} → {share_text(new)} busy")
    return f"; {', '.join(told)}" if told else ""


def _states(states: Mapping[str, tuple[str, str]]) -> str:
    changed = [f"{n} was {old}, is {new}" for n, (old, new) in states.items() if old != new]
    return f"; {', '.join(changed)}" if changed else ""


def baseline_rows(changes: Changes) -> list[dict[str, str]]:
    """One row per scheduler: old, new and change of every measure, as text."""
    rows = []
    for name, row in changes.items():
        shown = {"scheduler": name}
        for measure, word, value, change in (
            ("jct_s", "mean JCT", format_time, format_time),
            ("slo_hit_rate", "SLO hits", partial(share_text, digits=2), points),
            ("compute", "executors", partial(share_text, digits=1), points),
            ("network", "link", partial(share_text, digits=1), points),
        ):
            of = row[measure]
            shown[f"{word}, baseline"] = interval_text(of["old"], value)
            shown[f"{word}, this run"] = interval_text(of["new"], value)
            shown[f"{word}, change"] = interval_text(of["change"], change) + (" *" if of["clear"] else "")
        rows.append(shown)
    return rows
