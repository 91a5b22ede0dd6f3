"""The number of nodes that keeps the SLOs under each policy: the finding, rows, text."""

from __future__ import annotations

from nona.report.serverless.words import rate_text
from nona.report.text import share_text, table
from nona.results.serverless.nodes import NodesReport

_VERDICTS = {"keeps": "met", "misses": "missed", "open": "undecided"}


def nodes_finding(report: NodesReport) -> str:
    """The policy that needs the fewest nodes, and their cost."""
    known = {n: p.found for n, p in report.policies.items() if p.found is not None}
    target = share_text(report.target, 1)
    if not known:
        return f"With up to {report.most} nodes no policy reliably keeps {target} of the SLOs."
    least = min(r.nodes for r in known.values())
    first = [n for n, r in known.items() if r.nodes == least]
    row = known[first[0]]
    others = [f"{n} {r.nodes} (${r.usd_hour:.2f})" for n, r in known.items() if n not in first]
    none = [n for n in report.policies if n not in known]
    return (
        f"{' and '.join(first)} {'keeps' if len(first) == 1 else 'keep'} {target} of the SLOs with {least} "
        f"nodes, ${row.usd_hour:.2f} an hour"
        + (f"; {', '.join(others)}" if others else "")
        + (f"; not with up to {report.most} nodes: {', '.join(none)}" if none else "")
        + "."
    )


def nodes_rows(report: NodesReport) -> list[dict[str, str]]:
    """One row for every count tried."""
    return [
        {
            "policy": name if place == 0 else "",
            "nodes": str(t.nodes),
            "SLOs kept": rate_text(t.slo_hit_rate),
            "runs": str(t.replications),
            "": _VERDICTS[t.verdict],
            "$ an hour": f"{t.usd_hour:.2f}",
            "$ an hour held": "–" if t.held_usd_hour is None else f"{t.held_usd_hour:.2f}",
        }
        for name, p in report.policies.items()
        for place, t in enumerate(p.tried)
    ]


def nodes_text(report: NodesReport) -> str:
    """What ``nona serverless --nodes-for`` prints."""
    rows = nodes_rows(report)
    return "\n".join([nodes_finding(report), "", table(rows, list(rows[0]))])
