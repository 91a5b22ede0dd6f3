"""An application that trains elastically: times, progress, statistical efficiency."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from nona.allocation.policies.problem import Floats, Ints
from nona.training.elastic.applications.batches import Batches, Split
from nona.training.elastic.applications.times import Counts, StepTime, Times


class Noise(NamedTuple):
    """Of the gradient at the smallest batch size: its squared norm s, and its variance v."""

    square: float
    variance: float

    def gain(self, scale: float) -> float:
        """Progress of one step with ``scale`` times the smallest batch: (v + s)/(v/scale + s).

        >>> Noise(1.0, 3.0).gain(1.0), Noise(1.0, 3.0).gain(3.0)
        (1.0, 2.0)
        """
        return (self.variance + self.square) / (self.variance / scale + self.square)


@dataclass(frozen=True, eq=False)
class Application:
    """A profiled training task.

    Attributes
    ----------
    epochs
        E; a job is complete after them.
    sizes
        (k,) batch sizes at which epochs were measured, ascending.
    progress, iterations
        (k, E) at the end of each epoch: progress, in iterations at the smallest batch size; iterations.
    square, variance
        (k, E) of the gradient: squared norm and variance.
    fixed_batch, most_gpus
        Batch size that is never changed, and the most GPUs; ``None``: free.
    error
        (k, E) on a validation set at the end of each epoch; ``None``: not measured.
    parameters
        Of the network, whose gradients nodes exchange; ``None``: unknown.
    """

    name: str
    task: str
    epochs: int
    batches: Batches
    times: Times
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
        """Of an epoch, linear in the batch size between the two measured ones beside it."""
        key = (batch, epoch)
        if (found := self._noise.get(key)) is None:
            square = self._along(batch, self.square[:, epoch])
            found = self._noise[key] = Noise(square, self._along(batch, self.variance[:, epoch]))
        return found

    def remaining_iterations(self, batch: int, epoch: int) -> float:
        """Iterations from the end of an epoch to that of the last one; 1 in the last one.

        Source: the oracle of Optimus in Pollux's public simulator.
        """
        if epoch >= self.epochs - 1:
            return 1.0
        rows = self.iterations[:, [epoch, -1]].T
        return self._along(batch, rows[1]) - self._along(batch, rows[0])

    def epoch_iterations(self, batch: int) -> float:
        """Iterations of an epoch, as many as the first one had."""
        return self._along(batch, self.iterations[:, 0])

    def errors(self, batch: int, epochs: int) -> list[float] | None:
        """At the end of each of the first ``epochs``, linear in the batch size; ``None``: not measured."""
        if self.error is None:
            return None
        return [self._along(batch, self.error[:, epoch]) for epoch in range(epochs)]

    def step(self, counts: Counts, split: Split) -> tuple[float, StepTime]:
        """Seconds of a step with its extra ones, step + a·(step − sync), and the time without them."""
        time = self.times.at(counts, split.local)
        return time.step_s + split.extra * (time.step_s - time.sync_s), time

    def rate(self, counts: Counts, split: Split, epoch: int) -> float:
        """Progress per second: gain / (step + a·(step − sync))."""
        batch = split.batch(sum(counts))
        gain = self.noise(batch, epoch).gain(batch / self.batches.least)
        return gain / self.step(counts, split)[0]

    def most_at(self, batch: int) -> int:
        """The most GPUs for a batch: ⌊B / b_min⌋, or the application's own bound."""
        return self.most_gpus or max(1, batch // self.batches.least_local)

    def _along(self, batch: int, values: Floats) -> float:
        if len(self._sizes) == 1:
            return float(values[0])
        right = min(max(bisect.bisect_left(self._sizes, batch), 1), len(self._sizes) - 1)
        low, high = self._sizes[right - 1], self._sizes[right]
        part = (batch - low) / (high - low)
        return float(values[right - 1] + part * (values[right] - values[right - 1]))

    @cached_property
    def _sizes(self) -> list[int]:
        return [int(size) for size in self.sizes]
