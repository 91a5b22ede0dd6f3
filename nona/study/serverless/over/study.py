"""The parts of the serverless study over load: settings by profile sets, scarcity, where it is busy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nona.results.serverless.over import OverReport
from nona.results.serverless.study import Pressed, ProfileCurves, ScarceCurve
from nona.scenario.schema import Scenario
from nona.study.serverless.over.profile_sets import PROFILE_SETS, ProfileSet
from nona.study.serverless.over.run import OverProgress, policies_over
from nona.study.serverless.over.settings import OverSettings, over_number
from nona.study.serverless.tasks import TaskPool
from nona.study.sweeps.numbers import LOAD, with_value

# Factors on each setting's load: the same calls per second in all three, and more where knees are.
VALUES: Mapping[str, tuple[float, ...]] = {
    "strict_light": (1.0, 2.0, 3.0, 4.0, 4.5, 5.0),
    "moderate_normal": (0.5, 1.0, 1.5, 2.0, 2.25, 2.5),
    "relaxed_heavy": (0.25, 0.5, 0.75, 1.0, 1.125, 1.25),
}
USUAL_VALUES = (0.5, 1.0, 1.5, 2.0)
SCARCE = ((0.05, 16), (0.5, 16), (0.2, 8), (0.2, 32))  # CPU share, vCPUs of a node
BUSY = (0.8, 0.9)  # share of the vGPUs held under esg at which alternatives are tried
CLOSE = 0.08
Tell = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class CurveSize:
    """Calls of a run, replications at first and at most; ``policies`` in order."""

    policies: tuple[str, ...]
    calls: int
    first: int
    most: int
    values: tuple[float, ...] | None = None


def _over(
    scenario: Scenario, values: Sequence[float], size: CurveSize, pool: TaskPool, tell: Tell
) -> OverReport:
    settings = OverSettings(
        number=over_number(scenario, LOAD),
        values=tuple(values) if size.values is None else size.values,
        policies=size.policies,
        calls=size.calls,
        first=size.first,
        most=size.most,
        extend=size.values is None,
        close=CLOSE,
    )

    def told(progress: OverProgress) -> None:
        tell(progress.fraction)

    return policies_over(scenario, settings, pool=pool, on_progress=told)


def profile_curves(
    scenarios: Mapping[str, Scenario],
    size: CurveSize,
    pool: TaskPool,
    tell: Tell,
    sets: Sequence[ProfileSet] = PROFILE_SETS,
) -> tuple[ProfileCurves, ...]:
    """Every policy over load in every setting, with every set of profiles."""
    found, count = [], len(sets) * len(scenarios)
    for n, profiles in enumerate(sets):
        reports = {}
        for k, (name, scenario) in enumerate(scenarios.items()):
            start = n * len(scenarios) + k

            def part(share: float, start: int = start) -> None:
                tell((start + share) / count)

            values = VALUES.get(name, USUAL_VALUES)
            reports[name] = _over(profiles.applied(scenario), values, size, pool, part)
        found.append(ProfileCurves(name=profiles.name, about=profiles.about, settings=reports))
    return tuple(found)


def scarce_curves(
    scenario: Scenario,
    name: str,
    size: CurveSize,
    pool: TaskPool,
    tell: Tell,
    scarce: Sequence[tuple[float, int]] = SCARCE,
) -> tuple[ScarceCurve, ...]:
    """One setting over load with other CPU shares and vCPUs a node: vCPUs scarcer, or vGPUs."""
    found = []
    for n, (share, vcpus) in enumerate(scarce):

        def part(done: float, n: int = n) -> None:
            tell((n + done) / len(scarce))

        changed = with_value(scenario, "serverless.cpu_share", share)
        for group in range(len(scenario.cluster.servers)):
            changed = with_value(changed, f"cluster.servers[{group}].vcpus", vcpus)
        report = _over(changed, VALUES.get(name, USUAL_VALUES), size, pool, part)
        found.append(ScarceCurve(cpu_share=share, vcpus=vcpus, report=report))
    return tuple(found)


def pressed(report: OverReport, policy: str = "esg") -> Pressed:
    """The load at which ``policy`` holds 80 to 90 % of the vGPUs, or comes nearest to 85 %.

    Of several such loads the largest that keeps the target, else the largest.
    """
    points = [p for p in report.policies[policy].points if p.utilization.vgpu is not None]
    inside = [p for p in points if BUSY[0] <= (p.utilization.vgpu or 0.0) <= BUSY[1]]
    kept = [p for p in inside if p.verdict == "keeps"] or inside
    middle = sum(BUSY) / 2
    best = (
        max(kept, key=lambda p: p.value)
        if kept
        else min(points, key=lambda p: abs((p.utilization.vgpu or 0.0) - middle))
    )
    return Pressed(load=best.value, vgpus_held=best.utilization.vgpu)
