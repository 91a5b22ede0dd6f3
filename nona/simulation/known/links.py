"""Known systems whose one busy resource is the link, in either discipline."""

from __future__ import annotations

from nona.simulation.known.bound import bind_to
from nona.simulation.known.parts import Expected, KnownSystem, chain, exactly, query_of, run_length, system_of
from nona.simulation.theory import link_wait_s, sharing_jct_s
from nona.system import Stream, System

CAPACITY = 1e8
_SIZES = {"small": 2e5, "large": 2e6}


def fifo_link(load: float) -> KnownSystem:
    """Small and large messages of constant size, and exponential background, first come first served."""
    streams = _streams(load, Stream(load / 4 * CAPACITY / 5e5, 5e5, 1.0))
    wait_s = link_wait_s(CAPACITY, streams)
    expected = [
        exactly(wait_s + s / CAPACITY, {"shared equally": sharing_jct_s(s / CAPACITY, load)}, name, query)
        for query, (name, s) in enumerate(_SIZES.items())
    ]
    return _known("link, first come first served", "Pollaczek–Khinchine", load, streams, expected, False)


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
    return _known("link, processor sharing", "M/G/1-PS is insensitive", load, streams, expected, True)


def _streams(load: float, background: Stream) -> list[Stream]:
    """Both sizes with the same number of bytes, then the background, which has a quarter of the load."""
    return [Stream(0.375 * load * CAPACITY / s, s, 0.0) for s in _SIZES.values()] + [background]


def _known(
    name: str, theory: str, load: float, streams: list[Stream], expected: list[Expected], sharing: bool
) -> KnownSystem:
    return KnownSystem(
        name=name,
        theory=theory,
        load=load,
        system=_system(streams, sharing),
        scheduler=bind_to([0, 1], [0, 1]),
        expected=tuple(expected),
        compute=0.0,
        network=load,
        length=run_length(load, share=0.5),
    )


def _system(streams: list[Stream], sharing: bool) -> System:
    """Queries take no compute time: their tasks only send and receive."""
    *own, background = streams
    queries = [query_of(chain(name, [0.0, 0.0], s.mean), s.rate) for name, s in zip(_SIZES, own, strict=True)]
    return system_of(
        queries, executors=2, capacity=CAPACITY, seed=6, background_network=background, sharing=sharing
    )
