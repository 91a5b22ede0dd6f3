"""INFless's candidates: the configurations of a stage that keep its share of the SLO, by batch and load."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.serverless.model.system import ServerlessSystem
from nona.serverless.policies.choices import usable


class Window(NamedTuple):
    """Jobs per second between which an instance is used well, and how long it waits for a full batch."""

    least: float
    most: float
    timeout_s: float


def window(batch: int, time_s: float, slo_s: float) -> Window:
    """The load window of an instance.

    Formula: most = b/t; least = b/(SLO − t) and time-out = SLO − t for b > 1; a single job needs no load
    and does not wait. ``time_s`` t and ``slo_s`` in seconds, t < SLO.

    >>> w = window(8, 0.115, 0.300)
    >>> int(w.most), int(w.least), round(w.timeout_s, 3)
    (69, 43, 0.185)
    """
    if batch == 1:
        return Window(0.0, 1 / time_s, 0.0)
    return Window(batch / (slo_s - time_s), batch / time_s, slo_s - time_s)


class Group(NamedTuple):
    """Candidates of one batch size, fastest first.

    ``least`` is the load that each needs and ``timeout_s`` how long each may wait; the first increases
    and the second decreases along the group.
    """

    batch: int
    numbers: tuple[int, ...]
    least: tuple[float, ...]
    timeout_s: tuple[float, ...]

    def loaded(self, rate: float) -> int:
        """How many of them, from the first, a load of ``rate`` jobs per second is enough for."""
        return bisect_right(self.least, rate)


def listed(system: ServerlessSystem, batch_vcpus: bool, gpu_share: float) -> NDArray[np.bool_]:
    """(C,) Whether INFless's enumeration reaches a configuration.

    It goes up to 2 vCPUs for one job and b for b jobs (with ``batch_vcpus``), and to ``gpu_share`` of a
    GPU; the smallest numbers of vCPUs and vGPUs of the scenario are always listed.
    """
    space = system.space
    share = space.vgpus <= gpu_share * max(node.vgpus for node in system.invokers)
    found: NDArray[np.bool_] = share | (space.vgpus == space.vgpus.min())
    if batch_vcpus:
        found &= (space.vcpus <= np.maximum(2, space.batch)) | (space.vcpus == space.vcpus.min())
    return found


def candidates(
    system: ServerlessSystem,
    function: int,
    time_s: NDArray[np.float64],
    slo_s: float,
    allowed: NDArray[np.bool_] | None = None,
) -> tuple[Group, ...]:
    """All candidates under a stage's share of the SLO, the largest batch first.

    The budget is SLO for one job and SLO/2 for more, so that a batch can fill while the one before runs.
    ``time_s``: (C,) seconds of each configuration, as profiled; ``allowed``: (C,), all if not given.
    """
    batch = system.space.batch
    kept: dict[int, list[tuple[float, float, int]]] = {}
    for n in usable(system, function):
        b, t = int(batch[n]), float(time_s[n])
        if (allowed is None or allowed[n]) and t <= (slo_s if b == 1 else slo_s / 2):
            kept.setdefault(b, []).append((t, float(system.price_per_s[n]), n))
    groups = []
    for b in sorted(kept, reverse=True):
        rows = sorted(kept[b])
        windows = [window(b, t, slo_s) for t, _, _ in rows]
        groups.append(
            Group(
                b,
                tuple(n for _, _, n in rows),
                tuple(w.least for w in windows),
                tuple(w.timeout_s for w in windows),
            )
        )
    return tuple(groups)
