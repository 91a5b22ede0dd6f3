"""Parts of the study: sets of profiles, load, each default replaced by an alternative.

The time of each function at the smallest configuration, and its part on the CPU, are the same in all sets.

An alternative changes keys of the scenario; all policies run with it. Those of a policy's own options
change that policy only; the others are what they were.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from nona.errors import ScenarioError
from nona.options import Option, Options
from nona.results.serverless import OverReport, OverRequest
from nona.scenario.file import scenario_from_mapping
from nona.scenario.schema import Scenario
from nona.serverless.engine.options import RunOptions
from nona.serverless.functions import LawTimes, network_law, shipped_function
from nona.study.serverless.knees import policies_over
from nona.study.serverless.preparation import prepare_serverless
from nona.study.serverless.run import warmup_calls
from nona.study.serverless.tasks import Done, Task, TaskPool, run_tasks
from nona.study.sweep_numbers import LOAD, number_named, with_value
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
BUSY = (0.8, 0.9)  # share of the vGPUs held under esg at which alternatives are tried
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


def pressed(report: OverReport, policy: str = "esg") -> results.Pressed:
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
    return results.Pressed(load=best.value, vgpus_held=best.utilization.vgpu)


Value = Option | Sequence[int] | Sequence[str]
"""A value for a key of a scenario."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """``default`` and ``other`` in words; ``values``: key of the scenario → value.

    ``policy`` and ``options`` are for an option of one policy. ``load`` multiplies the rate of calls.
    ``key``: of the scenario, or ``policy.NAME.OPTION``.
    """

    key: str
    default: str
    other: str
    values: Mapping[str, Value] = field(default_factory=dict)
    policy: str = ""
    options: Options = field(default_factory=dict)
    load: float = 1.0

    @property
    def name(self) -> str:
        """Key and value, which together identify it."""
        return f"{self.key}: {self.other}"

    def applied(self, scenario: Scenario) -> Scenario:
        """The scenario with the change, validated again."""
        loaded = number_named(scenario, LOAD).set(scenario, self.load)
        data = loaded.model_dump(mode="json")
        for path, value in self.values.items():
            *way, last = path.split(".")
            holder = data
            for step in way:
                holder = holder[step]
            holder[last] = value
        return scenario_from_mapping(data)


def _set(key: str, default: str, other: str, value: Value) -> Alternative:
    return Alternative(key, default, other, {key: value})


def _option(policy: str, option: str, default: str, other: str, value: Option) -> Alternative:
    return Alternative(f"policy.{policy}.{option}", default, other, policy=policy, options={option: value})


_S = "serverless"
ALTERNATIVES: tuple[Alternative, ...] = (
    Alternative(
        f"{_S}.containers.warm",
        "7 of each function on each node",
        "48: no cold start ever",
        {f"{_S}.containers.warm": 48, f"{_S}.containers.keep_alive": 1e6},
    ),
    _set(f"{_S}.containers.warm", "7 of each function on each node", "1", 1),
    _set(f"{_S}.containers.warm", "7 of each function on each node", "none", 0),
    _set(f"{_S}.containers.prewarm", "one spare container", "no pre-warming", "none"),
    _set(f"{_S}.containers.prewarm", "one spare container", "by EWMA of gaps", "ewma"),
    _set(f"{_S}.containers.spare", "1", "3", 3),
    _set(f"{_S}.noise", "10 %", "none", 0.0),
    _set(f"{_S}.noise", "10 %", "25 %", 0.25),
    _set(f"{_S}.profile_percentile", "95th percentile of the time", "the median", 50.0),
    _set(f"{_S}.gpu_floor", "19 % of the GPU's time at one vGPU", "none: more vGPUs always help", 0.0),
    _set(f"{_S}.gpu_floor", "19 % of the GPU's time at one vGPU", "80 %: more vGPUs hardly help", 0.8),
    _set(
        f"{_S}.gpu_floor",
        "19 % of the GPU's time at one vGPU",
        "200 %: a batch of 3 takes as long as one",
        2.0,
    ),
    _set(
        f"{_S}.gpu_constant", "55 % of the GPU's time at batch 1", "none: batches save nothing on a vGPU", 0.0
    ),
    _set(f"{_S}.gpu_constant", "55 % of the GPU's time at batch 1", "75 %", 0.75),
    _set(f"{_S}.gpu_exponent", "0.94", "0.4, as of BERT", 0.4),
    _set(f"{_S}.cpu_share", "20 %", "5 %", 0.05),
    _set(f"{_S}.cpu_share", "20 %", "50 %", 0.5),
    Alternative("load", "1", "half the calls", load=0.5),
    Alternative("load", "1", "1.2 times the calls", load=1.2),
    Alternative("load", "1", "1.5 times the calls", load=1.5),
    _set(f"{_S}.interval", "uniform gaps", "Poisson, at the rows' rates", None),
    _set(f"{_S}.transfer.remote_bandwidth", "10 Gbit/s", "1 Gbit/s", 1e9 / 8),
    _set(f"{_S}.transfer.remote_bandwidth", "10 Gbit/s", "100 Gbit/s", 100e9 / 8),
    _set(f"{_S}.transfer.remote_latency", "5 ms", "50 ms", 50e-3),
    _set(f"{_S}.prices.vgpu_hour", "$0.67", "$0.17", 0.17),
    _set(f"{_S}.prices.vgpu_hour", "$0.67", "$2.68", 2.68),
    _set(f"{_S}.dispatch.order", "round robin", "least slack first", "least-slack"),
    _set(
        f"{_S}.dispatch.first", "home invoker first", "warm containers first", ["warm", "walk", "most-free"]
    ),
    _set(
        f"{_S}.dispatch.later", "the predecessor's invoker first", "warm containers first", ["warm", "walk"]
    ),
    _set(f"{_S}.dispatch.rechecks", "50", "5", 5),
    _set(f"{_S}.dispatch.late", "the cheapest", "the fastest", "fastest"),
    _set(f"{_S}.dispatch.late", "the cheapest", "dropped", "drop"),
    _set(f"{_S}.dispatch.partial", "no", "yes", True),
    _set(f"{_S}.dispatch.blocking", "no", "yes: one search at a time", True),
    Alternative(
        f"{_S}.configurations.batch", "256 configurations", "no batches", {f"{_S}.configurations.batch": [1]}
    ),
    Alternative(
        f"{_S}.configurations.vcpus",
        "256 configurations",
        "powers of two: 5 x 5 x 3",
        {
            f"{_S}.configurations.batch": [1, 2, 4, 8, 16],
            f"{_S}.configurations.vcpus": [1, 2, 4, 8, 16],
            f"{_S}.configurations.vgpus": [1, 2, 4],
        },
    ),
    _set(f"{_S}.sharing.mode", "vGPUs as a number", "MIG geometry", "mig-geometry"),
    _set(f"{_S}.sharing.mode", "vGPUs as a number", "MPS", "mps"),
    _set(f"{_S}.sharing.mode", "vGPUs as a number", "time slicing", "time-slicing"),
    _option("esg", "k", "5", "1", 1),
    _option("esg", "k", "5", "20", 20),
    _option("esg", "group", "3", "1", 1),
    _option("esg", "group", "3", "5", 5),
    _option("esg", "later_batches", "at most the queue at hand", "any", "any"),
    _option("esg", "replan", "before every stage", "once, before the first", False),
    _option("esg", "step_s", "measured", "a microsecond a path", 1e-6),
    _option("infless", "standing", "a lease per batch", "instances that stand", True),
    _option("fast-gshare", "standing", "a lease per batch", "instances that stand", True),
    _option("orion", "cutoff_s", "100 ms", "10 ms", 0.01),
    _option("orion", "step_s", "1 ms", "0.1 ms", 1e-4),
    _option("orion", "priority", "latency", "cost", "cost"),
)

Place = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class SensitivitySize:
    """Policies in order, calls and replications of a run."""

    policies: tuple[str, ...]
    calls: int
    replications: int


def sensitivity(
    scenarios: Mapping[str, Scenario],
    rows: Sequence[Alternative],
    size: SensitivitySize,
    pool: TaskPool,
    tell: Callable[[float], None],
) -> results.Sensitivity:
    """The study's cells with the defaults, and with each alternative, in every scenario."""
    tasks, places = [], []
    slo_s: dict[str, list[float]] = {}
    for name, scenario in scenarios.items():
        slo_s[name] = [app.slo_s for app in prepare_serverless(scenario).applications]
        for number, row in enumerate([None, *rows]):
            changed = scenario if row is None else row.applied(scenario)
            options = {} if row is None else row.options
            who = _who(row, size.policies)
            run = _short(changed, size.calls, [(policy, options) for policy in who])
            for policy in who:
                tasks.append(Task(changed, policy, options, run, size.replications))
                places.append((name, number, policy))
    done = dict(zip(places, run_tasks(tasks, pool, tell), strict=True))
    cells: dict[Place, results.Cell] = {at: cell(d, slo_s[at[0]]) for at, d in done.items()}

    def of(name: str, number: int) -> dict[str, results.Cell]:
        return {p: cells[at] for p in size.policies if (at := (name, number, p)) in cells}

    return results.Sensitivity(
        calls=size.calls,
        replications=size.replications,
        default={name: of(name, 0) for name in scenarios},
        rows=tuple(
            results.AlternativeCells.like(row, settings={name: of(name, number) for name in scenarios})
            for number, row in enumerate(rows, 1)
        ),
    )


def _short(scenario: Scenario, calls: int, policies: Sequence[tuple[str, Options]]) -> RunOptions:
    """A run whose warm-up covers the cold starts, and the instances, that it may begin without."""
    system = prepare_serverless(scenario)
    return RunOptions(calls=calls, warmup=warmup_calls(scenario, system, calls, policies))


def _who(row: Alternative | None, policies: Sequence[str]) -> Sequence[str]:
    """The policies that an alternative changes: that of its option, else all."""
    return policies if row is None or not row.policy else (row.policy,)


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
