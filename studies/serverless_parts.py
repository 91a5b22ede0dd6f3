"""Parts of the study: sets of profiles, load.

The time of each function at the smallest configuration, and its part on the CPU, are the same in all sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from nona.errors import ScenarioError
from nona.results.serverless import OverReport, OverRequest
from nona.scenario.file import scenario_from_mapping
from nona.scenario.schema import Scenario
from nona.serverless.functions import LawTimes, network_law, shipped_function
from nona.study.serverless.knees import policies_over
from nona.study.serverless.tasks import Done, TaskPool
from nona.study.sweep_numbers import with_value
from studies import policy_results as results

# The measured network that is most like what a function is said to run (recollected); the choice is ours.
LIKE: Mapping[str, str] = MappingProxyType(
    {
        "super_resolution": "vgg16",
        "segmentation": "resnet101",
        "deblur": "resnet50",
        "classification": "resnet50",
        "background_removal": "densenet121",
        "depth_recognition": "resnet152",
    }
)
# The default of earlier versions: a batch takes as long as its jobs one by one.
NO_GAIN: Mapping[str, float] = MappingProxyType({"gpu_floor": 0.4, "gpu_constant": 0.0, "gpu_exponent": 0.95})


@dataclass(frozen=True, slots=True)
class ProfileSet:
    """A set of profiles: its ``name``, a clause about it, and ``applied``, which changes a scenario."""

    name: str
    about: str
    applied: Callable[[Scenario], Scenario]


def _as_it_is(scenario: Scenario) -> Scenario:
    return scenario


def _changed(scenario: Scenario, values: Mapping[str, object]) -> Scenario:
    data: dict[str, Any] = scenario.model_dump(mode="json")
    data["serverless"] |= values
    return scenario_from_mapping(data)


def _per_network(scenario: Scenario) -> Scenario:
    """Each function with the shape of the network that it is like, at its own time."""
    functions: dict[str, object] = {}
    for name, network in LIKE.items():
        function = shipped_function(name)
        if function is None or not isinstance(function.times, LawTimes):
            raise ScenarioError([f"Profiles: {name!r} is no shipped function with a law; correct the table."])
        gpu, cpu, like = function.times.gpu, function.times.cpu, network_law(network)
        law = like.scaled(gpu.seconds(1, 1) / like.seconds(1, 1))
        functions[name] = {
            "gpu": {
                "per_query": law.per_query_s,
                "floor": law.floor_s,
                "constant": law.constant_s,
                "exponent": law.exponent,
            },
            "cpu": {"parallel": cpu.parallel_s, "serial": cpu.serial_s},
            "cold_start": function.cold_start_s,
            "input": function.input_bytes,
            "source": f"shape of {network} as fitted, at the function's own time",
        }
    return _changed(scenario, {"functions": functions})


PROFILE_SETS: tuple[ProfileSet, ...] = (
    ProfileSet("VGG-like", "the default: the shape of VGG-16 and VGG-19 as measured", _as_it_is),
    ProfileSet(
        "per network",
        "each function has the shape of one measured network: "
        + ", ".join(f"{name} {network}" for name, network in LIKE.items()),
        _per_network,
    ),
    ProfileSet(
        "no gain by batches",
        "a batch takes as long as its jobs one by one, and more vGPUs help down to 0.4 of the time",
        lambda scenario: _changed(scenario, NO_GAIN),
    ),
)

# Factors on each setting's load: the same calls per second in all three, and more where knees are.
VALUES: Mapping[str, tuple[float, ...]] = {
    "strict_light": (1.0, 2.0, 3.0, 4.0, 4.5, 5.0),
    "moderate_normal": (0.5, 1.0, 1.5, 2.0, 2.25, 2.5),
    "relaxed_heavy": (0.25, 0.5, 0.75, 1.0, 1.125, 1.25),
}
USUAL_VALUES = (0.5, 1.0, 1.5, 2.0)
SCARCE = ((0.05, 16), (0.5, 16), (0.2, 8), (0.2, 32))  # CPU share, vCPUs of a node
Tell = Callable[[float], None]


def _over(
    scenario: Scenario, values: Sequence[float], asked: OverRequest, pool: TaskPool, tell: Tell
) -> OverReport:
    """Over the ``values`` and beyond, unless the request brings its own."""
    if not asked.values:
        asked = asked.model_copy(update={"values": tuple(values), "extend": True})
    return policies_over(scenario, asked, pool=pool, on_progress=lambda share, text, report: tell(share))


def profile_curves(
    scenarios: Mapping[str, Scenario],
    asked: OverRequest,
    pool: TaskPool,
    tell: Tell,
    sets: Sequence[ProfileSet] = PROFILE_SETS,
) -> tuple[results.ProfileCurves, ...]:
    """Every policy over load in every setting, with every set of profiles."""
    curves, count = [], len(sets) * len(scenarios)
    for n, profiles in enumerate(sets):
        reports = {}
        for k, (name, scenario) in enumerate(scenarios.items()):
            start = n * len(scenarios) + k

            def part(share: float, start: int = start) -> None:
                tell((start + share) / count)

            values = VALUES.get(name, USUAL_VALUES)
            reports[name] = _over(profiles.applied(scenario), values, asked, pool, part)
        curves.append(results.ProfileCurves(name=profiles.name, about=profiles.about, settings=reports))
    return tuple(curves)


def scarce_curves(
    scenario: Scenario,
    name: str,
    asked: OverRequest,
    pool: TaskPool,
    tell: Tell,
    scarce: Sequence[tuple[float, int]] = SCARCE,
) -> tuple[results.ScarceCurve, ...]:
    """One setting over load with other CPU shares and vCPUs a node: vCPUs scarcer, or vGPUs."""
    curves = []
    for n, (share, vcpus) in enumerate(scarce):

        def part(done: float, n: int = n) -> None:
            tell((n + done) / len(scarce))

        changed = with_value(scenario, "serverless.cpu_share", share)
        for group in range(len(scenario.cluster.servers)):
            changed = with_value(changed, f"cluster.servers[{group}].vcpus", vcpus)
        report = _over(changed, VALUES.get(name, USUAL_VALUES), asked, pool, part)
        curves.append(results.ScarceCurve(cpu_share=share, vcpus=vcpus, report=report))
    return tuple(curves)


def cell(done: Done, slo_s: Sequence[float]) -> results.Cell:
    """The numbers of a task, with the SLOs of the applications."""
    summary = done.summary
    applications = list(zip(summary.applications.values(), slo_s, strict=True))
    means = [(_of_slo(a.latency_s.mean, s), a.calls) for a, s in applications]
    missed = summary.configuration_miss_rate
    return results.Cell(
        hits=tuple(r.all.hit_rate for r in done.runs),
        costs=tuple(r.all.cost_per_call for r in done.runs),
        miss=None if missed is None else missed.mean,
        search_s=summary.search_s.mean,
        fill=tuple(_of_slo(a.latency_s.p50, s) for a, s in applications),
        mean_fill=sum(m * n for m, n in means) / sum(n for _, n in means),
        state=summary.state,
    )


def _of_slo(latency_s: float | None, slo_s: float) -> float:
    return math.nan if latency_s is None else latency_s / slo_s
