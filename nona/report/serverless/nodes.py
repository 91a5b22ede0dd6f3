"""The number of nodes that keeps the SLOs under each policy: the report, its finding, its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from nona.report.plain import interval_bounds, number
from nona.report.serverless.words import rate_text
from nona.report.text import share_text, table
from nona.simulation.statistics.intervals import Interval

Row = Mapping[str, Any]


class Tried(Protocol):
    """One number of nodes, as :class:`nona.study.serverless.capacity.TriedNodes` has it."""

    @property
    def nodes(self) -> int:
        """Nodes of the group."""

    @property
    def hit_rate(self) -> Interval:
        """Share of the SLOs kept."""

    @property
    def verdict(self) -> str:
        """``keeps``, ``misses`` or ``open``."""

    @property
    def usd_hour(self) -> float:
        """US dollars an hour of the whole cluster."""

    @property
    def held_usd_hour(self) -> float:
        """US dollars an hour of the resources that batches held."""


class Found(Protocol):
    """One policy, as :class:`nona.study.serverless.capacity.NodesFor` has it."""

    @property
    def policy(self) -> str:
        """Name of the policy."""

    @property
    def target(self) -> float:
        """Share of the SLOs to keep."""

    @property
    def found(self) -> Tried | None:
        """The smallest sufficient number of nodes."""

    @property
    def tried(self) -> Sequence[Tried]:
        """All numbers of nodes that were tried, ascending."""

    @property
    def most(self) -> int:
        """The largest number of nodes that may be tried."""


def nodes_report(found: Sequence[Found], setting: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Policy → the fewest nodes (``None``: there are none up to ``most``) and all counts tried."""
    return {
        "target": found[0].target,
        "most": found[0].most,
        "policies": {
            f.policy: {
                "found": None if f.found is None else _tried(f.found),
                "tried": [_tried(t) for t in f.tried],
            }
            for f in found
        },
        "setting": dict(setting or {}),
    }


def _tried(t: Tried) -> dict[str, Any]:
    return {
        "nodes": t.nodes,
        "slo_hit_rate": {"mean": number(t.hit_rate.mean), "ci95": interval_bounds(t.hit_rate)},
        "replications": t.hit_rate.n,
        "verdict": t.verdict,
        "usd_hour": number(t.usd_hour),
        "held_usd_hour": number(t.held_usd_hour),
    }


def nodes_finding(report: Row) -> str:
    """The policy that needs the fewest nodes, and their cost."""
    known = {n: p["found"] for n, p in report["policies"].items() if p["found"] is not None}
    target = share_text(report["target"], 1)
    if not known:
        return f"With up to {report['most']} nodes no policy reliably keeps {target} of the SLOs."
    least = min(r["nodes"] for r in known.values())
    first = [n for n, r in known.items() if r["nodes"] == least]
    row = known[first[0]]
    others = [f"{n} {r['nodes']} (${r['usd_hour']:.2f})" for n, r in known.items() if n not in first]
    none = [n for n in report["policies"] if n not in known]
    return (
        f"{' and '.join(first)} {'keeps' if len(first) == 1 else 'keep'} {target} of the SLOs with {least} "
        f"nodes, ${row['usd_hour']:.2f} an hour"
        + (f"; {', '.join(others)}" if others else "")
        + (f"; not with up to {report['most']} nodes: {', '.join(none)}" if none else "")
        + "."
    )


def nodes_rows(report: Row) -> list[dict[str, str]]:
    """One row for every count tried."""
    return [
        {
            "policy": name if place == 0 else "",
            "nodes": str(t["nodes"]),
            "SLOs kept": rate_text(t["slo_hit_rate"]),
            "runs": str(t["replications"]),
            "": {"keeps": "met", "misses": "missed", "open": "undecided"}[t["verdict"]],
            "$ an hour": f"{t['usd_hour']:.2f}",
            "$ an hour held": "–" if t["held_usd_hour"] is None else f"{t['held_usd_hour']:.2f}",
        }
        for name, p in report["policies"].items()
        for place, t in enumerate(p["tried"])
    ]


def nodes_text(report: Row) -> str:
    """What ``nona serverless --nodes-for`` prints."""
    rows = nodes_rows(report)
    return "\n".join([nodes_finding(report), "", table(rows, list(rows[0]))])
