"""Known systems whose one busy resource is a link, in either discipline, alone or on a path."""

from __future__ import annotations

from dataclasses import replace

from nona.schedulers.base import Scheduler
from nona.simulation.known.bound import bind_to
from nona.simulation.known.parts import Expected, KnownSystem, chain, exactly, query_of, run_length, system_of
from nona.simulation.theory import link_wait_s, sharing_jct_s
from nona.system import Stream, System
from nona.topology import make_topology

CAPACITY = 1e8
_SIZES = {"small": 2e5, "large": 2e6}
_PAIR = bind_to([0, 1], [0, 1])


def fifo_link(load: float) -> KnownSystem:
    """Small and large messages of constant size, and exponential background, first come first served."""
    streams = _streams(load, Stream(load / 4 * CAPACITY / 5e5, 5e5, 1.0))
    wait_s = link_wait_s(CAPACITY, streams)
    expected = [
        exactly(wait_s + s / CAPACITY, {"shared equally": sharing_jct_s(s / CAPACITY, load)}, name, query)
        for query, (name, s) in enumerate(_SIZES.items())
    ]
    return _known("link, first come first served", load, _system(streams), expected)


def sharing_link(load: float) -> KnownSystem:
    """The same with background of very different sizes, shared equally: only the load matters."""
    streams = _streams(load, Stream(load / 4 * CAPACITY / 5e5, 5e5, 4.0))
    fifo_s = link_wait_s(CAPACITY, streams)
    expected = [
        exactly(
            sharing_jct_s(s / CAPACITY, load), {"in order of arrival": fifo_s + s / CAPACITY}, name, query
        )
        for query, (name, s) in enumerate(_SIZES.items())
    ]
    system = _system(streams, sharing=True)
    return _known("link, processor sharing", load, system, expected, theory="M/G/1-PS is insensitive")


def rack_uplink(load: float) -> KnownSystem:
    """Two servers of a rack send to two of another; cards and core are so fast that the uplink decides.

    Small messages come from one server, large ones from the other: they meet at the uplink alone.
    """
    streams = [Stream(load / 2 * CAPACITY / s, s, 0.0) for s in _SIZES.values()]
    wait_s = link_wait_s(CAPACITY, streams)
    expected = [
        exactly(
            wait_s + s.mean / CAPACITY,
            {"never meet": link_wait_s(CAPACITY, [s]) + s.mean / CAPACITY},
            name,
            query,
        )
        for query, (name, s) in enumerate(zip(_SIZES, streams, strict=True))
    ]
    fast = 1e4 * CAPACITY
    topology = make_topology(4, fast, nic=fast, rack_size=2, uplink=CAPACITY)
    system = replace(_system(streams, fast, executors=4), topology=topology, seed=12)
    return _known("links, two servers at an uplink", load, system, expected, bind_to([0, 2], [1, 3]))


def _streams(load: float, background: Stream) -> list[Stream]:
    """Both sizes with the same number of bytes, then the background, which has a quarter of the load."""
    return [Stream(0.375 * load * CAPACITY / s, s, 0.0) for s in _SIZES.values()] + [background]


def _known(
    name: str,
    load: float,
    system: System,
    expected: list[Expected],
    scheduler: Scheduler = _PAIR,
    theory: str = "Pollaczek–Khinchine",
) -> KnownSystem:
    return KnownSystem(
        name=name,
        theory=theory,
        load=load,
        system=system,
        scheduler=scheduler,
        expected=tuple(expected),
        compute=0.0,
        network=load,
        length=run_length(load, share=0.5),
    )


def _system(
    streams: list[Stream], capacity: float = CAPACITY, executors: int = 2, sharing: bool = False
) -> System:
    """Queries take no compute time: their tasks only send and receive. A third stream is background."""
    queries = [
        query_of(chain(name, [0.0, 0.0], s.mean), s.rate) for name, s in zip(_SIZES, streams[:2], strict=True)
    ]
    background = streams[2] if len(streams) > 2 else Stream()
    return system_of(queries, executors, capacity, seed=6, background_network=background, sharing=sharing)
