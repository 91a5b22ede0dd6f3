"""A cluster as it is drawn: the core, racks or groups on it, their servers, their executors, with loads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from nona.hardware.cluster import Cluster
from nona.report.inputs.cluster import GroupPicture, group_picture
from nona.results.simulation.series import ResourceLoad
from nona.units import format_bandwidth, format_time


@dataclass(frozen=True, slots=True)
class Cell:
    """An executor: its name, its part of the device's compute, its compute slices, its utilisation."""

    name: str
    fraction: float
    slices: int
    share: float


@dataclass(frozen=True, slots=True)
class Server:
    """A server: its number, the executors of each of its GPUs, the utilisation of its card out and in."""

    number: int
    gpus: tuple[tuple[Cell, ...], ...]
    card: tuple[float, float] | None

    @property
    def shares(self) -> tuple[float, ...]:
        """Utilisation of each executor."""
        return tuple(cell.share for gpu in self.gpus for cell in gpu)

    @property
    def share(self) -> float:
        """Mean utilisation of its executors."""
        return sum(self.shares) / len(self.shares)


@dataclass(frozen=True, slots=True)
class Unit:
    """What hangs on the core by one wire: a rack or a group of like servers.

    ``uplink`` is the utilisation of its links up and down, where it has its own.
    """

    title: str
    about: str
    servers: tuple[Server, ...]
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
        """Number of executors."""
        return sum(len(server.shares) for unit in self.units for server in unit.servers)


def background_load(cluster: Cluster, compute: float, network: float) -> ResourceLoad:
    """The load of a cluster without jobs: the background's shares everywhere."""
    return ResourceLoad(executors=(compute,) * len(cluster.executors), link=network, links=())


def cluster_map(cluster: Cluster, load: ResourceLoad) -> ClusterMap:
    """The cluster with the utilisation of each executor and link.

    Links that ``load`` does not list have the utilisation of its busiest one.

    >>> from nona.hardware.cluster import ServerGroup
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


def _servers(cluster: Cluster, load: ResourceLoad, links: Mapping[str, float]) -> Iterator[Server]:
    number = begin = 0
    for group in cluster.groups:
        picture = group_picture(cluster, group)
        for _ in range(group.count):
            gpus = []
            for _ in range(group.gpus):
                end = begin + len(picture.slices)
                shares = load.executors[begin:end]
                gpus.append(tuple(Cell(*s, u) for s, u in zip(picture.slices, shares, strict=True)))
                begin = end
            yield Server(number, tuple(gpus), _card(cluster, number, load, links))
            number += 1


def _card(
    cluster: Cluster, number: int, load: ResourceLoad, links: Mapping[str, float]
) -> tuple[float, float] | None:
    if cluster.network.nic is None:
        return None
    return links.get(f"server {number} out", load.link), links.get(f"server {number} in", load.link)


def _groups(cluster: Cluster, servers: Sequence[Server]) -> Iterator[Unit]:
    begin = 0
    for group in cluster.groups:
        picture = group_picture(cluster, group)
        nic = cluster.network.nic
        card = "" if nic is None else f" · card {format_bandwidth(nic)} each way"
        about = f"{_device(picture)} · {picture.sharing} · {picture.vcpus} vCPUs each{card}"
        yield Unit(_servers_text(group.count), about, tuple(servers[begin : begin + group.count]), None)
        begin += group.count


def _racks(
    cluster: Cluster, servers: Sequence[Server], load: ResourceLoad, links: Mapping[str, float]
) -> Iterator[Unit]:
    racks = cluster.network.racks
    if racks is None:
        return
    kinds = [_device(group_picture(cluster, g)) for g in cluster.groups for _ in range(g.count)]
    for rack, inside in groupby(servers, lambda s: s.number // racks.size):
        held = tuple(inside)
        counts = Counter(kinds[s.number] for s in held)
        about = ", ".join(f"{n} × ({kind})" if len(counts) > 1 else kind for kind, n in counts.items())
        up, down = (links.get(f"rack {rack} {way}", load.link) for way in ("up", "down"))
        uplink = f"uplink {format_bandwidth(racks.uplink)} each way"
        yield Unit(f"Rack {rack} · {_servers_text(len(held))}", f"{about} · {uplink}", held, (up, down))


def _device(picture: GroupPicture) -> str:
    return f"{picture.gpus} × {picture.device}"


def _servers_text(count: int) -> str:
    return f"{count:,} server" + ("" if count == 1 else "s")


def executor_rows(drawn: ClusterMap) -> list[dict[str, object]]:
    """A row for each executor with its utilisation, and its server's card."""
    rows: list[dict[str, object]] = []
    for unit in drawn.units:
        for server in unit.servers:
            for number, gpu in enumerate(server.gpus):
                for cell in gpu:
                    row: dict[str, object] = {"server": server.number, "GPU": number, "executor": cell.name}
                    row["busy %"] = 100 * cell.share
                    if server.card is not None:
                        row["card out %"], row["card in %"] = (100 * u for u in server.card)
                    rows.append(row)
    return rows
