"""What the files say, joined into no scenario yet: servers, graphs of stages, their times, loads, engines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from nona.cluster.hardware.mig import gpu_layouts


@dataclass(frozen=True, slots=True)
class FoundServers:
    """Servers that are alike.

    Parameters
    ----------
    gpu
        Device; empty where none is known.
    mig
        Layouts of the GPUs, as :func:`nona.cluster.hardware.mig.gpu_layouts` reads them; empty: whole GPUs.
    shared
        Tasks that run at once on each GPU or slice without limits between them (time slicing).
    mps
        Clients of MPS on each GPU.
    """

    count: int
    gpu: str
    gpus: int
    vcpus: int
    place: str
    mig: str = ""
    shared: int = 1
    mps: int = 0

    @property
    def has_whole(self) -> bool:
        """True where a GPU of each server is neither divided nor shared by MPS."""
        return not self.mps and None in gpu_layouts(self.mig or None, self.gpus)


@dataclass(frozen=True, slots=True)
class Pool:
    """Instances of a model: ``count`` on each of the ``gpus`` of a server; none named: on all, or the CPU."""

    count: int
    on_cpu: bool = False
    gpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Batching:
    """How a server runs several queries as one; sizes up to 1: one by one."""

    max_batch: int = 1
    delay_s: float = 0.0
    preferred: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """A task of a graph: one step of a model.

    ``onnx``: the file, among those given, from whose graph its time is modelled; ``service``: the name by
    which other files call its model; ``place``: where it stands; ``batching`` is ``None`` where nothing says.
    """

    name: str
    service: str
    place: str
    pools: tuple[Pool, ...] = ()
    batching: Batching | None = None
    onnx: str = ""
    version: str = ""

    @property
    def on_cpu(self) -> bool:
        """True where it runs on the CPU alone."""
        return bool(self.pools) and all(pool.on_cpu for pool in self.pools)


@dataclass(frozen=True, slots=True)
class Transfer:
    """A tensor that one stage hands to another; ``size_bytes`` is ``None`` where it is unknown.

    ``own``: its name in the model that makes it.
    """

    source: str
    target: str
    tensor: str
    size_bytes: float | None
    own: str = ""


@dataclass(frozen=True, slots=True)
class StageGraph:
    """Stages of a query; ``share``: the part of the queries that take this way, ``None`` where asked.

    ``measured``: it is a model whose operators were measured, without stages; ``symbols``: the sizes of its
    open dimensions.
    """

    name: str
    stages: tuple[Stage, ...]
    transfers: tuple[Transfer, ...]
    place: str
    share: float | None = 1.0
    rate_of: str = ""
    measured: MeasuredModel | None = None
    symbols: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class FoundTimes:
    """Seconds of a model's step by the inputs that ran together; ``service`` is empty where none says it.

    ``line``: seconds of a step, and of each query in it, where steps of unlike batches tell them.
    """

    service: str
    seconds: Mapping[int, float]
    place: str
    version: str = ""
    line: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class FoundLoad:
    """Traffic that was seen on a model; ``wait_s``: the mean wait of so many ``requests`` for their step.

    ``batch``: the mean of the requests that ran together.
    """

    service: str
    place: str
    rate: float | None = None
    wait_s: float | None = None
    requests: int = 0
    batch: float = 1.0
    concurrency: int | None = None
    tokens: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    trace: str = ""


@dataclass(frozen=True, slots=True)
class FoundProfile:
    """Seconds of a model's layers, one after the other; copies between them are ``copies_s``.

    ``stem``: of its file's name; ``batch``: the inputs that probably ran together, ``None`` where unknown.
    """

    stem: str
    place: str
    layers: tuple[tuple[str, float], ...]
    copies_s: float = 0.0
    batch: float | None = None


@dataclass(frozen=True, slots=True)
class MeasuredModel:
    """A model of a file, called ``model`` inside it, with the seconds of its operators at a batch."""

    file: str
    model: str
    seconds: Mapping[str, float]
    batch: int
    profile: FoundProfile

    @property
    def step_s(self) -> float:
        """Seconds of a step, copies included."""
        return sum(self.seconds.values()) + self.profile.copies_s


@dataclass(frozen=True, slots=True)
class FoundEngine:
    """An engine of a language model: settings as a scenario has them."""

    model: str
    settings: Mapping[str, object]
    place: str
    gpu: str = ""
    count: int | None = None
    precision: str = ""
    servers: FoundServers | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """All that one reader, or several, found."""

    servers: tuple[FoundServers, ...] = ()
    graphs: tuple[StageGraph, ...] = ()
    times: tuple[FoundTimes, ...] = ()
    loads: tuple[FoundLoad, ...] = ()
    engines: tuple[FoundEngine, ...] = ()
    profiles: tuple[FoundProfile, ...] = ()
    blocks: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    precision: str = ""
    stack: str = ""

    def __add__(self, other: Found) -> Found:
        """Return what both found."""
        return Found(
            self.servers + other.servers,
            self.graphs + other.graphs,
            self.times + other.times,
            self.loads + other.loads,
            self.engines + other.engines,
            self.profiles + other.profiles,
            {**self.blocks, **other.blocks},
            self.precision or other.precision,
            self.stack or other.stack,
        )
