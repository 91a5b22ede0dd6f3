"""Applications: step times by placement, batches, progress, gradient noise."""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy

from nona.core.arrays import Floats, Ints
from nona.core.errors import SimulationError

EDGE = 1e-8


def rounded_up(value: float) -> int:
    """⌈value − 1e-8⌉, so that rounding errors of a division do not add one.

    >>> rounded_up(3.0000000001), rounded_up(3.1)
    (3, 4)
    """
    return math.ceil(value - EDGE)


@dataclass(frozen=True, slots=True)
class Split:
    """``local`` samples on each GPU, ``extra`` steps without synchronisation before each one with it."""

    local: int
    extra: int

    def batch(self, gpus: int) -> int:
        """Return samples of one synchronised step on ``gpus`` GPUs: r · m · (a + 1)."""
        return gpus * self.local * (self.extra + 1)


@dataclass(frozen=True, slots=True)
class BatchSizes:
    """Sizes that an application takes: of a whole batch, and on one GPU; in samples."""

    least: int
    most: int
    least_local: int
    most_local: int

    def split(self, batch: float, gpus: int, *, always_extra: bool = False) -> Split:
        """Return a batch of about ``batch`` samples on ``gpus`` GPUs.

        l = ⌈B/r⌉; a = ⌈l/b_max⌉ − 1, at least 1 on a single GPU if B > B₀ (gradient noise is estimated from
        two parts of a batch); m = min(⌈l/(a+1)⌉, ⌊B_max/(r(a+1))⌋).

        ``always_extra``: a ≥ 1 on a single GPU whatever B is.

        >>> BatchSizes(128, 4096, 32, 1024).split(2048, 6)
        Split(local=342, extra=0)
        >>> BatchSizes(128, 4096, 32, 1024).split(256, 1)
        Split(local=128, extra=1)

        Source: Qiao et al., Pollux, OSDI 2021, public simulator.
        """
        local = rounded_up(batch / gpus)
        extra = rounded_up(local / self.most_local) - 1
        if gpus == 1 and (always_extra or batch > self.least):
            extra = max(1, extra)
        part = rounded_up(local / (extra + 1))
        return Split(min(part, self.most // (gpus * (extra + 1))), extra)


#: GPUs on each node, in the order in which they were given.
Counts = tuple[int, ...]
MOST_NODES = 16


class StepTime(NamedTuple):
    """A synchronised step: seconds in all, and those of them that synchronise."""

    step_s: float
    sync_s: float


@dataclass(frozen=True, eq=False)
class MeasuredTimes:
    """Times of one placement: ``local`` (k,) samples on a GPU, ascending; ``times_s`` (k, 2) step, sync."""

    local: Floats
    times_s: Floats


def _canonical(counts: Counts) -> Counts:
    """Return the lexicographically smallest rotation, by which placements are listed.

    >>> _canonical((4, 1, 2))
    (1, 2, 4)
    """
    return min(counts[i:] + counts[:i] for i in range(len(counts)))


@dataclass(frozen=True, eq=False)
class StepTimesOfApplication:
    """The step times of one application.

    A placement that was measured is interpolated linearly in the samples on a GPU. Others are interpolated
    linearly in (nodes, GPUs, samples on a GPU) over the Delaunay triangulation of all measurements, whose
    placements are averaged by these three.

    ``placements``: what was measured placement by placement.
    ``scalability``: (n, 5) nodes, GPUs, samples on a GPU, step and sync in seconds: measured on many nodes.
    """

    application: str
    placements: Mapping[Counts, MeasuredTimes]
    scalability: Floats
    _step_times: dict[tuple[Counts, int], StepTime] = field(default_factory=dict, repr=False)

    def step_time(self, counts: Counts, local: int) -> StepTime:
        """Return the time of a step on a placement."""
        key = (_canonical(counts), local)
        if (step_time := self._step_times.get(key)) is None:
            step_time = self._step_times[key] = self._interpolated(*key)
        return step_time

    def _interpolated(self, counts: Counts, local: int) -> StepTime:
        measured = self.placements.get(counts)
        if measured is not None:
            inside = measured.local[0] <= local <= measured.local[-1]
            step, sync = (float(np.interp(local, measured.local, column)) for column in measured.times_s.T)
        else:
            point = [[min(len(counts), MOST_NODES), sum(counts), local]]
            try:
                step, sync = (float(value) for value in self._interpolator(point)[0])
            except scipy.spatial.QhullError:  # all measurements lie on a plane, e.g. on one node
                step = sync = np.nan
            inside = not (np.isnan(step) or np.isnan(sync))
        if not inside:
            raise SimulationError(self._unknown(counts, local))
        return StepTime(step, sync)

    def _unknown(self, counts: Counts, local: int) -> str:
        text, most = "-".join(map(str, counts)), max(max(placement) for placement in self.placements)
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
    def _interpolator(self) -> scipy.interpolate.LinearNDInterpolator:
        sums: dict[tuple[int, int, int], list[Floats]] = {}
        for counts, measured in self.placements.items():
            for local, times in zip(measured.local, measured.times_s, strict=True):
                sums.setdefault((len(counts), sum(counts), int(local)), []).append(times)
        own = [(*key, *np.mean(sums[key], axis=0)) for key in sorted(sums)]
        points = np.vstack([np.array(own, float).reshape(-1, 5), self.scalability])
        return scipy.interpolate.LinearNDInterpolator(points[:, :3], points[:, 3:])


class Noise(NamedTuple):
    """Noise of the gradient at the smallest batch size: its squared norm s, and its variance v."""

    square: float
    variance: float

    def gain(self, scale: float) -> float:
        """Progress of one step with ``scale`` times the smallest batch: (v + s)/(v/scale + s).

        >>> Noise(1.0, 3.0).gain(1.0), Noise(1.0, 3.0).gain(3.0)
        (1.0, 2.0)
        """
        return (self.variance + self.square) / (self.variance / scale + self.square)


@dataclass(frozen=True, eq=False)
class TrainingApplication:
    """A profiled training task.

    ``epochs``: E; a job is complete after them.
    ``sizes``: (k,) batch sizes at which epochs were measured, ascending.
    ``progress``, ``iterations``: (k, E) at the end of each epoch: progress, in iterations at the smallest
        batch size; iterations.
    ``square``, ``variance``: (k, E) of the gradient: squared norm and variance.
    ``fixed_batch``, ``most_gpus``: batch size that is never changed, and the most GPUs; ``None``: free.
    ``error``: (k, E) on a validation set at the end of each epoch; ``None``: not measured.
    ``parameters``: of the network, whose gradients nodes exchange; ``None``: unknown.
    """

    name: str
    task: str
    epochs: int
    batches: BatchSizes
    times: StepTimesOfApplication
    sizes: Ints
    progress: Floats
    iterations: Floats
    square: Floats
    variance: Floats
    fixed_batch: int | None = None
    most_gpus: int | None = None
    error: Floats | None = None
    parameters: int | None = None
    _noise: dict[tuple[int, int], Noise] = field(default_factory=dict, repr=False)

    @cached_property
    def ends(self) -> tuple[float, ...]:
        """P(e): progress at which epoch e ends, the least over the batch sizes."""
        return tuple(self.progress.min(axis=0).tolist())

    def noise(self, batch: int, epoch: int) -> Noise:
        """Return an epoch's noise, linear in the batch size between the two measured ones beside it."""
        key = (batch, epoch)
        if (noise := self._noise.get(key)) is None:
            square = self._interpolated_value(batch, self.square[:, epoch])
            noise = self._noise[key] = Noise(square, self._interpolated_value(batch, self.variance[:, epoch]))
        return noise

    def remaining_iterations(self, batch: int, epoch: int) -> float:
        """Count iterations from the end of an epoch to that of the last one; 1 in the last one.

        Source: the oracle of Optimus in Pollux's public simulator.
        """
        if epoch >= self.epochs - 1:
            return 1.0
        rows = self.iterations[:, [epoch, -1]].T
        return self._interpolated_value(batch, rows[1]) - self._interpolated_value(batch, rows[0])

    def epoch_iterations(self, batch: int) -> float:
        """Return iterations of an epoch, as many as the first one had."""
        return self._interpolated_value(batch, self.iterations[:, 0])

    def errors(self, batch: int, epochs: int) -> list[float] | None:
        """At the end of each of the first ``epochs``, linear in the batch size; ``None``: not measured."""
        if self.error is None:
            return None
        return [self._interpolated_value(batch, self.error[:, epoch]) for epoch in range(epochs)]

    def step(self, counts: Counts, split: Split) -> tuple[float, StepTime]:
        """Seconds of a step with its extra ones, step + a·(step − sync), and the time without them."""
        time = self.times.step_time(counts, split.local)
        return time.step_s + split.extra * (time.step_s - time.sync_s), time

    def rate(self, counts: Counts, split: Split, epoch: int) -> float:
        """Progress per second: gain / (step + a·(step − sync))."""
        batch = split.batch(sum(counts))
        gain = self.noise(batch, epoch).gain(batch / self.batches.least)
        return gain / self.step(counts, split)[0]

    def most_at(self, batch: int) -> int:
        """Return the most GPUs for a batch: ⌊B / b_min⌋, or the application's own bound."""
        return self.most_gpus or max(1, batch // self.batches.least_local)

    def _interpolated_value(self, batch: int, values: Floats) -> float:
        if len(self._sizes) == 1:
            return float(values[0])
        right = min(max(bisect.bisect_left(self._sizes, batch), 1), len(self._sizes) - 1)
        low, high = self._sizes[right - 1], self._sizes[right]
        part = (batch - low) / (high - low)
        return float(values[right - 1] + part * (values[right] - values[right - 1]))

    @cached_property
    def _sizes(self) -> list[int]:
        return [int(size) for size in self.sizes]
