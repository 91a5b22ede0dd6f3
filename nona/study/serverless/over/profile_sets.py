"""Sets of profiles for the study: how the times of the six functions depend on batch and vGPUs.

The time of each function at the smallest configuration, and its part on the CPU, are the same in all sets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from nona.errors import ScenarioError
from nona.scenario.file import scenario_from_mapping
from nona.scenario.schema import Scenario
from nona.serverless.model.catalogue import network_law, shipped_function
from nona.serverless.model.function import LawTimes

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
    """``name`` and what it is in a clause; ``applied`` changes a scenario."""

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
