"""Estimated rates of pairs: what policies see until a pair has run."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nona.errors import SimulationError
from nona.random_streams import RandomStreams
from nona.training.estimator.completion import Completion, Floats, Mask, completed
from nona.training.estimator.reference import Reference, cosine_match, profiled
from nona.training.model.throughputs import Throughputs


def matched(
    row: Floats, known: Mask, reference: Reference, how: Completion, generator: np.random.Generator
) -> tuple[int, Floats]:
    """The reference model that a job with some measured entries is most like, and its completed row.

    The row is appended to the reference and the matrix completed; the match is the reference row of the
    largest cosine. Source: Narayanan et al., OSDI 2020, §6.
    """
    values = np.vstack([reference.kept, np.where(known, row, 0.0)])
    mask = np.vstack([np.ones_like(reference.kept, dtype=bool), known])
    full: Floats = completed(values, mask, how, generator)[-1]
    return cosine_match(full, reference.kept), full


@dataclass(eq=False, slots=True)
class PairEstimates:
    """Pair rates as policies see them: estimates, and the truth for pairs that have run.

    A model is profiled when it is first asked for, by a random stream of its own: answers do not depend on
    the order of questions. Rates alone are known; only jobs of one worker share.
    """

    table: Throughputs
    reference: Reference
    share: float
    how: Completion
    streams: RandomStreams
    matches: dict[str, int] = field(default_factory=dict)
    measured: set[frozenset[str]] = field(default_factory=set)

    def match(self, model: str) -> int:
        """The number of the reference model that stands for ``model``.

        Raises
        ------
        SimulationError
            Where the table does not have the model on one GPU.
        """
        if model not in self.matches:
            if model not in self.reference.models:
                raise SimulationError(
                    f"Estimator: model {model!r} has no rate on one GPU in the table; add a row for it."
                )
            row = self.reference.kept[self.reference.models.index(model)]
            known = profiled(row, self.share, self.streams.generator("profiled", model))
            generator = self.streams.generator("completion", model)
            self.matches[model], _ = matched(row, known, self.reference, self.how, generator)
        return self.matches[model]

    def ran(self, first: str, second: str) -> None:
        """The two models ran on the same GPUs: their rates beside each other are known from now on."""
        self.measured.add(frozenset((first, second)))

    def pair(self, gpu: str, model: str, partner: str) -> tuple[float, float]:
        """Steps per second of both: T(a) · row(match a)[match b], or the truth once they ran."""
        if frozenset((model, partner)) in self.measured:
            return self.table.pair(gpu, model, partner, 1)
        a, b, j = self.match(model), self.match(partner), self.reference.types.index(gpu)
        kept = self.reference.kept
        own = self.table.rate(gpu, model, 1) * kept[a, self.reference.column(j, b)]
        other = self.table.rate(gpu, partner, 1) * kept[b, self.reference.column(j, a)]
        return (float(own), float(other)) if min(own, other) > 0 else (0.0, 0.0)
