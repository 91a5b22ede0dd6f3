"""The platform of a serverless scenario: sharing, prices, transfers, memory, containers, dispatch."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field
from pydantic import model_validator as _model_validator
from pydantic_core import PydanticCustomError

from nona.gpu_sharing.registry import WAYS
from nona.scenario.late import LATE, by_present_name
from nona.scenario.values import Bandwidth, Bytes, Part, PositiveBytes, PositiveSeconds, Seconds, one_of


class SharingSpec(Part):
    """How a GPU is shared: ``mode`` names one of :data:`nona.gpu_sharing.registry.WAYS`.

    ``mig-counter``: vGPUs are a number that is free; ``mig-geometry``: they are MIG slices at legal places,
    created in ``reconfiguration`` seconds; ``mig-fixed``: the slices of the servers' ``mig``, never
    changed; ``mps``: caps on threads, which may add up to ``oversubscription`` of the GPU, and slow each
    other down by ``interference`` times their demand; ``time-slicing``: turns in proportion to vGPUs.
    """

    mode: Annotated[str, one_of(lambda: WAYS)] = "mig-counter"
    reconfiguration: Seconds = 2.0
    oversubscription: Annotated[float, Field(ge=1, le=48)] = 1.0
    interference: Annotated[float, Field(ge=1, le=100)] = 1.0
    clients: Annotated[int, Field(ge=1, le=48)] = 48


class PricesSpec(Part):
    """US dollars an hour of one vCPU and of one vGPU, and as of when."""

    vcpu_hour: Annotated[float, Field(ge=0, le=1e6)] = 0.034
    vgpu_hour: Annotated[float, Field(ge=0, le=1e6)] = 0.67
    dated: Annotated[str, Field(max_length=200)] = "recollected from the ESG paper (2024), not confirmed"


class TransferSpec(Part):
    """Seconds to fetch an input: latency + bytes / bandwidth, from the same invoker or from another.

    ``remote``: ``alone`` takes so long whatever else is on its way; ``network`` sends what comes from another
    invoker, or from outside, over the cluster's network (its capacity, cards, racks and latency, in place of
    ``remote_latency`` and ``remote_bandwidth``), first come, first served among all transfers and the
    background of the network.
    """

    remote: Literal["alone", "network"] = "alone"
    local_latency: Seconds = 0.5e-3
    local_bandwidth: Bandwidth = 10e9
    remote_latency: Seconds = 5e-3
    remote_bandwidth: Bandwidth = 10e9 / 8


class MemorySpec(Part):
    """Memory of nodes, which containers hold from their start to their end.

    ``limit``: ``none``; ``gpus``: that of a node's GPUs together; ``node``: ``node`` bytes each. A container
    needs its function's ``memory``; else its network's weights and ``overhead``; else, where they are not
    known, ``container``. For one that does not fit, idle ones of the node go, the least recently used first.
    """

    limit: Literal["none", "gpus", "node"] = "none"
    node: PositiveBytes = 40e9
    container: PositiveBytes = 2e9
    overhead: Bytes = 0.5e9


class ContainersSpec(Part):
    """Containers of a function on an invoker.

    ``warm``: that many are there at the start (7: as many as run at once on a GPU in seven parts, which is
    where a busy hour leads). ``prewarm``: ``none``; ``spare`` starts one more whenever
    fewer than ``spare`` are idle; ``ewma`` starts one in time for the next call as predicted from the
    exponentially weighted mean of gaps. An idle container is kept for ``keep_alive``.
    """

    warm: Annotated[int, Field(ge=0, le=48)] = 7
    prewarm: Literal["none", "spare", "ewma"] = "spare"
    spare: Annotated[int, Field(ge=1, le=48)] = 1
    ewma_weight: Annotated[float, Field(gt=0, le=1)] = 0.2
    keep_alive: Seconds = 600.0


class DispatchSpec(Part):
    """Which invoker a batch goes to, and what happens when none has room.

    ``first`` and ``later`` are tried in their order, for an application's entry function and for others.
    After ``rechecks`` times without room the smallest configuration is forced. With ``blocking`` the
    controller plans one queue at a time. A batch smaller than its configuration's runs as it is with
    ``partial`` (else that configuration is left out). ``late``: what becomes of jobs that no
    configuration keeps in time, one of :data:`nona.scenario.late.LATE`; a policy's option of that name comes
    before it. ``ready_first``: for each configuration the rules first look at
    invokers that need not make a MIG slice for it.
    """

    first: tuple[Literal["home", "warm", "walk", "most-free"], ...] = ("home", "warm", "walk", "most-free")
    later: tuple[Literal["predecessor", "home", "warm", "walk", "most-free"], ...] = (
        "predecessor",
        "warm",
        "walk",
        "most-free",
    )
    rechecks: Annotated[int, Field(ge=1, le=1_000_000)] = 50
    blocking: bool = False
    partial: bool = False
    order: Literal["round-robin", "least-slack"] = "round-robin"
    late: Annotated[str, one_of(lambda: LATE), BeforeValidator(by_present_name)] = "keep"
    ready_first: bool = True


class IntervalSpec(Part):
    """Calls of all applications together come at gaps drawn uniformly from ``least`` to ``most``."""

    least: Seconds
    most: PositiveSeconds

    @_model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.least > self.most:
            raise PydanticCustomError("interval", "least must be at most most; swap them")
        return self
