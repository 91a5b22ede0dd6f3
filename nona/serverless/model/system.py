"""The serverless system: functions, applications, invokers, and the rules of the platform, in arrays.

Made by :mod:`nona.study.serverless` from a scenario; search, policies and simulation see only this.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.gpu_sharing.resources import Invoker
from nona.scenario.serverless import (
    ContainersSpec,
    DispatchSpec,
    IntervalSpec,
    PricesSpec,
    SharingSpec,
    TransferSpec,
)
from nona.serverless.model.application import Application
from nona.serverless.model.configuration import ConfigurationSpace
from nona.serverless.model.function import Function
from nona.serverless.model.memory import NodeMemory
from nona.serverless.model.network import SharedNetwork

HOUR_S = 3600.0
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ServerlessSystem:
    """F functions, A applications, N invokers, C configurations.

    ``sharing``, ``prices``, ``transfer``, ``containers`` and ``dispatch`` are the scenario's own parts.
    ``idle_cost``: the share of its price that an idle container pays.
    ``memory``: of the invokers, ``None`` where it is no limit.
    ``network``: what transfers share, ``None`` where each takes its time alone.

    Raises
    ------
    SimulationError
        When there is no application or no invoker, or an invoker cannot hold the smallest configuration.
    """

    space: ConfigurationSpace
    functions: tuple[Function, ...]
    applications: tuple[Application, ...]
    invokers: tuple[Invoker, ...]
    sharing: SharingSpec = field(default_factory=SharingSpec)
    prices: PricesSpec = field(default_factory=PricesSpec)
    transfer: TransferSpec = field(default_factory=TransferSpec)
    containers: ContainersSpec = field(default_factory=ContainersSpec)
    dispatch: DispatchSpec = field(default_factory=DispatchSpec)
    noise: float = 0.0
    profile_percentile: float = 95.0
    interval: IntervalSpec | None = None
    seed: int = 0
    notes: tuple[str, ...] = ()
    network: SharedNetwork | None = None
    idle_cost: float = 0.0
    memory: NodeMemory | None = None

    def __post_init__(self) -> None:
        if not self.applications or not self.invokers:
            raise SimulationError("Serverless: give at least one application and one invoker.")
        least = self.space[self.space.smallest]
        for number, node in enumerate(self.invokers):
            if node.vcpus < least.vcpus or node.vgpus < least.vgpus:
                raise SimulationError(
                    f"Invoker {number}: {node.vcpus} vCPUs and {node.vgpus} vGPUs a GPU do not hold the "
                    f"smallest configuration ({least.text}); enlarge it, or allow smaller ones."
                )

    @cached_property
    def _seconds(self) -> tuple[Floats, Floats]:
        pairs = [f.seconds(self.space) for f in self.functions]
        return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])

    @property
    def cpu_s(self) -> Floats:
        """(F, C) Seconds on the CPU."""
        return self._seconds[0]

    @property
    def gpu_s(self) -> Floats:
        """(F, C) Seconds on the GPU, alone on its part of it."""
        return self._seconds[1]

    @property
    def remote_path(self) -> tuple[float, float]:
        """Latency (s) and bandwidth (bytes/s) of a transfer from elsewhere when nothing is in its way."""
        if self.network is not None:
            return self.network.latency_s, self.network.slowest
        return self.transfer.remote_latency, self.transfer.remote_bandwidth

    @cached_property
    def time_s(self) -> Floats:
        """(F, C) Seconds of a whole batch: CPU, then GPU; infinite where it cannot run."""
        return self.cpu_s + self.gpu_s

    @cached_property
    def price_per_s(self) -> Floats:
        """(C,) US dollars a second that a configuration costs while it is held."""
        hourly = self.space.vcpus * self.prices.vcpu_hour + self.space.vgpus * self.prices.vgpu_hour
        return np.asarray(hourly / HOUR_S, dtype=np.float64)

    @cached_property
    def job_cost(self) -> Floats:
        """(F, C) US dollars a job of a full batch that has a GPU part to itself."""
        return self.job_cost_at(self.time_s)

    def job_cost_at(self, time_s: Floats) -> Floats:
        """(F, C) US dollars a job of a full batch that takes ``time_s``: time · price / batch.

        Infinite where the time is, also without a price.
        """
        cost = np.full_like(time_s, np.inf)
        np.multiply(time_s, self.price_per_s, out=cost, where=np.isfinite(time_s))
        return np.asarray(cost / self.space.batch, dtype=np.float64)

    def smallest_s(self, application: Application) -> float:
        """L: seconds of an application with every stage at the smallest configuration."""
        return application.longest_s(self.time_s[list(application.function), self.space.smallest])

    @cached_property
    def queues(self) -> tuple[tuple[int, int], ...]:
        """The AFW queues: every (application, stage), in order."""
        return tuple((a, s) for a, app in enumerate(self.applications) for s in range(app.stages))
