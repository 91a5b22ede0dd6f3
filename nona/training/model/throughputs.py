"""How fast jobs run: steps per second of whole jobs, alone and in pairs on the same GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Provenance = Literal["measured", "modelled", "given"]


class AloneKey(NamedTuple):
    """A model on ``workers`` GPUs of type ``gpu``."""

    gpu: str
    model: str
    workers: int


class PairKey(NamedTuple):
    """Two models, each with ``workers`` workers, on the same GPUs of type ``gpu``."""

    gpu: str
    model: str
    partner: str
    workers: int


@dataclass(frozen=True)
class Throughputs:
    """A table of rates.

    ``alone``: steps/s; ``spread``: the same where the GPUs are on different servers; ``pairs``: (own,
    partner's) steps/s. What is not in it cannot run: 0. ``provenance`` says where rates are from, by GPU.

    >>> table = Throughputs({AloneKey("v100", "A3C", 1): 9.0})
    >>> table.rate("v100", "A3C", 1), table.rate("k80", "A3C", 1), table.pair("v100", "A3C", "A3C", 1)
    (9.0, 0.0, (0.0, 0.0))
    """

    alone: Mapping[AloneKey, float]
    pairs: Mapping[PairKey, tuple[float, float]] = field(default_factory=dict)
    spread: Mapping[AloneKey, float] = field(default_factory=dict)
    provenance: Mapping[str, Provenance] = field(default_factory=dict)
    source: str = ""

    def rate(self, gpu: str, model: str, workers: int) -> float:
        """Steps per second alone, all GPUs on as few servers as possible."""
        return self.alone.get(AloneKey(gpu, model, workers), 0.0)

    def pair(self, gpu: str, model: str, partner: str, workers: int) -> tuple[float, float]:
        """Steps per second of both when they share GPUs, also when the table has them the other way round."""
        if (found := self.pairs.get(PairKey(gpu, model, partner, workers))) is not None:
            return found
        own, other = self.pairs.get(PairKey(gpu, partner, model, workers), (0.0, 0.0))
        return other, own
