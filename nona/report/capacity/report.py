"""Report on the fewest servers that keep the SLOs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from nona.report.plain import interval_bounds, number
from nona.report.text import or_dash, table
from nona.simulation.statistics.intervals import Interval

Report = Mapping[str, Any]


class Count(Protocol):
    """One number of servers, its predicted share of missed SLOs, and the simulated result."""

    @property
    def servers(self) -> int:
        """Number of servers."""

    @property
    def miss(self) -> float:
        """Predicted share of missed SLOs."""

    @property
    def error(self) -> float:
        """Its standard error."""

    @property
    def simulated(self) -> Interval | None:
        """Simulated SLO hit rate."""


class Answer(Protocol):
    """The result for one device."""

    @property
    def gpu(self) -> str:
        """The device."""

    @property
    def found(self) -> Count | None:
        """The smallest sufficient number of servers."""

    @property
    def fewer(self) -> Count | None:
        """The result with one server fewer."""

    @property
    def tried(self) -> Sequence[Count]:
        """All numbers of servers that were tried."""

    @property
    def cost(self) -> float | None:
        """Cost of the whole cluster."""


def capacity_report(
    found: Sequence[Answer], best: Answer | None, hit: float, group: int, most: int
) -> dict[str, Any]:
    """What ``nona capacity --json`` prints; ``best`` is the cheapest, or the one with the fewest servers."""
    return {
        "target_hit_rate": hit,
        "group": group,
        "most": most,
        "best": None if best is None else best.gpu,
        "devices": [
            {
                "gpu": a.gpu,
                "servers": None if a.found is None else a.found.servers,
                "predicted": _count(a.found),
                "one_fewer": _count(a.fewer),
                "cost": a.cost,
                "tried": [_count(t) for t in a.tried],
            }
            for a in found
        ],
    }


def _count(tried: Count | None) -> dict[str, Any] | None:
    if tried is None:
        return None
    seen = tried.simulated
    return {
        "servers": tried.servers,
        "miss": number(tried.miss),
        "error": number(tried.error),
        "simulated_hit_rate": None
        if seen is None
        else {"mean": number(seen.mean), "ci95": interval_bounds(seen)},
    }


def capacity_finding(report: Report) -> str:
    """The answer in a sentence."""
    hit = f"{100 * report['target_hit_rate']:.4g} %"
    best = next((d for d in report["devices"] if d["gpu"] == report["best"]), None)
    if best is None:
        names = ", ".join(d["gpu"] for d in report["devices"])
        return f"{report['most']:,} servers do not suffice to keep {hit} of the SLOs ({names})."
    found, fewer = best["predicted"], best["one_fewer"]
    text = (
        f"{found['servers']:,} servers with {best['gpu']} keep {hit} of the SLOs by prediction: "
        f"{_miss(found)} are missed"
    )
    if fewer is not None:
        lost = "there is no steady state" if fewer["miss"] is None else f"{_miss(fewer)} would be"
        text += f"; with {fewer['servers']:,} {lost}"
    return text + (f". Cost {best['cost']:.4g}." if best["cost"] is not None else ".")


def _miss(count: Report) -> str:
    return f"{100 * count['miss']:.3g} % (standard error {100 * count['error']:.2g} %)"


def capacity_rows(report: Report) -> list[dict[str, str]]:
    """One row for each device."""
    rows = []
    for d in report["devices"]:
        for count, what in ((d["predicted"], "fewest"), (d["one_fewer"], "one fewer")):
            if count is None and what == "one fewer":
                continue
            seen = count and count["simulated_hit_rate"]
            rows.append(
                {
                    "device": d["gpu"],
                    "": what,
                    "servers": or_dash(count and count["servers"], "{:,}".format),
                    "missed, predicted": "–" if count is None else _known(count),
                    "kept, simulated": "–" if not seen else _seen(seen),
                    "cost": or_dash(d["cost"] if what == "fewest" else None, "{:.4g}".format),
                }
            )
    return rows


def _known(count: Report) -> str:
    return (
        "no steady state"
        if count["miss"] is None
        else f"{100 * count['miss']:.3g} % ± {200 * count['error']:.2g} %"
    )


def _seen(seen: Report) -> str:
    if seen["ci95"] is None:
        return f"{100 * seen['mean']:.4g} %"
    half = (seen["ci95"][1] - seen["ci95"][0]) / 2
    return f"{100 * seen['mean']:.4g} % ± {100 * half:.2g} %"


def capacity_text(report: Report) -> str:
    """What ``nona capacity`` prints."""
    rows = capacity_rows(report)
    return "\n".join([capacity_finding(report), "", table(rows, list(rows[0]))])
