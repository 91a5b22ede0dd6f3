"""The links of a cluster, and the path of a message over them.

A server may have a network card (one link out, one in), a rack one link up to the core and one
down. A message crosses, in this order: the source's card, and, unless both servers stand in one
rack, the uplink of the source's rack, the core and the downlink of the destination's rack; then
the destination's card. What a cluster does not have is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.core.errors import HardwareError

NONE = -1  # no such link
_ROLES = ("out_link", "up_link", "down_link", "in_link")


@dataclass(frozen=True, eq=False)
class Topology:
    """Links, and which of them each server uses; S servers, L links.

    ``link_names`` (L): unique; random streams and tables go by them.
    ``link_capacity`` (L,): bytes per second.
    ``core``: number of the link that all messages between racks cross.
    ``out_link``, ``up_link``, ``down_link``, ``in_link`` (S,): number of the server's card out, its rack's
        uplink and downlink, its card in; −1 for none. One link has one of these roles, so no path crosses it
        twice.
    ``rack`` (S,): number of each server's rack. Where there are no racks, every server has its own number.

    Raises ``HardwareError`` for arrays that do not fit, a link without capacity or of two roles, two links of
    one name, or two servers with no link between them.

    >>> two_racks = make_topology(4, 100.0, nic=10.0, rack_size=2, uplink=20.0)
    >>> [two_racks.link_names[k] for k in two_racks.path(0, 1)]
    ['server 0 out', 'server 1 in']
    >>> [two_racks.link_names[k] for k in two_racks.path(0, 3)]
    ['server 0 out', 'rack 0 up', 'core', 'rack 1 down', 'server 3 in']
    """

    link_names: tuple[str, ...]
    link_capacity: Floats
    core: int
    out_link: Ints
    up_link: Ints
    down_link: Ints
    in_link: Ints
    rack: Ints

    def __post_init__(self) -> None:
        _check_links(self)
        _check_servers(self)

    @property
    def servers(self) -> int:
        """The number of servers."""
        return len(self.rack)

    @property
    def links(self) -> int:
        """The number of links."""
        return len(self.link_names)

    def path(self, source_server: int, destination_server: int) -> tuple[int, ...]:
        """Return the links that a message crosses, in order; none on one and the same server.

        >>> make_topology(2, 100.0).path(0, 1), make_topology(2, 100.0).path(1, 1)
        ((0,), ())
        """
        if source_server == destination_server:
            return ()
        middle: tuple[int, ...] = ()
        if self.rack[source_server] != self.rack[destination_server]:
            middle = (int(self.up_link[source_server]), self.core, int(self.down_link[destination_server]))
        whole = (int(self.out_link[source_server]), *middle, int(self.in_link[destination_server]))
        return tuple(link for link in whole if link != NONE)

    def entry(self, destination_server: int) -> tuple[int, ...]:
        """Return the links that a message from outside the cluster crosses: it comes over the core.

        >>> make_topology(2, 100.0).entry(0), make_topology(2, 100.0, nic=10.0).entry(1)
        ((0,), (0, 4))
        """
        links = self.core, int(self.down_link[destination_server]), int(self.in_link[destination_server])
        return tuple(link for link in links if link != NONE)


def make_topology(
    servers: int,
    capacity: float,
    nic: float | None = None,
    rack_size: int | None = None,
    uplink: float | None = None,
) -> Topology:
    """Return a core with a card per server and an uplink per rack, as far as they are given.

    Parameters
    ----------
    servers : int
        Number of servers.
    capacity : float
        Of the core, bytes per second.
    nic : float, optional
        Of a server's card, bytes per second in each direction.
    rack_size : int, optional
        Servers of a rack, counted from server 0; the last rack may have fewer. Given with ``uplink``.
    uplink : float, optional
        Of a rack's uplink, bytes per second in each direction.

    Returns
    -------
    Topology
        The links and the racks.

    Examples
    --------
    >>> make_topology(2, 100.0, nic=10.0).link_names
    ('core', 'server 0 out', 'server 1 out', 'server 0 in', 'server 1 in')
    >>> make_topology(3, 100.0, nic=10.0, rack_size=2, uplink=20.0).rack.tolist()
    [0, 0, 1]
    """
    if (rack_size is None) != (uplink is None):
        raise HardwareError("Topology: rack_size and uplink go together; give both or neither.")
    if servers < 1 or (rack_size is not None and rack_size < 1):
        raise HardwareError(
            f"Topology: servers={servers}, rack_size={rack_size} must be at least 1; give larger numbers."
        )
    number = np.arange(servers, dtype=np.int64)
    rack = number if rack_size is None else number // rack_size
    names, capacities = ["core"], [capacity]
    role = {name: np.full(servers, NONE, dtype=np.int64) for name in _ROLES}
    for name, kind, of, speed in (
        ("up_link", "rack {} up", rack, uplink),
        ("down_link", "rack {} down", rack, uplink),
        ("out_link", "server {} out", number, nic),
        ("in_link", "server {} in", number, nic),
    ):
        if speed is not None:
            role[name] = len(names) + of
            count = int(of[-1]) + 1
            names += [kind.format(i) for i in range(count)]
            capacities += [speed] * count
    return Topology(tuple(names), np.array(capacities, dtype=np.float64), 0, rack=rack, **role)


def _check_links(t: Topology) -> None:
    if len(t.link_capacity) != t.links:
        raise HardwareError(
            f"Topology: {t.links} link_names and {len(t.link_capacity)} link_capacity; give one of each."
        )
    if len(set(t.link_names)) < t.links:
        twice = next(n for n in t.link_names if t.link_names.count(n) > 1)
        raise HardwareError(f"Topology: two links are named {twice!r}; give each link a name of its own.")
    for name, capacity in zip(t.link_names, t.link_capacity.tolist(), strict=True):
        if not (np.isfinite(capacity) and capacity > 0):
            raise HardwareError(
                f"Topology: capacity={capacity:g} of link {name!r} must be above 0 and finite; "
                "give bytes per second."
            )
    if not 0 <= t.core < t.links:
        raise HardwareError(f"Topology: core={t.core} is no link; give a number from 0 to {t.links - 1}.")


def _check_servers(t: Topology) -> None:
    used = {t.core: "core"}
    for role in _ROLES:
        array = getattr(t, role)
        if array.shape != t.rack.shape or array.dtype != np.int64 or t.rack.dtype != np.int64:
            raise HardwareError(f"Topology: {role} and rack must be int64 arrays with one entry per server.")
        for link in np.unique(array[array != NONE]).tolist():
            if not 0 <= link < t.links:
                raise HardwareError(
                    f"Topology: {role} names link {link}; give −1 or a number from 0 to {t.links - 1}."
                )
            if link in used:
                raise HardwareError(
                    f"Topology: link {t.link_names[link]!r} is both {used[link]} and {role}; use two links."
                )
            used[link] = role
    for rack in np.unique(t.rack[(t.out_link == NONE) | (t.in_link == NONE)]).tolist():
        there = np.flatnonzero(t.rack == rack)
        silent, deaf = there[t.out_link[there] == NONE], there[t.in_link[there] == NONE]
        if len(silent) and len(deaf) and len(set(silent.tolist()) | set(deaf.tolist())) > 1:
            raise HardwareError(
                f"Topology: rack {rack} has servers with no link between them; give its servers cards."
            )
