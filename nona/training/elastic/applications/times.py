"""Seconds of a step by placement and samples on a GPU, interpolated between measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.interpolate import LinearNDInterpolator
from scipy.spatial import QhullError

from nona.allocation.policies.problem import Floats
from nona.errors import SimulationError

#: GPUs on each node, in the order in which they were given.
Counts = tuple[int, ...]
MOST_NODES = 16


class StepTime(NamedTuple):
    """A synchronised step: seconds in all, and those of them that synchronise."""

    step_s: float
    sync_s: float


@dataclass(frozen=True, eq=False)
class Measured:
    """Times of one placement: ``local`` (k,) samples on a GPU, ascending; ``times_s`` (k, 2) step, sync."""

    local: Floats
    times_s: Floats


def canonical(counts: Counts) -> Counts:
    """The lexicographically smallest rotation, by which placements are listed.

    >>> canonical((4, 1, 2))
    (1, 2, 4)
    """
    return min(counts[i:] + counts[:i] for i in range(len(counts)))


@dataclass(frozen=True, eq=False)
class Times:
    """The step times of one application.

    A placement that was measured is interpolated linearly in the samples on a GPU. Others are interpolated
    linearly in (nodes, GPUs, samples on a GPU) over the Delaunay triangulation of all measurements, whose
    placements are averaged by these three.

    Parameters
    ----------
    placements
        What was measured placement by placement.
    scalability
        (n, 5) nodes, GPUs, samples on a GPU, step and sync in seconds: measured on many nodes.
    """

    application: str
    placements: Mapping[Counts, Measured]
    scalability: Floats
    _known: dict[tuple[Counts, int], StepTime] = field(default_factory=dict, repr=False)

    def at(self, counts: Counts, local: int) -> StepTime:
        """The time of a step on a placement.

        Raises
        ------
        SimulationError
            Outside of what was measured.
        """
        key = (canonical(counts), local)
        if (found := self._known.get(key)) is None:
            found = self._known[key] = self._interpolated(*key)
        return found

    def _interpolated(self, counts: Counts, local: int) -> StepTime:
        measured = self.placements.get(counts)
        if measured is not None:
            inside = measured.local[0] <= local <= measured.local[-1]
            step, sync = (float(np.interp(local, measured.local, column)) for column in measured.times_s.T)
        else:
            point = [[min(len(counts), MOST_NODES), sum(counts), local]]
            try:
                step, sync = (float(value) for value in self._between(point)[0])
            except QhullError:  # all measurements lie on a plane, e.g. on one node
                step = sync = np.nan
            inside = not (np.isnan(step) or np.isnan(sync))
        if not inside:
            raise SimulationError(self._unknown(counts, local))
        return StepTime(step, sync)

    def _unknown(self, counts: Counts, local: int) -> str:
        """Why a placement has no time, and what helps."""
        text, most = "-".join(map(str, counts)), max(max(known) for known in self.placements)
        what = f"Application {self.application!r}: {local} samples on each GPU of placement {text}"
        if max(counts) > most:
            return (
                f"{what} were not measured, whose nodes gave {most} at most; take nodes with fewer GPUs, or "
                "give profiles of such nodes."
            )
        return (
            f"{what} were not measured; choose a batch size and GPUs within the profile, whose most_gpus "
            "bounds them."
        )

    @cached_property
    def _between(self) -> LinearNDInterpolator:
        sums: dict[tuple[int, int, int], list[Floats]] = {}
        for counts, measured in self.placements.items():
            for local, times in zip(measured.local, measured.times_s, strict=True):
                sums.setdefault((len(counts), sum(counts), int(local)), []).append(times)
        own = [(*key, *np.mean(sums[key], axis=0)) for key in sorted(sums)]
        points = np.vstack([np.array(own, float).reshape(-1, 5), self.scalability])
        return LinearNDInterpolator(points[:, :3], points[:, 3:])
