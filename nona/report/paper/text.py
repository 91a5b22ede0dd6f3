"""The results of the paper's evaluation as text, computed from its numbers."""

from __future__ import annotations

from collections.abc import Mapping

from nona.report.paper.rows import (
    FAR,
    edge_of,
    faster,
    grows,
    growth_rows,
    jobs_for,
    largest,
    ratios,
    summary_rows,
    sweep_ratios,
)
from nona.report.sweeps.stability import stability_finding
from nona.report.sweeps.text import ratio_text
from nona.report.sweeps.values import value_text
from nona.report.text import listed, share_text, table, verb
from nona.results.studies.paper import PaperStudy, Reach
from nona.results.sweep import SweepReport
from nona.units import format_time

EARLY = 0.02  # relative: an edge that is seen so much before the formula's has another reason
OURS = (
    "The paper publishes the workload (AlexNet, ResNet-18, VGG-16, DenseNet-121, GPT-2), the 80 servers, "
    "the background traffic and work, and the kinds of baselines. Rates, GPUs, task times, the link and the "
    "loads are our choice. The heuristics of Decima's simulator are included; in place of its learned policy "
    "stand two that were trained here, decima-blind and decima-link."
)


def title(data: PaperStudy) -> str:
    """The main finding in one sentence."""
    claim, far = data.claim, largest(data, far=True)
    if far is None:
        return "No scheduler has a ratio to nona: none is stable at the same values"
    where = _where(data, far.sweep, far.point.value)
    return (
        f"Well below every edge the largest ratio to nona is {far.ratio:.3g} ({far.scheduler}, {where}); "
        f"{claim:.0f} is {'' if far.ratio < claim else 'also '}an effect of edges"
    )


def findings(data: PaperStudy) -> list[str]:
    """The findings, one a line, the most important first."""
    lines = [_largest(data), *(_edges(data, name) for name in data.sweeps)]
    lines += [_reach(r, data.claim) for r in data.reach]
    lines += [_overload(data), _faster(data), _meaning(data)]
    return [line for line in lines if line]


def _where(data: PaperStudy, sweep: str, value: float) -> str:
    report = data.sweeps[sweep]
    label = report.label
    return f"{value_text(value, report.unit)} {label[0].lower()}{label[1:]}"


def _largest(data: PaperStudy) -> str:
    far, near = largest(data, far=True), largest(data)
    if far is None or near is None:
        return "No point has two stable schedulers to compare."
    text = (
        f"With both schedulers stable, and at most {FAR:.0%} of the load at which the other becomes "
        f"unstable, the largest ratio measured is {ratio_text(far.point.ratio)}: {far.scheduler} at "
        f"{_where(data, far.sweep, far.point.value)}."
    )
    if near.point is not far.point:
        sweep = data.sweeps[near.sweep]
        edge = edge_of(sweep.schedulers[near.scheduler])
        until = "" if edge is None else f", unstable from {value_text(edge, sweep.unit)}"
        text += (
            f" Just below an edge it is {ratio_text(near.point.ratio)} ({near.scheduler} at "
            f"{_where(data, near.sweep, near.point.value)}{until}), in runs too short "
            "for the queues to reach their mean length."
        )
    return text


def _edges(data: PaperStudy, sweep: str) -> str:
    report = data.sweeps[sweep]
    told = []
    for name, curve in report.schedulers.items():
        seen, formula = edge_of(curve), curve.formula_edges
        if seen is not None and formula and formula[0].overloaded > seen * (1 + EARLY):
            told.append(f"{name} from {value_text(formula[0].overloaded, report.unit)}")
    early = (
        f" By the formula, for runs of unlimited length: {listed(told)}; in runs of {data.jobs:,} jobs "
        "their queues grow earlier."
        if told
        else ""
    )
    return f"Background {sweep}: {stability_finding(report)}{early}"


def _reach(row: Reach, claim: float) -> str:
    return (
        f"A ratio of {claim:.0f} in steady state: by the formula {row.scheduler} reaches it when "
        f"{100 * row.room:.2g} percentage points of the link remain below its edge at "
        f"{share_text(row.edge, 3)}. There the relaxation time of the link's queue is about "
        f"{format_time(row.relaxation_s)}, {row.jobs:.2g} jobs: no run of usual length shows it."
    )


def _overload(data: PaperStudy) -> str:
    over = data.overload
    parts = []
    for row in over.schedulers:
        first, last = row.runs[0], row.runs[-1]
        if not grows(row):
            parts.append(
                f"that of {row.scheduler} stays near {last.ratio:.2g}, as it reacts to the congestion"
            )
        elif last.ratio >= data.claim:
            parts.append(
                f"that of {row.scheduler} is {first.ratio:.2g} after {first.jobs:,} jobs and "
                f"{last.ratio:.3g} after {last.jobs:,}"
            )
        else:
            wanted = jobs_for(row, data.claim)
            parts.append(
                f"that of {row.scheduler} is {last.ratio:.3g} after {last.jobs:,} jobs and would be "
                f"{data.claim:.0f} after about {wanted:.2g}"
            )
    if not parts:
        return ""
    return (
        f"Beyond the edges, at {value_text(over.value, 'fraction')} link background, the ratio depends on "
        f"the length of the run: {'; '.join(parts)}."
    )


def _faster(data: PaperStudy) -> str:
    parts = []
    for sweep in data.sweeps:
        found = faster(data, sweep)
        if found:
            parts.append(f"over background {sweep} {_wins(found)}")
    if not parts:
        return "No scheduler is clearly faster than nona at any load."
    low = min(ratios(data), key=lambda found: found.ratio)
    where = _where(data, low.sweep, low.point.value)
    least = f"{low.scheduler} at {where} takes {low.ratio:.2g} times as long as nona"
    return (
        f"Faster than nona: {'; '.join(parts)}; the smallest ratio: {least}. These observe queues and choose "
        "idle servers, while nona draws servers blindly, like the paper's stochastic scheduler."
    )


def _wins(found: Mapping[str, tuple[int, int]]) -> str:
    """The schedulers with their loads: those that are faster at all of them together."""
    always = [name for name, (wins, of) in found.items() if wins == of]
    ever = f"{listed(always)} at every load at which {verb(always, 'it is', 'they are')} stable"
    told = [ever] if always else []
    told += [f"{name} at {wins} of {of} loads" for name, (wins, of) in found.items() if wins < of]
    return ", ".join(told)


def _meaning(data: PaperStudy) -> str:
    far = largest(data, far=True)
    if far is None or far.ratio >= data.claim:
        return ""
    return (
        f"In this scenario, “up to {data.claim:.0f} times” is therefore not a gain at a load at which "
        f"both schedulers are stable: there it is at most {far.ratio:.2g} times. A comparison gives such a "
        "ratio beyond the edge of the other scheduler, or so close to it that no run is long enough: it "
        "shows where that edge is. The real difference is the edge: the load up to which it is stable."
    )


def ratio_title(sweep: str, report: SweepReport) -> str:
    """Title of a sweep's chart: the largest ratio well below the edges, and the first edge."""
    found = max(sweep_ratios(sweep, report, far=True), key=lambda r: r.ratio, default=None)
    known = [(edge, name) for name, c in report.schedulers.items() if (edge := edge_of(c)) is not None]
    told = f"Background {sweep}: no two schedulers are stable"
    if found is not None:
        most = f"{found.ratio:.2g} times nona ({found.scheduler})"
        told = f"Background {sweep}: well below the edges at most {most}"
    if not known:
        return f"{told}; all are stable"
    edge, name = min(known)
    return f"{told}; {name} is the first to become unstable, at {value_text(edge, report.unit)}"


def growth_title(data: PaperStudy) -> str:
    """Title of the chart of runs in overload."""
    rows = data.overload.schedulers
    reached = [r.scheduler for r in rows if grows(r) and r.runs[-1].ratio >= data.claim]
    where = value_text(data.overload.value, "fraction")
    if not reached:
        return f"At {where} link background no run in overload reaches {data.claim:.0f} times nona"
    return (
        f"At {where} link background, beyond their edges, {listed(reached)} reach {data.claim:.0f} times "
        "nona in a run that is long enough"
    )


def provenance(data: PaperStudy) -> str:
    """The provenance of the numbers in one line."""
    return (
        f"{data.command}: version {data.version}, {data.date}, seed {data.seed}, "
        f"{data.replications} runs of {data.jobs:,} jobs per point, scenario {data.scenario}"
    )


def paper_text(data: PaperStudy) -> str:
    """What ``nona study paper`` prints."""
    lines = [title(data) + ".", "", *(f"- {f}" for f in findings(data)), ""]
    lines.append(table(summary_rows(data), list(summary_rows(data)[0])))
    lines += ["", table(growth_rows(data), list(growth_rows(data)[0]))] if growth_rows(data) else []
    return "\n".join([*lines, "", OURS, provenance(data)])
