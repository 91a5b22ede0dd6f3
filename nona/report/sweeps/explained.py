"""Effects of a sweep due to the formula and to the simulation, with the sweep's own numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nona.report.sweeps.stability import stability_text, unstable_spans
from nona.report.sweeps.values import value_text
from nona.report.text import listed
from nona.results.sweep import SweepReport, SweptPoint

NEAR = 0.1  # of the swept span


@dataclass(frozen=True, slots=True)
class _Example:
    """A scheduler's point farthest from its edge, and the one with the largest ratio, with both ratios."""

    name: str
    far: SweptPoint
    far_ratio: float
    near: SweptPoint
    near_ratio: float

    @property
    def growth(self) -> float:
        return self.near_ratio / self.far_ratio


def explanation(report: SweepReport) -> list[tuple[str, str]]:
    """(topic, text) for each property of the curves that a reader should know, if numbers for it exist."""
    parts = [
        ("Simulated", _simulated(report)),
        ("By formula", _formula(report)),
        ("Edges of stability", _edges(report)),
        ("Ratios near an edge", _ratios(report)),
    ]
    return [(what, text) for what, text in parts if text]


def _simulated(report: SweepReport) -> str:
    many = f"{report.replications} runs of {report.jobs:,} jobs"
    return (
        f"Markers and their lines: {many} at each point, bars are 95 % intervals over the runs. All "
        "schedulers, at all values, use the same arrivals, services and background, only scaled by the swept "
        "number, so differences are not due to chance. Only the simulation includes queues at every server "
        "and link, bursts, and decisions that depend on queues. Each run starts with an idle cluster and "
        "ends after its jobs: close to an edge it is too short for its queues to reach their mean length."
    )


def _formula(report: SweepReport) -> str:
    names = [n for n, c in report.schedulers.items() if c.formula]
    if not names:
        return ""
    text = (
        f"Thin dashed lines ({listed(names)}): mean waits by Pollaczek and Khinchine at the link and at the "
        "servers, in steady state and without sampling error. nona's placement minimises this mean; there is "
        "no formula for schedulers that observe queues."
    )
    far, near = _errors(report, names)
    if far:
        text += (
            f" Away from edges its error is at most {_worst(far, report)}; that part of a gap between the "
            "two lines is due to the formula, not to the schedulers."
        )
    if near:
        text += (
            f" Near an edge its error is up to {_worst(near, report)}: it assumes a run of unlimited "
            "length, while a simulated run ends."
        )
    return text


Error = tuple[float, str, float]


def _errors(report: SweepReport, names: Sequence[str]) -> tuple[list[Error], list[Error]]:
    """(error, scheduler, value) of every prediction: away from the scheduler's edges, and near one."""
    span = report.values[-1] - report.values[0]
    far: list[Error] = []
    near: list[Error] = []
    for name in names:
        curve = report.schedulers[name]
        edges = [e.overloaded for e in curve.edges]
        for p in curve.points:
            if p.error is not None:
                close = any(abs(p.value - e) <= NEAR * span for e in edges)
                (near if close else far).append((p.error, name, p.value))
    return far, near


def _worst(errors: Sequence[Error], report: SweepReport) -> str:
    error, name, value = max(errors, key=lambda e: abs(e[0]))
    return f"{error:+.1%} ({name} at {value_text(value, report.unit)})"


def _edges(report: SweepReport) -> str:
    said = []
    for name, curve in report.schedulers.items():
        if not unstable_spans(curve):
            continue
        text = f"{name} is {stability_text(curve, report.unit)}"
        if curve.formula_edges:
            there = value_text(curve.formula_edges[0].overloaded, report.unit)
            text += f" (by formula: {there})"
        said.append(text)
    if not said:
        return ""
    return (
        f"{'; '.join(said)}. A scheduler is unstable where a resource is offered more than it can serve, or "
        "the number of waiting jobs keeps growing, in any of the runs. The edge is found by bisection, to "
        "about 1 %. Beyond it a mean depends only on the length of the run, so nothing is drawn."
    )


def _ratios(report: SweepReport) -> str:
    """The scheduler whose ratio grows most before its edge, as the example."""
    example = _steepest(report)
    if example is None:
        return ""
    name, unit, base = example.name, report.unit, report.reference
    return (
        f"{name} takes {example.far_ratio:.3g} times as long as {base} at "
        f"{value_text(example.far.value, unit)} and {example.near_ratio:.3g} times at "
        f"{value_text(example.near.value, unit)}, and is {stability_text(report.schedulers[name], unit)}. "
        "Closer to its edge the ratio grows without bound, because its queue does: a run that is long enough "
        f"gives any number there, e.g. 10 times or 350. Such a number shows where the edge of {name} is, not "
        f"how good {base} is. Compare ratios well away from edges, and compare edges separately."
    )


def _steepest(report: SweepReport) -> _Example | None:
    best: _Example | None = None
    for name, curve in report.schedulers.items():
        points = [(p.ratio.mean, p) for p in curve.points if p.ratio.mean is not None]
        if name == report.reference or not curve.edges or len(points) < 2:
            continue
        edge = curve.edges[0].overloaded
        far_ratio, far = max(points, key=lambda found: abs(found[1].value - edge))
        near_ratio, near = max(points, key=lambda found: found[0])
        example = _Example(name, far, far_ratio, near, near_ratio)
        if example.growth > 1 and (best is None or example.growth > best.growth):
            best = example
    return best
