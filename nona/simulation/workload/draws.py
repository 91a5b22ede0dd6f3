"""Draws of service times: gamma with a given mean and squared coefficient of variation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from nona.random_streams import RandomStreams
from nona.system import Stream

BLOCK = 512


def gamma_draws(rng: np.random.Generator, scv: float, size: int) -> NDArray[np.float64]:
    """(size,) Draws of mean 1 and squared coefficient of variation ``scv`` (0: all 1; 1: exponential).

    >>> gamma_draws(np.random.default_rng(0), 0.0, 3).tolist()
    [1.0, 1.0, 1.0]
    """
    if scv == 0:
        return np.ones(size)
    return rng.exponential(1.0, size) if scv == 1 else rng.gamma(1 / scv, scv, size)


def background_items(stream: Stream, streams: RandomStreams, *name: str) -> Iterator[tuple[float, float]]:
    """Endless (arrival instant in s, service in the stream's unit) of one resource's background."""
    for times, services in background_blocks(stream, streams, *name):
        yield from zip(times.tolist(), services.tolist(), strict=True)


def background_blocks(
    stream: Stream, streams: RandomStreams, *name: str
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """The same in blocks, so memory is bounded: Poisson arrivals, gamma services.

    Ends at once when there is no background.
    """
    if stream.rate <= 0 or stream.mean <= 0:
        return
    gaps = streams.generator("background", *name, "gaps")
    services = streams.generator("background", *name, "services")
    now = 0.0
    while True:
        times = now + np.cumsum(gaps.exponential(1 / stream.rate, BLOCK))
        now = float(times[-1])
        yield times, stream.mean * gamma_draws(services, stream.scv, BLOCK)


def link_background(
    stream: Stream, streams: RandomStreams, name: Sequence[str], capacity: float
) -> Iterator[tuple[float, float]]:
    """The background of a link of ``capacity`` (bytes/s): (arrival instant, seconds of the link) each."""
    for arrival, size in background_items(stream, streams, *name):
        yield arrival, size / capacity
