"""One answer of a policy as text."""

from __future__ import annotations

from nona.report.text import table
from nona.results.training.allocate import AllocateReport


def allocation_text(report: AllocateReport) -> str:
    """What ``nona training allocate`` prints: a line for each row with its shares, and the objective."""
    types = list(report.allocation[0].shares)
    rows = [
        {
            "jobs": " + ".join(row.jobs),
            **{t: f"{row.shares[t]:.4f}" for t in types},
            "steps/s": " + ".join(f"{report.throughputs[n]:.6g}" for n in row.jobs),
        }
        for row in report.allocation
    ]
    lines = [f"{report.policy}: share of time on each type of GPU", table(rows, ("jobs", *types, "steps/s"))]
    if report.objective is not None:
        gap = "" if report.gap is None else f" (bound {report.bound:.6g}, gap {report.gap:.1e})"
        lines.append(f"objective {report.objective:.6g}{gap}")
    return "\n".join(lines)
