"""Times of configurations between the measured ones.

Where a configuration was measured, its time is the measured one. Between measured sizes the logarithm of the
time is linear in the logarithm of the size, first over batches, then over vGPUs, then over vCPUs. Outside
of what was measured there is no time: the configuration cannot be chosen.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from nona.gpu_sharing.resources import Configuration
from nona.serverless.model.configuration import ConfigurationSpace
from nona.serverless.model.function import TableTimes
from nona.serverless.profiles.reader import ProfileRow

Curve = Mapping[float, float]
"""Size → seconds; the size 0 holds for any."""


def profile_times(rows: Sequence[ProfileRow], space: ConfigurationSpace, parts: int = 7) -> TableTimes:
    """The times of the configurations of ``space`` that follow from ``rows``, on a GPU of ``parts`` vGPUs.

    Examples
    --------
    >>> from nona.serverless.model.configuration import grid
    >>> rows = (ProfileRow(1, 0.010, vgpus=1), ProfileRow(4, 0.040, vgpus=1))
    >>> times = profile_times(rows, grid([1, 2, 8], [1, 2], [1, 2]))
    >>> {c.text: round(s, 6) for c, s in times.rows.items()}
    {'1 job, 1 vCPU, 1 vGPU': 0.01, '1 job, 2 vCPUs, 1 vGPU': 0.01, '2 jobs, 1 vCPU, 1 vGPU': 0.02, \
'2 jobs, 2 vCPUs, 1 vGPU': 0.02}
    """
    nested: dict[float, dict[float, dict[float, float]]] = {}
    for row in rows:
        vgpus = row.vgpus if row.vgpus is not None else parts * (row.gpu_share or 0.0)
        nested.setdefault(row.vcpus or 0.0, {}).setdefault(vgpus, {})[row.batch] = row.seconds
    found = {c: _time(nested, c) for c in space.configurations}
    return TableTimes({c: seconds for c, seconds in found.items() if seconds < math.inf})


def _time(nested: Mapping[float, Mapping[float, Curve]], c: Configuration) -> float:
    by_vcpus = {}
    for vcpus, by_size in nested.items():
        by_vgpus = {vgpus: between(curve, c.batch) for vgpus, curve in by_size.items()}
        by_vcpus[vcpus] = between(by_vgpus, c.vgpus)
    return between(by_vcpus, c.vcpus)


def between(curve: Curve, size: float) -> float:
    """Seconds at ``size``; infinite where it lies outside, or a neighbour has no time.

    >>> round(between({1: 1.0, 4: 2.0}, 2), 6), between({1: 1.0}, 2), between({0: 3.0}, 2)
    (1.414214, inf, 3.0)
    """
    known = {x: s for x, s in curve.items() if s < math.inf}
    if size in known:
        return known[size]
    if 0.0 in known:
        return known[0.0]
    sizes = sorted(known)
    place = bisect_left(sizes, size)
    if not 0 < place < len(sizes):
        return math.inf
    low, high = sizes[place - 1], sizes[place]
    share = math.log(size / low) / math.log(high / low)
    return math.exp((1 - share) * math.log(known[low]) + share * math.log(known[high]))
