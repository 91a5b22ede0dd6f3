"""Report on the fewest servers that keep the SLOs."""

from __future__ import annotations

from collections.abc import Sequence

from nona.report.text import or_dash, table
from nona.results.capacity import CapacityReport, DeviceCapacity, ServerCount
from nona.results.estimate import Estimate


def capacity_report(
    found: Sequence[DeviceCapacity], best: DeviceCapacity | None, hit: float, group: int, most: int
) -> CapacityReport:
    """What ``nona capacity --json`` prints; ``best`` is the cheapest, or the one with the fewest servers."""
    return CapacityReport(
        target_hit_rate=hit,
        group=group,
        most=most,
        best=None if best is None else best.gpu,
        devices=tuple(found),
    )


def capacity_finding(report: CapacityReport) -> str:
    """The answer in a sentence."""
    hit = f"{100 * report.target_hit_rate:.4g} %"
    best = next((d for d in report.devices if d.gpu == report.best), None)
    if best is None or best.predicted is None:
        names = ", ".join(d.gpu for d in report.devices)
        return f"{report.most:,} servers do not suffice to keep {hit} of the SLOs ({names})."
    found, fewer = best.predicted, best.one_fewer
    text = (
        f"{found.servers:,} servers with {best.gpu} keep {hit} of the SLOs by prediction: "
        f"{_miss(found, 'are missed')}"
    )
    if fewer is not None:
        text += f"; with {fewer.servers:,} servers, {_miss(fewer, 'would be')}"
    return text + (f". Cost {best.cost:.4g}." if best.cost is not None else ".")


def _miss(count: ServerCount, verb: str) -> str:
    if count.miss is None:
        return "there is no steady state"
    return f"{100 * count.miss:.3g} % (standard error {100 * count.error:.2g} %) {verb}"


def capacity_rows(report: CapacityReport) -> list[dict[str, str]]:
    """One row for each device."""
    rows = []
    for d in report.devices:
        rows.append(_row(d.gpu, "fewest", d.predicted, d.cost))
        if d.one_fewer is not None:
            rows.append(_row(d.gpu, "one fewer", d.one_fewer, None))
    return rows


def _row(gpu: str, what: str, count: ServerCount | None, cost: float | None) -> dict[str, str]:
    seen = None if count is None else count.simulated_hit_rate
    return {
        "device": gpu,
        "": what,
        "servers": "–" if count is None else f"{count.servers:,}",
        "missed, predicted": "–" if count is None else _known(count),
        "kept, simulated": "–" if seen is None else _seen(seen),
        "cost": or_dash(cost, "{:.4g}".format),
    }


def _known(count: ServerCount) -> str:
    if count.miss is None:
        return "no steady state"
    return f"{100 * count.miss:.3g} % ± {200 * count.error:.2g} %"


def _seen(seen: Estimate) -> str:
    if seen.mean is None:
        return "–"
    if seen.ci95 is None:
        return f"{100 * seen.mean:.4g} %"
    half = (seen.ci95[1] - seen.ci95[0]) / 2
    return f"{100 * seen.mean:.4g} % ± {100 * half:.2g} %"


def capacity_text(report: CapacityReport) -> str:
    """What ``nona capacity`` prints."""
    rows = capacity_rows(report)
    return "\n".join([capacity_finding(report), "", table(rows, list(rows[0]))])
