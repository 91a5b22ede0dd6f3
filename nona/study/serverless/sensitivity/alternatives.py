"""Alternatives to the defaults: one change at a time, the same for every policy.

An alternative changes keys of the scenario; all policies run with it. Those of a policy's own options
change that policy only; the others are what they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nona.options import Option, Options
from nona.scenario.file import scenario_from_mapping
from nona.scenario.schema import Scenario
from nona.study.sweeps.numbers import LOAD, number_named

Value = Option | Sequence[int] | Sequence[str]
"""What a key of a scenario is set to."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """``default`` and ``other`` in words; ``values``: key of the scenario → value.

    ``policy`` and ``options`` are for an option of one policy. ``load`` multiplies the rate of calls.
    ``key`` is that of :mod:`nona.serverless.provenance`.
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
