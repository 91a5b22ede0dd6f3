"""Rates as a policy believes them: users' claims, and estimated rates of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import numpy as np

from nona.allocation.policies.problem import Floats
from nona.random_streams import RandomStreams
from nona.training.estimates.claims import Claims, user_of
from nona.training.estimates.correction import ClaimBook
from nona.training.estimator.completion import Completion
from nona.training.estimator.pairs import PairEstimates
from nona.training.estimator.reference import reference_of
from nona.training.model.system import TrainingSystem


class ClaimedRates:
    """What users claim of their jobs, corrected by what rounds measured."""

    def __init__(self, system: TrainingSystem, streams: RandomStreams) -> None:
        spec = system.estimates
        if spec is None:
            raise ValueError("estimates")
        self._system, self._types = system, system.cluster.types
        self._claims = Claims(spec.error, spec.bias, streams)
        self.book = ClaimBook(spec.prior, spec.correct, spec.flag)
        self.errors: list[float] = []

    def rates(self, jobs: Sequence[int], true: Floats) -> Floats:
        """(m, J) believed rates; 0 where the true one is 0."""
        found = np.zeros_like(true)
        for r, job in enumerate(jobs):
            self._claim(job)
            name = self._system.jobs[job].name
            for j in np.flatnonzero(true[r]).tolist():
                found[r, j] = self.book.rate(name, self._types[j])
        able = true > 0
        if able.any():
            self.errors.append(float(np.abs(np.log(found[able] / true[able])).mean()))
        return found

    def _claim(self, number: int) -> None:
        job = self._system.jobs[number]
        if job.name in self.book.users:
            return
        rates = {t: self._system.throughputs.rate(t, job.model, job.workers) for t in self._types}
        claims = {t: rate * self._claims.factor(job, t) for t, rate in rates.items() if rate > 0}
        self.book.claim(job.name, user_of(job), claims)

    def pairs(self, pairs: Sequence[tuple[int, int]], rates: Floats) -> Floats:
        """(p, J, 2) rates of pairs, each scaled as the job's claimed rate alone is."""
        found = rates.copy()
        factors = {job: self._factors(job) for job in {job for pair in pairs for job in pair}}
        for p, (a, b) in enumerate(pairs):
            found[p, :, 0] *= factors[a]
            found[p, :, 1] *= factors[b]
        return found

    def _factors(self, number: int) -> Floats:
        """(J,) believed over true rates of a job alone; 1 where it cannot run."""
        self._claim(number)
        job = self._system.jobs[number]
        found = np.ones(len(self._types))
        for j, gpu in enumerate(self._types):
            true = self._system.throughputs.rate(gpu, job.model, job.workers)
            if true > 0:
                found[j] = self.book.rate(job.name, gpu) / true
        return found

    def measured(self, number: int, kind: int, rate: float) -> None:
        """A round showed a job's rate alone."""
        self._claim(number)
        self.book.measure(self._system.jobs[number].name, self._types[kind], rate)


class EstimatedPairs:
    """Rates of pairs of jobs of one worker by the estimator, until such a pair has run."""

    def __init__(self, system: TrainingSystem, streams: RandomStreams) -> None:
        spec = system.estimator
        if spec is None:
            raise ValueError("estimator")
        self._types = system.cluster.types
        reference = reference_of(system.throughputs, self._types)
        how = Completion(spec.rank, spec.ridge)
        self._estimates = PairEstimates(system.throughputs, reference, spec.profiled, how, streams)
        known = {m: i for i, m in enumerate(reference.models)}
        self._kind = np.array([known.get(j.model, -1) if j.workers == 1 else -1 for j in system.jobs])
        self._models = reference.models
        self._rates: Floats = np.full((len(known), len(known), len(self._types), 2), nan)
        self.errors: list[float] = []

    def rates(self, pairs: Sequence[tuple[int, int]], true: Floats) -> Floats:
        """(p, J, 2) believed rates; 0 where the true ones are 0, for what does not fit is known at once."""
        if not len(pairs):
            return true
        kinds = self._kind[np.asarray(pairs, np.int64)]
        usable = (kinds >= 0).all(axis=1)
        for a, b in np.unique(kinds[usable], axis=0).tolist():
            self._fill(a, b)
        found = true.copy()
        found[usable] = self._rates[kinds[usable, 0], kinds[usable, 1]]
        found[true <= 0] = 0.0
        able = true > 0
        if able.any():
            self.errors.append(float((np.abs(found[able] - true[able]) / true[able]).mean()))
        return found

    def _fill(self, a: int, b: int) -> None:
        if np.isnan(self._rates[a, b, 0, 0]):
            for j, gpu in enumerate(self._types):
                pair = self._estimates.pair(gpu, self._models[a], self._models[b])
                self._rates[a, b, j], self._rates[b, a, j] = pair, pair[::-1]

    def ran(self, first: int, second: int) -> None:
        """Two jobs ran on the same GPUs: from now on the truth is believed of their models."""
        a, b = self._kind[first], self._kind[second]
        if min(a, b) >= 0:
            self._estimates.ran(self._models[a], self._models[b])
            self._rates[a, b] = self._rates[b, a] = nan
