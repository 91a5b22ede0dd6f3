"""The part of a scenario on its cluster: groups of servers, the network, devices of one's own."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, ValidationInfo
from pydantic import field_validator as _field_validator
from pydantic import model_validator as _model_validator
from pydantic_core import PydanticCustomError

from nona.cluster.hardware.cluster import Cluster, Network, Racks, ServerGroup
from nona.cluster.hardware.device import user_devices
from nona.cluster.hardware.mig import gpu_layouts, layouts_text
from nona.core.errors import HardwareError
from nona.scenario.language import EngineSpec
from nona.scenario.rows import MOST_GPUS, InstancesSpec
from nona.scenario.values import Bandwidth, Layouts, Name, ScenarioPart, Seconds, field


class ServerGroupSpec(ScenarioPart):
    """Servers that are all alike."""

    count: int = field(1, "Servers", "How many servers of this kind there are.", ge=1, le=100_000)
    gpu: Name = field("a100-40gb", "GPU", "The device in these servers; it sets the task times.")
    gpus: int = field(1, "GPUs each", "GPUs in every server; each runs its own tasks.", ge=1, le=MOST_GPUS)
    vcpus: int = field(16, "vCPUs each", "Virtual CPUs in every server.", ge=1, le=4096)
    mig: Layouts | None = field(
        None,
        "MIG slices",
        "Of each GPU, e.g. 3g.20gb, 2g.10gb, 2g.10gb. Or a list with the slices of each GPU by number, "
        "e.g. [1g.5gb × 7, whole].",
        none="whole GPUs",
    )
    mps: Annotated[int, Field(ge=1, le=48)] | None = field(
        None,
        "MPS clients per GPU",
        "Processes that share each GPU or slice; each gets an equal part and is an executor.",
        none="not shared",
    )
    instances: InstancesSpec | None = field(
        None,
        "Concurrent tasks",
        "Tasks that run at once on each GPU or slice without limits between them, as Triton runs its "
        "instances.",
        none="one task at a time",
    )
    engine: EngineSpec | None = field(
        None,
        "Engine",
        "Serves language models on these servers, which then run no tasks of other models.",
        none="no engine",
    )

    @_field_validator("mig")
    @classmethod
    def _one_for_each_gpu(cls, value: str | None, info: ValidationInfo) -> str | None:
        try:
            return layouts_text(gpu_layouts(value, info.data["gpus"])) if "gpus" in info.data else value
        except HardwareError as error:
            raise PydanticCustomError("layouts", "{why}", {"why": str(error).rstrip(".")}) from None

    @property
    def layouts(self) -> tuple[str | None, ...]:
        """The MIG layout of each GPU, by number; ``None`` where it is whole."""
        return gpu_layouts(self.mig, self.gpus)

    @_model_validator(mode="after")
    def _shares_in_one_way(self) -> Self:
        if self.mps and self.instances:
            raise PydanticCustomError(
                "instances",
                "mps gives each client a fixed part, concurrent tasks have none; leave one of them out",
            )
        return self

    @_model_validator(mode="after")
    def _engine_fits(self) -> Self:
        if self.engine is None:
            return self
        tp = self.engine.tp
        shares = {"mig": self.mig, "mps": self.mps, "instances": self.instances and self.instances.most}
        if self.gpus % tp:
            raise PydanticCustomError(
                "engine",
                "engine.tp {tp} must divide gpus {gpus}, or GPUs are left; change one of them",
                {"tp": tp, "gpus": self.gpus},
            )
        for key, value in shares.items():
            if value is not None:
                raise PydanticCustomError(
                    "engine",
                    "{key} {value} divides a GPU, but an engine takes whole ones; remove {key} or engine",
                    {"key": key, "value": repr(value)},
                )
        return self


class RacksSpec(ScenarioPart):
    """Racks in which the servers stand."""

    size: int = field(
        ..., "Servers per rack", "Messages within a rack do not cross the core.", ge=1, le=100_000
    )
    uplink: Bandwidth = field(..., "Uplink of each rack", "Capacity up to the core; the same down.")


class NetworkSpec(ScenarioPart):
    """The network between the servers."""

    capacity: Bandwidth = field(
        25e9 / 8,
        "Capacity",
        "Of the link that all servers share, for all messages together, e.g. 25 Gbit/s; less, longer queues.",
    )
    latency: Seconds = field(20e-6, "Latency", "Added to each message after its transfer, e.g. 20 us.")
    discipline: Literal["fifo", "processor-sharing"] = field(
        "fifo",
        "Discipline",
        "Messages one after the other (FIFO), or all in parallel with equal parts of the capacity.",
        choices={"fifo": "one by one", "processor-sharing": "shared equally"},
    )
    nic: Bandwidth | None = field(
        None, "Card of each server", "Capacity in each direction by itself.", none="no limit"
    )
    racks: RacksSpec | None = field(
        None, "Racks", "Traffic that leaves a rack shares its uplink.", none="one room"
    )

    @_model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.racks is not None and self.nic is None:
            raise PydanticCustomError(
                "network", "racks without nic would make messages within a rack cross no link; give nic"
            )
        if self.nic is not None and self.discipline != "fifo":
            raise PydanticCustomError(
                "network",
                "discipline 'processor-sharing' is for a single link; use fifo, or leave out nic and racks",
            )
        return self


class ClusterSpec(ScenarioPart):
    """Servers, the network between them, and devices of one's own."""

    servers: tuple[ServerGroupSpec, ...] = field(
        ..., "Servers", "Groups of servers that are all alike.", min_length=1, max_length=100
    )
    network: NetworkSpec = field(
        NetworkSpec(), "Network", "The link that all servers share, network cards and racks."
    )
    devices: dict[Name, dict[str, object]] = field(
        {}, "Own devices", "By name: figures of a device that the catalogue does not have.", max_length=100
    )

    @property
    def task_groups(self) -> tuple[ServerGroupSpec, ...]:
        """The groups of servers that run tasks of queries."""
        return tuple(group for group in self.servers if group.engine is None)

    @property
    def engine_groups(self) -> tuple[ServerGroupSpec, ...]:
        """The groups of servers that serve language models."""
        return tuple(group for group in self.servers if group.engine is not None)

    def build(self, engines: bool = False) -> Cluster:
        """Return the servers and the network; with ``engines`` those of language models, which run no tasks.

        Raises ``HardwareError`` for an unknown device or an impossible layout, and if no server is left.
        """
        groups = self.servers if engines else self.task_groups
        if not groups:
            raise HardwareError(
                "Cluster: all of its servers have engines of language models; add a group without an engine."
            )
        n = self.network
        racks = None if n.racks is None else Racks(n.racks.size, n.racks.uplink)
        return Cluster(
            tuple(ServerGroup(g.count, g.gpu, g.gpus, g.vcpus, g.mig, g.mps) for g in groups),
            Network(n.capacity, n.latency, n.discipline, n.nic, racks),
            user_devices(self.devices),
        )
