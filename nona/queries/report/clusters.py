"""A cluster: devices, MIG slices, capacity at a glance, and the map that is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import NamedTuple

from nona.cluster.hardware.cluster import Cluster, ServerGroup
from nona.cluster.hardware.device import Device, SourcedFact, find_device
from nona.cluster.hardware.executor import ExecutorClass, make_executor_class
from nona.cluster.hardware.mig import MigLayout, assumed, layout_words
from nona.core.document import Document
from nona.core.tables import (
    BANDWIDTH,
    COUNT,
    SHARE,
    SIZE,
    WHOLE_SHARE,
    Column,
    FilledTable,
    NumberKind,
    Table,
)
from nona.core.text import count_text
from nona.core.units import format_bandwidth, format_count, format_size, format_time
from nona.models.cost.options import slice_constant
from nona.queries.chart_data import ResourceLoad
from nona.scenario.provenance import precision_of
from nona.scenario.schema import CostSpec


class DeviceEntry(Document):
    """A device: texts with units beside numbers in SI units; ``sources`` are those of its attributes."""

    name: str
    title: str
    fp16: str
    memory: str
    bandwidth: str
    mig: str
    peak_flop_per_s: Mapping[str, float]
    memory_bytes: float
    bandwidth_bytes_per_s: float
    sms: int
    sources: Mapping[str, str]


def device_row(device: Device) -> DeviceEntry:
    """Figures of a device for ``nona devices``."""
    return DeviceEntry.from_fields(
        device,
        fp16=format_count(device.peak("fp16"), "FLOP/s"),
        memory=format_size(device.memory_bytes),
        bandwidth=f"{format_size(device.bandwidth)}/s",
        mig="no" if not device.mig else "yes, partly assumed" if assumed(device.mig) else "yes",
        peak_flop_per_s={str(k): v for k, v in device.peaks.items()},
        bandwidth_bytes_per_s=device.bandwidth,
        sources={key: _source(fact) for key, fact in device.facts.items()},
    )


_FLOPS = NumberKind(partial(format_count, unit="FLOP/s"), "_flop_per_s")

DEVICES = Table[Device](
    "",
    (
        Column("device", lambda d: d.name, decides=True),
        Column("fp32", lambda d: d.peak("fp32"), _FLOPS, decides=True),
        Column("fp16", lambda d: d.peak("fp16"), _FLOPS, decides=True),
        Column("memory", lambda d: d.memory_bytes, SIZE, decides=True),
        Column("bandwidth", lambda d: d.bandwidth, NumberKind(lambda b: f"{format_size(b)}/s"), decides=True),
        Column("to a peer", lambda d: d.peer_bandwidth or None, BANDWIDTH, decides=True),
        Column("MIG", lambda d: "yes" if d.mig else "no", decides=True),
        Column("recollected, not checked", lambda d: ", ".join(_recollected(d))),
        Column("sources", lambda d: "; ".join(sorted({f.source for f in d.facts.values()}))),
    ),
)


def _recollected(device: Device) -> list[str]:
    return sorted(key for key, fact in device.facts.items() if fact.checked == "recollected")


def _source(fact: SourcedFact) -> str:
    """Return a source in words, and whether it was checked.

    >>> _source(SourcedFact("a data sheet", "yes")), _source(SourcedFact("a data sheet", "recollected"))
    ('a data sheet (checked)', 'a data sheet (recollected)')
    """
    if fact.checked == "user":
        return fact.source
    return f"{fact.source} ({'checked' if fact.checked == 'yes' else fact.checked})"


def work_bound_speed(compute_fraction: float) -> float:
    """Speed of a slice over that of the whole device for work that fills both: f^α.

    A kernel too small to fill the whole device loses less (:class:`nona.models.cost.roofline.Roofline`).

    >>> work_bound_speed(1.0)
    1.0
    """
    return float(compute_fraction ** slice_constant("speed_exponent"))


@dataclass(frozen=True, slots=True)
class PlacedInstance:
    """An instance of a layout: its profile, its memory slices, and the executor that it makes.

    ``compute``, ``bandwidth`` and ``speed`` (of work that fills it) are fractions of the whole device;
    ``geometry`` says whether its place on the board was checked.
    """

    profile: str
    memory_slices: str
    memory_bytes: float
    sms: int
    sms_of: int
    compute: float
    bandwidth: float
    speed: float
    executor: str
    geometry: str


def laid_instances(device: Device, layout: MigLayout) -> list[PlacedInstance]:
    """Return the instances of a layout by their position on the board."""
    return [
        PlacedInstance(
            profile=piece.profile,
            memory_slices=_span(piece.start, profile.memory_slices),
            memory_bytes=executor_class.memory_bytes,
            sms=profile.sms,
            sms_of=device.sms,
            compute=executor_class.compute_fraction,
            bandwidth=executor_class.bandwidth_fraction,
            speed=work_bound_speed(executor_class.compute_fraction),
            executor=executor_class.name,
            geometry={"yes": "checked", "assumed": "assumed"}.get(profile.checked, profile.checked),
        )
        for piece, profile in zip(layout.slices, layout.profiles, strict=True)
        for executor_class in [make_executor_class(device, piece.profile)]
    ]


OF_WHOLE = "Of the whole device."
SPEED = "Over that of the whole device, for"
INSTANCES = Table[PlacedInstance](
    "",
    (
        Column("slice", lambda i: i.profile, decides=True),
        Column("memory slices", lambda i: i.memory_slices),
        Column("memory", lambda i: i.memory_bytes, SIZE, decides=True),
        Column("SMs", lambda i: f"{i.sms} of {i.sms_of}"),
        Column("compute", lambda i: i.compute, WHOLE_SHARE, decides=True, help=OF_WHOLE),
        Column("bandwidth", lambda i: i.bandwidth, WHOLE_SHARE, decides=True, help=OF_WHOLE),
        Column(
            "speed, large kernels",
            lambda i: i.speed,
            WHOLE_SHARE,
            decides=True,
            help=f"{SPEED} work that fills the slice, e.g. large batches (f^0.95).",
        ),
        Column("geometry", lambda i: i.geometry),
    ),
)


def instances(laid: Sequence[PlacedInstance], speeds: Mapping[str, Mapping[str, float]]) -> FilledTable:
    """Return the instances of a layout.

    ``speeds``: model → executor → its speed over that of the whole device.
    """

    def speed(model: str) -> Column[PlacedInstance]:
        about = f"{SPEED} this model's operators one after the other."
        return Column(
            f"speed, {model}", lambda i: speeds[model][i.executor], WHOLE_SHARE, decides=True, help=about
        )

    return Table("", (*INSTANCES.columns, *map(speed, speeds))).fill(laid)


def _span(start: int, size: int) -> str:
    return str(start) if size == 1 else f"{start}–{start + size - 1}"


def stranded_text(compute: int, memory: tuple[int, ...]) -> str:
    """Return the parts of the device that no instance can use, in words.

    >>> stranded_text(1, (7,)), stranded_text(0, ())
    ('1 compute slice and memory slice 7', 'none')
    """
    parts = []
    if compute:
        parts.append(f"{compute} compute slice{'s' if compute > 1 else ''}")
    if memory:
        parts.append(f"memory slice{'s' if len(memory) > 1 else ''} {', '.join(map(str, memory))}")
    return " and ".join(parts) or "none"


@dataclass(frozen=True, slots=True)
class GroupDrawing:
    """One server group: how many servers and GPUs, and the executors of each GPU.

    ``slices`` holds, for each executor of each GPU, its label, its part of the device's compute, and
    the compute slices of its MIG instance (0 for a whole GPU or an MPS client).
    """

    servers: int
    gpus: int
    vcpus: int
    device: str
    sharing: str
    slices: tuple[tuple[tuple[str, float, int], ...], ...]


def _group_picture(cluster: Cluster, group: ServerGroup) -> GroupDrawing:
    device = find_device(group.gpu, cluster.devices)
    gpus = group.classes(device)
    several, each = len(set(group.layouts)) > 1, count_text(len(gpus[0]), "executor")
    sharing = layout_words(group.mig) if several else f"{each} by MIG" if group.mig else "undivided GPUs"
    if group.mps:
        where = f" on each: {sharing}" if several else f" on each slice, {each}" if group.mig else ""
        sharing = f"{group.mps} MPS clients{where}"
    slices = tuple(
        tuple((c.mig or ("GPU" if c.whole else "client"), c.compute_fraction, _slices(c)) for c in classes)
        for classes in gpus
    )
    return GroupDrawing(group.count, group.gpus, group.vcpus, device.title, sharing, slices)


def _slices(executor: ExecutorClass) -> int:
    return int(executor.mig.split("g.")[0]) if executor.mig else 0


@dataclass(frozen=True, slots=True)
class Capacity:
    """Totals of a cluster: executors, their memory (bytes), their peak (FLOP/s) as models run.

    ``precisions`` are those in which they run.
    """

    executors: int
    memory_bytes: float
    flop_per_s: float
    precisions: tuple[str, ...]


def capacity(cluster: Cluster, tasks: Cluster | None, cost: CostSpec) -> Capacity:
    """Totals over all executors of ``cluster``, of which those of ``tasks`` run tasks, the others engines.

    Engines run language models in bf16, which is as fast as fp16.

    >>> cluster = Cluster((ServerGroup(2, "t4", vcpus=4),))
    >>> capacity(cluster, cluster, CostSpec()).precisions, capacity(cluster, None, CostSpec()).precisions
    (('fp32',), ('bf16',))
    """
    classes = cluster.classes
    every = Counter(e.executor_class for e in cluster.executors)
    running = Counter(e.executor_class for e in tasks.executors) if tasks is not None else Counter[str]()
    engines, used = every - running, {name: precision_of(cost, classes[name].device) for name in running}
    return Capacity(
        every.total(),
        sum(count * classes[name].memory_bytes for name, count in every.items()),
        sum(count * classes[name].peak(used[name]) for name, count in running.items())
        + sum(count * classes[name].peak("fp16") for name, count in engines.items()),
        tuple(dict.fromkeys([*used.values(), *(["bf16"] if engines else [])])),
    )


def weights_problems(weights: Mapping[str, float], classes: Sequence[ExecutorClass]) -> list[str]:
    """Return a sentence for each model whose weights do not fit an executor class, and one for all models.

    ``weights`` are bytes by model. The placement keeps a model off the classes that cannot hold it, and
    deals models out where they do not all fit one executor; what fits nowhere cannot be served.

    >>> from nona.cluster.hardware.executor import executor_class
    >>> slice_ = executor_class("a100-40gb/1g.5gb")
    >>> weights_problems({"big": 8e9}, [slice_])[0].split(";")[0]
    'big: its weights, 8 GB, do not fit an executor of a100-40gb/1g.5gb, 4.75 GB'
    >>> weights_problems({"a": 3e9, "b": 1e9}, [slice_])
    []
    """
    problems = []
    for executor_class in classes:
        room = f"{executor_class.name}, {format_size(executor_class.memory_bytes)}"
        large = {n: w for n, w in weights.items() if w > executor_class.memory_bytes}
        problems += [
            f"{name}: its weights, {format_size(size)}, do not fit an executor of {room}; the placement uses "
            "other classes if it can. Otherwise choose a larger slice or GPU, fewer MPS clients, a lower "
            "precision, or another model"
            for name, size in large.items()
        ]
        total = sum(weights.values())
        if not large and total > executor_class.memory_bytes:
            problems.append(
                f"All models together have {format_size(total)} of weights, too much for an executor of "
                f"{room}. The placement keeps some there, and fails if no other executor holds the rest. "
                "Larger slices or fewer models allow more placements"
            )
    return problems


class _Memory(NamedTuple):
    executor_class: ExecutorClass
    executors: int
    weights: Mapping[str, float]  # model → bytes

    @property
    def fitting_bytes(self) -> float:
        return sum(w for w in self.weights.values() if w <= self.executor_class.memory_bytes)

    @property
    def free_bytes(self) -> float | str:
        free = self.executor_class.memory_bytes - self.fitting_bytes
        return free if free >= 0 else "too little"

    @property
    def left_out(self) -> str:
        return ", ".join(n for n, w in self.weights.items() if w > self.executor_class.memory_bytes)


MEMORY = Table[_Memory](
    "",
    (
        Column("executor class", lambda r: r.executor_class.name),
        Column("executors", lambda r: r.executors, COUNT),
        Column("memory per executor", lambda r: r.executor_class.memory_bytes, SIZE),
        Column("weights of all that fit", lambda r: r.fitting_bytes, SIZE),
        Column("free", lambda r: r.free_bytes, SIZE),
        Column("on all of them", lambda r: r.fitting_bytes * r.executors, SIZE),
        Column("does not fit", lambda r: r.left_out),
    ),
)


def memory(weights: Mapping[str, float], cluster: Cluster) -> FilledTable:
    """Each executor class: its memory, and the weights (bytes) of all models that fit it one by one.

    >>> cluster = Cluster((ServerGroup(2, "t4"),))
    >>> memory({"a": 4e9, "b": 20e9}, cluster).texts()[0]["free"]
    '12 GB'
    """
    counts = Counter(e.executor_class for e in cluster.executors)
    return MEMORY.fill(_Memory(c, counts[c.name], weights) for c in cluster.classes.values())


@dataclass(frozen=True, slots=True)
class ExecutorCell:
    """An executor: its name, its part of the device's compute, its compute slices, its utilisation."""

    name: str
    fraction: float
    slices: int
    share: float


@dataclass(frozen=True, slots=True)
class ServerRow:
    """A server: its number, the executors of each of its GPUs, the utilisation of its card out and in."""

    number: int
    gpus: tuple[tuple[ExecutorCell, ...], ...]
    card_utilization: tuple[float, float] | None

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of every executor, GPU by GPU."""
        return tuple(cell.share for gpu in self.gpus for cell in gpu)

    @property
    def share(self) -> float:
        """Mean utilisation of its executors."""
        return sum(self.shares) / len(self.shares)


@dataclass(frozen=True, slots=True)
class Unit:
    """A rack or a group of like servers, joined to the core by one wire.

    ``uplink`` is the utilisation of its links up and down, where it has its own.
    """

    title: str
    about: str
    servers: tuple[ServerRow, ...]
    uplink: tuple[float, float] | None

    @property
    def spread(self) -> tuple[float, float, float]:
        """Mean, least and greatest utilisation of its executors."""
        shares = [u for server in self.servers for u in server.shares]
        return sum(shares) / len(shares), min(shares), max(shares)


@dataclass(frozen=True, slots=True)
class ClusterMap:
    """The whole cluster: the core's name, text and utilisation, and what hangs on it."""

    core: str
    about: str
    share: float
    units: tuple[Unit, ...]

    @property
    def executors(self) -> int:
        """The number of executors."""
        return sum(len(server.shares) for unit in self.units for server in unit.servers)


def background_load(cluster: Cluster, compute: float, network: float) -> ResourceLoad:
    """Return the load of a cluster without jobs: the background's shares everywhere."""
    return ResourceLoad(executors=(compute,) * len(cluster.executors), link=network, links=())


def cluster_map(cluster: Cluster, load: ResourceLoad) -> ClusterMap:
    """Return the cluster with the utilisation of each executor and link.

    Links that ``load`` does not list have the utilisation of its busiest one.

    >>> from nona.cluster.hardware.cluster import ServerGroup
    >>> found = cluster_map(c := Cluster((ServerGroup(2, gpus=2),)), background_load(c, 0.25, 0.5))
    >>> found.share, found.executors, found.units[0].title, found.units[0].spread
    (0.5, 4, '2 servers', (0.25, 0.25, 0.25))
    """
    network = cluster.network
    links = {link.link: link.utilization for link in load.each_link}
    how = "one message after the other" if network.discipline == "fifo" else "shared equally"
    about = f"{format_bandwidth(network.capacity)}, {how}, {format_time(network.latency_s)} latency"
    servers = tuple(_servers(cluster, load, links))
    units = _groups(cluster, servers) if network.racks is None else _racks(cluster, servers, load, links)
    name = "Core" if network.several_links else "Link"
    return ClusterMap(name, about, links.get("core", load.link), tuple(units))


def _servers(cluster: Cluster, load: ResourceLoad, links: Mapping[str, float]) -> Iterator[ServerRow]:
    number = begin = 0
    for group in cluster.groups:
        picture = _group_picture(cluster, group)
        for _ in range(group.count):
            gpus = []
            for slices in picture.slices:
                end = begin + len(slices)
                shares = load.executors[begin:end]
                gpus.append(tuple(ExecutorCell(*s, u) for s, u in zip(slices, shares, strict=True)))
                begin = end
            yield ServerRow(number, tuple(gpus), _card_utilization(cluster, number, load, links))
            number += 1


def _card_utilization(
    cluster: Cluster, number: int, load: ResourceLoad, links: Mapping[str, float]
) -> tuple[float, float] | None:
    if cluster.network.nic is None:
        return None
    return links.get(f"server {number} out", load.link), links.get(f"server {number} in", load.link)


def _groups(cluster: Cluster, servers: Sequence[ServerRow]) -> Iterator[Unit]:
    begin = 0
    for group in cluster.groups:
        picture = _group_picture(cluster, group)
        nic = cluster.network.nic
        card = "" if nic is None else f" · card {format_bandwidth(nic)} each way"
        about = f"{_device(picture)} · {picture.sharing} · {picture.vcpus} vCPUs each{card}"
        yield Unit(_servers_text(group.count), about, tuple(servers[begin : begin + group.count]), None)
        begin += group.count


def _racks(
    cluster: Cluster, servers: Sequence[ServerRow], load: ResourceLoad, links: Mapping[str, float]
) -> Iterator[Unit]:
    racks = cluster.network.racks
    if racks is None:
        return
    kinds = [_device(_group_picture(cluster, g)) for g in cluster.groups for _ in range(g.count)]
    for rack, inside in groupby(servers, lambda s: s.number // racks.size):
        in_rack = tuple(inside)
        counts = Counter(kinds[s.number] for s in in_rack)
        about = ", ".join(f"{n} × ({kind})" if len(counts) > 1 else kind for kind, n in counts.items())
        up, down = (links.get(f"rack {rack} {way}", load.link) for way in ("up", "down"))
        uplink = f"uplink {format_bandwidth(racks.uplink)} each way"
        yield Unit(f"Rack {rack} · {_servers_text(len(in_rack))}", f"{about} · {uplink}", in_rack, (up, down))


def _device(picture: GroupDrawing) -> str:
    return f"{picture.gpus} × {picture.device}"


def _servers_text(count: int) -> str:
    return f"{count:,} server" + ("" if count == 1 else "s")


class _Drawn(NamedTuple):
    server: ServerRow
    gpu: int
    cell: ExecutorCell


EXECUTORS = Table[_Drawn](
    "",
    (
        Column("server", lambda r: r.server.number, COUNT),
        Column("GPU", lambda r: r.gpu, COUNT),
        Column("executor", lambda r: r.cell.name),
        Column("busy", lambda r: r.cell.share, SHARE),
        Column(
            "card out",
            lambda r: r.server.card_utilization[0] if r.server.card_utilization else None,
            SHARE,
            optional=True,
        ),
        Column(
            "card in",
            lambda r: r.server.card_utilization[1] if r.server.card_utilization else None,
            SHARE,
            optional=True,
        ),
    ),
)


def executors(drawn: ClusterMap) -> FilledTable:
    """Each executor with its utilisation, and that of its server's card."""
    return EXECUTORS.fill(
        _Drawn(server, number, cell)
        for unit in drawn.units
        for server in unit.servers
        for number, gpu in enumerate(server.gpus)
        for cell in gpu
    )
