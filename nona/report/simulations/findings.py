"""The findings of a simulation in plain sentences, each computed from its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from nona.report.text import interval_text
from nona.units import format_time

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence; ``kind`` says whether it is a warning."""

    text: str
    kind: Literal["", "bad"] = ""


def findings(data: Row) -> list[Finding]:
    """The headline findings of a simulation's outcome, the most important first.

    ``data`` holds ``report``, ``differences``, ``predicted`` as
    :func:`nona.study.outcome.simulation_outcome` gives them.
    """
    found = data["report"]["schedulers"]
    return [
        *_shortest(found, data["differences"]),
        *_states(found),
        *_alike(data["differences"], found),
        *_hits(found),
        *_predictions(found, data["predicted"]),
        *_checks(data["report"]),
    ]


def shortest(found: Mapping[str, Row]) -> str | None:
    """The scheduler with the lowest mean JCT among those that have one; ``None`` if none has.

    >>> row = lambda mean: {"jct_s": {"mean": mean}, "state": "stable" if mean else "overloaded"}
    >>> shortest({"a": row(2.0), "b": row(1.0), "c": row(None)})
    'b'
    """
    means = {
        n: s["jct_s"]["mean"]
        for n, s in found.items()
        if s["state"] != "overloaded" and s["jct_s"]["mean"] is not None
    }
    return min(means, key=lambda n: means[n], default=None)


def _shortest(found: Mapping[str, Row], differences: Mapping[str, Row]) -> Iterator[Finding]:
    best = shortest(found)
    if best is None:
        yield Finding("Every scheduler is overloaded: no scheduler has a steady state.", "bad")
        return
    told = f"{best} has the shortest mean completion time, {interval_text(found[best]['jct_s'], format_time)}"
    others = {n: d for n, d in differences.get(best, {}).items() if d["jct_s"]["mean"] is not None}
    second = min(others, key=lambda n: others[n]["jct_s"]["mean"], default=None)
    if second is None:
        yield Finding(f"{told}.")
    elif others[second]["verdict"] == "not told apart":
        yield Finding(f"{told}; the difference from {second} is not clear.")
    else:
        yield Finding(
            f"{told}. {second} is next and takes {interval_text(others[second]['jct_s'], format_time)} "
            f"longer on the same jobs ({others[second]['relative']:+.1%})."
        )


def _states(found: Mapping[str, Row]) -> Iterator[Finding]:
    over = [n for n, s in found.items() if s["state"] == "overloaded"]
    behind = [n for n, s in found.items() if s["state"] == "backlogged"]
    if over and len(over) < len(found):
        yield Finding(f"Overloaded, hence without a mean: {', '.join(over)}.", "bad")
    if behind:
        yield Finding(f"Ended with a backlog, possibly without a steady state: {', '.join(behind)}.", "bad")


def _alike(differences: Mapping[str, Row], found: Mapping[str, Row]) -> Iterator[Finding]:
    order = list(found)
    pairs = [
        f"{baseline} and {name}"
        for baseline, rows in differences.items()
        for name, row in rows.items()
        if row["verdict"] == "not told apart" and order.index(baseline) < order.index(name)
    ]
    if pairs:
        yield Finding(
            f"No clear difference in this run: {'; '.join(pairs)}. More replications may separate them."
        )


def _hits(found: Mapping[str, Row]) -> Iterator[Finding]:
    rates = {n: s["slo_hit_rate"]["mean"] for n, s in found.items() if s["slo_hit_rate"]["mean"] is not None}
    if not rates:
        return
    best, worst = max(rates, key=lambda n: rates[n]), min(rates, key=lambda n: rates[n])
    if rates[best] == rates[worst]:
        yield Finding(f"Every scheduler keeps the SLO for {rates[best]:.2%} of the jobs.")
    else:
        yield Finding(
            f"SLO hits range from {rates[worst]:.2%} ({worst}) to {rates[best]:.2%} ({best}) of the jobs."
        )


def _predictions(found: Mapping[str, Row], predicted: Mapping[str, float | None]) -> Iterator[Finding]:
    for name, value in predicted.items():
        mean = found[name]["jct_s"]["mean"] if name in found else None
        if value is None or not mean:
            continue
        off = value / mean - 1
        told = interval_text(found[name]["jct_s"], format_time)
        yield Finding(
            f"Queueing theory predicts {format_time(value)} for {name}, {off:+.1%} from the simulated {told}."
        )


def _checks(report: Row) -> Iterator[Finding]:
    if report["failed_checks"]:
        yield Finding(f"Checks FAILED: {'; '.join(report['failed_checks'])}.", "bad")
