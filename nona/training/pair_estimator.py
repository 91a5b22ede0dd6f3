"""Rates of jobs beside each other, estimated from a few profiled pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nona.core.arrays import Bools, Floats
from nona.core.errors import SimulationError
from nona.core.random_streams import RandomStreams
from nona.training.system import Throughputs


@dataclass(frozen=True, slots=True)
class CompletionOptions:
    """Options of the completion: ``rank``, ``ridge`` μ, most ``sweeps``, and ``tolerance``.

    A sweep that changes the matrix by less than ``tolerance`` · entries in the Frobenius norm is the last.
    (Gavel's 1e-3 ends after two or three sweeps.)
    """

    rank: int = 10
    ridge: float = 0.01
    sweeps: int = 100
    tolerance: float = 1e-6


def completed(values: Floats, known: Bools, how: CompletionOptions, generator: np.random.Generator) -> Floats:
    """Return the matrix U Vᵀ nearest to the known entries: min Σ_known (x − u·v)² + μ(‖U‖² + ‖V‖²).

    Alternating least squares from a Gaussian start: with V fixed every row of U solves r equations of its
    own, and the other way round. Entries lie in [0, 1] afterwards, and known ones are kept.

    Source: Zhou et al. 2008 (ALS with weighted λ, here unweighted); Narayanan et al., OSDI 2020, §6.

    >>> x = np.outer([0.2, 0.5, 1.0], [0.9, 0.6, 0.3, 0.8])
    >>> known = np.ones(x.shape, dtype=bool)
    >>> known[2, 3] = False
    >>> exact = CompletionOptions(rank=1, ridge=1e-9, tolerance=1e-12)
    >>> bool(abs(completed(x, known, exact, np.random.default_rng(0)) - x).max() < 1e-6)
    True
    """
    rows, columns = values.shape
    rank = min(how.rank, rows, columns)
    seen, filled = known.astype(np.float64), np.where(known, values, 0.0)
    right: Floats = generator.normal(size=(columns, rank))
    product: Floats = np.zeros_like(filled)
    for _ in range(how.sweeps):
        left = _half(filled, seen, right, how.ridge)
        right = _half(filled.T, seen.T, left, how.ridge)
        before, product = product, left @ right.T
        if float(np.linalg.norm(product - before)) < how.tolerance * values.size:
            break
    return np.where(known, values, np.clip(product, 0.0, 1.0))


def _half(filled: Floats, seen: Floats, factors: Floats, ridge: float) -> Floats:
    """Rows u with (Σ_seen v vᵀ + μ I) u = Σ_seen x v."""
    rank = factors.shape[1]
    squares = (factors[:, :, None] * factors[:, None, :]).reshape(len(factors), -1)
    normal = (seen @ squares).reshape(-1, rank, rank) + ridge * np.eye(rank)
    return np.linalg.solve(normal, (filled @ factors)[:, :, None])[:, :, 0].astype(np.float64)


@dataclass(frozen=True, eq=False, slots=True)
class Reference:
    """Rows of models; columns of (type, partner): type after type, partners in the order of ``models``.

    ``kept``: (q, J·q) T_pair(a beside b) / T(a), within [0, 1]; 0 where the two cannot share.
    """

    models: tuple[str, ...]
    types: tuple[str, ...]
    kept: Floats

    def column(self, gpu: int, partner: int) -> int:
        """Return the column of the rates beside a partner on a type: gpu · q + partner."""
        return gpu * len(self.models) + partner


def reference_of(table: Throughputs, types: Sequence[str]) -> Reference:
    """Return, for each model on each GPU type, the share of its rate alone that it keeps beside each partner.

    The models are those whose rate alone on one GPU of a type in ``types`` is in the table.

    >>> from nona.training.system import AloneKey, PairKey
    >>> t = Throughputs({AloneKey("v100", "a", 1): 4.0, AloneKey("v100", "b", 1): 2.0},
    ...                 {PairKey("v100", "a", "b", 1): (3.0, 1.0)})
    >>> reference_of(t, ["v100"]).kept.tolist()
    [[0.0, 0.75], [0.5, 0.0]]
    """
    models = tuple(dict.fromkeys(k.model for k in table.alone if k.workers == 1 and k.gpu in types))
    kept = np.zeros((len(models), len(types), len(models)))
    for a, own in enumerate(models):
        for j, gpu in enumerate(types):
            if alone := table.rate(gpu, own, 1):
                kept[a, j] = [table.pair(gpu, own, b, 1)[0] / alone for b in models]
    return Reference(models, tuple(types), np.clip(kept.reshape(len(models), -1), 0.0, 1.0))


def _cosine_match(row: Floats, rows: Floats) -> int:
    """Return the number of the row of largest cosine to ``row``; the first one among equals.

    >>> _cosine_match(np.array([2.0, 2.1]), np.array([[1.0, 0.0], [0.4, 0.4]]))
    1
    """
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(row)
    cosines = np.divide(rows @ row, lengths, out=np.zeros(len(rows)), where=lengths > 0)
    return int(np.argmax(cosines))


def profiled(row: Floats, share: float, generator: np.random.Generator) -> Bools:
    """Draw the entries of a new job's row that are measured: each with probability ``share``."""
    return generator.random(row.shape) < share


def matched(
    row: Floats, known: Bools, reference: Reference, how: CompletionOptions, generator: np.random.Generator
) -> tuple[int, Floats]:
    """Return the reference model that a job with some measured entries is most like, and its completed row.

    The row is appended to the reference and the matrix completed; the match is the reference row of the
    largest cosine. Source: Narayanan et al., OSDI 2020, §6.
    """
    values = np.vstack([reference.kept, np.where(known, row, 0.0)])
    mask = np.vstack([np.ones_like(reference.kept, dtype=bool), known])
    full: Floats = completed(values, mask, how, generator)[-1]
    return _cosine_match(full, reference.kept), full


@dataclass(eq=False, slots=True)
class PairEstimates:
    """Pair rates as policies see them: estimates, and the truth for pairs that have run.

    A model is profiled when it is first asked for, by a random stream of its own: answers do not depend on
    the order of questions. Rates alone are known; only jobs of one worker share.
    """

    table: Throughputs
    reference: Reference
    share: float
    how: CompletionOptions
    streams: RandomStreams
    matches: dict[str, int] = field(default_factory=dict)
    measured: set[frozenset[str]] = field(default_factory=set)

    def match(self, model: str) -> int:
        """Return the number of the reference model that stands for ``model``."""
        if model not in self.matches:
            if model not in self.reference.models:
                raise SimulationError(
                    f"Estimator: model {model!r} has no rate on one GPU in the table; add a row for it."
                )
            row = self.reference.kept[self.reference.models.index(model)]
            measured = profiled(row, self.share, self.streams.generator("profiled", model))
            generator = self.streams.generator("completion", model)
            self.matches[model], _ = matched(row, measured, self.reference, self.how, generator)
        return self.matches[model]

    def ran(self, first: str, second: str) -> None:
        """Record that two models ran together, so that their rates are measured."""
        self.measured.add(frozenset((first, second)))

    def pair(self, gpu: str, model: str, partner: str) -> tuple[float, float]:
        """Return steps per second of both: T(a) · row(match a)[match b], or the truth once they ran."""
        if frozenset((model, partner)) in self.measured:
            return self.table.pair(gpu, model, partner, 1)
        a, b, j = self.match(model), self.match(partner), self.reference.types.index(gpu)
        kept = self.reference.kept
        own = self.table.rate(gpu, model, 1) * kept[a, self.reference.column(j, b)]
        other = self.table.rate(gpu, partner, 1) * kept[b, self.reference.column(j, a)]
        return (float(own), float(other)) if min(own, other) > 0 else (0.0, 0.0)
