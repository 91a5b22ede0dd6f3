"""Named random streams: one seed, one independent generator for every source of chance.

A stream depends on the seed and on its own name only, never on the order in which streams are
made. So two schedulers see the same arrivals and services (common random numbers), and a run is
the same in every process.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class RandomStreams:
    """The random streams of one replication.

    ``seed``: the scenario's seed, a whole number of at least 0. ``replication``: number of the replication;
    different replications are independent.

    >>> a = RandomStreams(7).generator("arrivals", "resnet18").random()
    >>> b = RandomStreams(7).generator("arrivals", "resnet18").random()
    >>> c = RandomStreams(7, replication=1).generator("arrivals", "resnet18").random()
    >>> a == b, a == c
    (True, False)
    """

    seed: int
    replication: int = 0

    def generator(self, *name: str) -> np.random.Generator:
        """Return a fresh generator at the start of the stream ``name``."""
        digest = hashlib.sha256("\x1f".join(name).encode()).digest()
        words = tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
        sequence = np.random.SeedSequence(self.seed, spawn_key=(self.replication, *words))
        return np.random.Generator(np.random.PCG64(sequence))
