"""The options of INFless."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from nona.options import Options

DEFAULTS: Options = MappingProxyType(
    {
        "wait": True,
        "batch_vcpus": True,
        "gpu_share": 0.5,
        "vcpu_weight": 64.0,
        "gpu_weight": 14_200.0,
        "search_s": 0.0,
        "standing": False,
        "scale_s": 1.0,
        "window_s": 10.0,
    }
)


@dataclass(frozen=True, slots=True)
class InflessOptions:
    """The options of INFless; see :data:`HELP` for what they do."""

    wait: bool
    batch_vcpus: bool
    gpu_share: float
    vcpu_weight: float
    gpu_weight: float
    search_s: float


HELP = MappingProxyType(
    {
        "wait": "Whether a batch may wait until it is full or its time-out ends.",
        "batch_vcpus": "Whether a batch of b jobs gets at most b vCPUs (2 for one job), as in the code.",
        "gpu_share": "Largest part of a GPU for a batch; the code's lists end at a half.",
        "vcpu_weight": "Weight of a left-over vCPU (GFLOPs of a thread).",
        "gpu_weight": "Weight of a whole left-over GPU (GFLOPs).",
        "search_s": "Seconds charged for a decision; standing instances need none.",
        "standing": "Whether instances stand, started and stopped by load, instead of a lease per batch.",
        "scale_s": "With standing: seconds between two looks at the number of instances.",
        "window_s": "With standing: seconds over which the rate of a queue is measured.",
    }
)
