"""Pollux's part in a job: it measures steps, fits the model, chooses the batch size."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nona.allocation.policies.problem import Floats, Ints
from nona.training.elastic.applications.application import Noise
from nona.training.elastic.applications.batches import Split
from nona.training.elastic.applications.times import Counts, StepTime
from nona.training.elastic.model.system import ElasticJob
from nona.training.elastic.policies.pollux.fitting import Observations, fit
from nona.training.elastic.policies.pollux.goodput import best_batch, goodputs


@dataclass(slots=True)
class TunedBatch:
    """Chooses the batch size of the largest goodput; before the first measurement the smallest one.

    ``node`` GPUs of one node, ``size`` GPUs of the cluster.
    """

    job: ElasticJob
    node: int
    size: int
    largest: int = 0
    _seen: dict[tuple[int, int, int], StepTime] = field(default_factory=dict)
    _noise: Noise | None = None
    _params: Floats | None = None
    _table: Floats | None = None

    @property
    def limits(self) -> Ints:
        """Of batch sizes, as compiled functions take them."""
        b = self.job.application.batches
        return np.array([b.least, b.most, b.least_local, b.most_local])

    @property
    def most_gpus(self) -> int:
        """r_max: twice the most GPUs seen, as far as cluster and application allow."""
        application = self.job.application
        batches = application.batches
        own = application.most_gpus or max(1, batches.most // batches.least_local)
        return min(max(2 * self.largest, 1), self.size, own)

    def split(self, counts: Counts) -> Split:
        """The batch size of the largest goodput on these GPUs; an application's fixed one stays."""
        application, gpus = self.job.application, sum(counts)
        batches = application.batches
        if application.fixed_batch is not None:
            return batches.split(application.fixed_batch, gpus)
        if self._noise is None:
            return batches.split(max(batches.least, batches.least_local * gpus), gpus)
        _, local, extra = best_batch(self.params, np.array(self._noise), self.limits, len(counts) > 1, gpus)
        return Split(min(local, batches.most // (gpus * (extra + 1))), extra)

    def measured(self, counts: Counts, split: Split, time: StepTime, noise: Noise) -> None:
        """Keep the noise, and the time if it is the first of its kind."""
        if noise != self._noise:
            self._noise, self._table = noise, None
        gpus = sum(counts)
        key = (len(counts), gpus, split.local)
        if key not in self._seen:
            self._seen[key] = time
            self._params = self._table = None
            self.largest = max(self.largest, gpus)

    @property
    def params(self) -> Floats:
        """The step model fitted to all that was measured."""
        if self._params is None:
            nodes, gpus, local = np.array(list(self._seen)).T
            step, sync = np.array(list(self._seen.values())).T
            self._params = fit(Observations(nodes, gpus, local, step - sync, step))
        return self._params

    def speedups(self, fair: int, most: int) -> Floats:
        """(2, most + 1) s by GPUs, on one node and on several: goodput over that of ``fair`` GPUs.

        Before the first measurement s = r / fair.
        """
        if self._noise is None:
            found: Floats = np.tile(np.arange(most + 1) / fair, (2, 1))
            return found
        own = self.most_gpus
        if self._table is None:
            self._table = goodputs(self.params, np.array(self._noise), self.limits, self.node, own)
        batches = self.job.application.batches
        base = min(fair, max(1, batches.most // batches.least_local))
        equal = best_batch(self.params, np.array(self._noise), self.limits, False, base)[0]
        found = np.zeros((2, most + 1))
        found[:, : own + 1] = self._table / equal
        return found
