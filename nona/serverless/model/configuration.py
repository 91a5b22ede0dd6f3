"""The configurations that a batch may be given, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.gpu_sharing.resources import Configuration


@dataclass(frozen=True)
class ConfigurationSpace:
    """All configurations, each once, in increasing order of (batch, vCPUs, vGPUs); C of them.

    Raises
    ------
    SimulationError
        For an empty space or a size below 1.

    Examples
    --------
    >>> space = grid([1, 2], [1], [1, 7])
    >>> len(space), space[0], space.vgpus.tolist(), space.smallest
    (4, Configuration(batch=1, vcpus=1, vgpus=1), [1, 7, 1, 7], 0)
    """

    configurations: tuple[Configuration, ...]

    def __post_init__(self) -> None:
        if not self.configurations:
            raise SimulationError("Configurations: there are none; give at least one.")
        for c in self.configurations:
            if min(c.batch, c.vcpus, c.vgpus) < 1:
                raise SimulationError(f"Configuration {c.text}: every size must be at least 1; raise it.")
        if list(self.configurations) != sorted(set(self.configurations)):
            raise SimulationError("Configurations: they must be sorted and differ; use grid().")

    def __len__(self) -> int:
        return len(self.configurations)

    def __getitem__(self, number: int) -> Configuration:
        return self.configurations[number]

    @cached_property
    def batch(self) -> NDArray[np.int64]:
        """(C,) Jobs in a batch."""
        return np.array([c.batch for c in self.configurations], dtype=np.int64)

    @cached_property
    def vcpus(self) -> NDArray[np.int64]:
        """(C,) vCPUs."""
        return np.array([c.vcpus for c in self.configurations], dtype=np.int64)

    @cached_property
    def vgpus(self) -> NDArray[np.int64]:
        """(C,) vGPUs."""
        return np.array([c.vgpus for c in self.configurations], dtype=np.int64)

    @property
    def smallest(self) -> int:
        """Number of the smallest configuration, which comes first."""
        return 0

    @cached_property
    def number(self) -> dict[Configuration, int]:
        """Configuration → its number."""
        return {c: i for i, c in enumerate(self.configurations)}


def grid(batch: Sequence[int], vcpus: Sequence[int], vgpus: Sequence[int]) -> ConfigurationSpace:
    """Every combination of the sizes given."""
    every = {Configuration(b, v, g) for b in batch for v in vcpus for g in vgpus}
    return ConfigurationSpace(tuple(sorted(every)))
