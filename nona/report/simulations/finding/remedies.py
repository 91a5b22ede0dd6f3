"""Remedies for an overloaded resource: fewer queries, or more capacity."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nona.results.simulation.report import Resources

TARGET = 0.95  # utilisation that the remedies aim at: below 1, with long waits still


@dataclass(frozen=True, slots=True)
class Remedy:
    """``resource`` (``executors`` or ``link``) is offered ``load`` of its capacity.

    ``rate`` is the factor by which all rates must fall, ``size`` the one by which there must be more
    of the resource, each to reach :data:`TARGET`; ``None`` where background alone exceeds it.
    """

    resource: str
    load: float
    rate: float | None
    size: float | None


def remedies(offered: Resources, background: Resources) -> list[Remedy]:
    """The remedies for every resource that is offered its capacity or more.

    Formula: with load ρ and background b, queries make q = ρ − b; b + f·q = T and b + q/g = T give
    f = (T − b)/q and g = q/(T − b). Background is a share of the capacity: it grows with it.

    >>> r = remedies(Resources(compute=1.4, network=0.5), Resources(compute=0.1, network=0.2))
    >>> r[0].resource, round(r[0].rate, 3), round(r[0].size, 3)
    ('executors', 0.654, 1.529)
    """
    found = []
    for resource, load, others in (
        ("executors", offered.compute, background.compute or 0.0),
        ("link", offered.network, background.network or 0.0),
    ):
        if load is None or load < 1:
            continue
        room, queries = TARGET - others, load - others
        possible = room > 0 and queries > 0
        found.append(
            Remedy(
                resource,
                load,
                room / queries if possible else None,
                queries / room if possible else None,
            )
        )
    return found


def advice(name: str, offered: Resources, background: Resources, servers: int) -> str:
    """Advice on an overloaded scheduler, in a sentence or two; loads that are offered to it.

    >>> advice("spread", Resources(compute=0.5, network=1.9), Resources(compute=0.0, network=0.0), 8)
    'To bring the link of spread below 95 %: all rates × 0.5 or less, or a link × 2 or more.'
    """
    told = [_sentence(name, r, servers) for r in remedies(offered, background)]
    if told:
        return " ".join(told)
    return (
        f"On average the load of {name} is below capacity, but single servers are overloaded or jobs starve. "
        "Lower the rates, or choose a scheduler that observes queues."
    )


def _sentence(name: str, remedy: Remedy, servers: int) -> str:
    if remedy.rate is None or remedy.size is None:
        return f"Background alone overloads the {remedy.resource} of {name}: lower it first."
    rate = math.floor(100 * remedy.rate) / 100
    more = (
        f"{math.ceil(servers * remedy.size):,} servers instead of {servers:,}"
        if remedy.resource == "executors"
        else f"a link × {math.ceil(100 * remedy.size) / 100:g} or more"
    )
    return f"To bring the {remedy.resource} of {name} below 95 %: all rates × {rate:g} or less, or {more}."
