"""A placement as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from nona.report.placements.certificate_text import (
    bound_text,
    error_text,
    formula_line,
    gap_text,
    is_sampled,
    mean_of,
    origin_text,
)
from nona.report.placements.compared import hits_text, is_slo
from nona.report.placements.sampled import missed_finding
from nona.report.text import counted, percent_text, time_text
from nona.results.placement.configuration import PlacedSubgraph
from nona.results.placement.prediction import PredictedLink
from nona.results.placement.report import FullPlacementReport, PlacementReport
from nona.units import format_bandwidth, format_size


def placement_text(report: PlacementReport) -> str:
    """What ``nona place`` prints."""
    p = report.predicted
    sampled = is_sampled(report) or isinstance(report, FullPlacementReport)
    by = "by sampled jobs" if sampled else "by formula alone"
    value = " ".join(t for t in (time_text(mean_of(report)), error_text(report), by) if t)
    lines = [
        *([f"SLO hits {hits_text(report)}"] if is_slo(report) else []),
        f"mean JCT {value}; {bound_text(report)} (gap: {gap_text(report)}); {report.solver}, "
        f"{report.seconds:.2f} s",
        *(
            f"  {line}"
            for line in (missed_finding(report), origin_text(report), formula_line(report))
            if line
        ),
        f"  by formula: link {percent_text(p.network_utilization)} busy, wait "
        f"{time_text(p.network_wait_s)}; executors {percent_text(p.compute_utilization)} busy, wait "
        f"{time_text(p.server_wait_s)}",
        *_links_text(p.links),
        *_classes_text(report),
    ]
    for name, model in report.models.items():
        subgraphs = counted(len(model.subgraphs), "sub-graph")
        lines.append(f"{name}: {time_text(model.jct_s)} by formula, {subgraphs}")
        lines += [f"  {_mix(s)}" for s in model.subgraphs if not _all_local(s)]
    lines += [f"note: {n}" for n in report.notes]
    return "\n".join(lines)


def _links_text(links: Sequence[PredictedLink]) -> list[str]:
    """A line for each role of links, if there are several."""
    return [
        f"  {r.name}: {r.links} x {format_bandwidth(r.capacity)}, crossed by {r.share:.0%}, "
        f"{r.utilization:.0%} busy, wait {time_text(r.wait_s)}"
        for r in (links if len(links) > 1 else ())
    ]


def _classes_text(report: PlacementReport) -> list[str]:
    """A line for each executor class, if there are several: load, wait, models drawn to it, weights."""
    classes, shares = report.predicted.classes, report.class_shares
    lines = []
    for told, held in zip(classes, report.memory.classes, strict=True) if len(classes) > 1 else ():
        kind = told.executor_class
        drawn = ", ".join(f"{n} {row[kind]:.0%}" for n, row in shares.items() if row[kind] >= 5e-4)
        lines.append(
            f"  {kind}: {told.executors} x, {told.utilization:.0%} busy, wait "
            f"{time_text(told.wait_s)}; draws {drawn or 'nothing'}; "
            f"{format_size(held.resident_bytes)} of weights each"
        )
    return lines


def _all_local(subgraph: PlacedSubgraph) -> bool:
    return all(len(c.parts) <= 1 for c in subgraph.configurations)


def _mix(subgraph: PlacedSubgraph) -> str:
    shown = []
    for c in sorted(subgraph.configurations, key=lambda c: -c.probability)[:3]:
        parts = " | ".join("{" + ", ".join(p) + "}" for p in c.parts)
        shown.append(f"{c.probability:.0%} {parts if len(parts) < 100 else parts[:97] + '…'}")
    return "; ".join(shown)
