"""The reference: how much of its own rate a model keeps beside each other model, as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nona.training.estimator.completion import Floats, Mask
from nona.training.model.throughputs import Throughputs


@dataclass(frozen=True, eq=False, slots=True)
class Reference:
    """Rows of models; columns of (type, partner): type after type, partners in the order of ``models``.

    ``kept``: (q, J·q) T_pair(a beside b) / T(a), within [0, 1]; 0 where the two cannot share.
    """

    models: tuple[str, ...]
    types: tuple[str, ...]
    kept: Floats

    def column(self, gpu: int, partner: int) -> int:
        """Where the rates beside a partner on a type are: gpu · q + partner."""
        return gpu * len(self.models) + partner

    def without(self, model: int) -> Reference:
        """The reference without a model's row and columns."""
        others = [i for i in range(len(self.models)) if i != model]
        columns = [self.column(j, b) for j in range(len(self.types)) for b in others]
        return Reference(
            tuple(self.models[i] for i in others), self.types, self.kept[np.ix_(others, columns)]
        )


def reference_of(table: Throughputs, types: Sequence[str]) -> Reference:
    """The matrix of all models that the table has on one GPU of some type.

    >>> from nona.training.model.throughputs import AloneKey, PairKey
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


def cosine_match(row: Floats, rows: Floats) -> int:
    """The number of the row of largest cosine to ``row``; the first one among equals.

    >>> cosine_match(np.array([2.0, 2.1]), np.array([[1.0, 0.0], [0.4, 0.4]]))
    1
    """
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(row)
    cosines = np.divide(rows @ row, lengths, out=np.zeros(len(rows)), where=lengths > 0)
    return int(np.argmax(cosines))


def profiled(row: Floats, share: float, generator: np.random.Generator) -> Mask:
    """Which entries of a new job's row are measured: each with probability ``share``."""
    return generator.random(row.shape) < share
