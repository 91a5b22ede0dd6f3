"""How a batch is divided over GPUs and over steps without synchronisation."""

from __future__ import annotations

import math
from dataclasses import dataclass

EDGE = 1e-8


def up(value: float) -> int:
    """⌈value − 1e-8⌉, so that rounding errors of a division do not add one.

    >>> up(3.0000000001), up(3.1)
    (3, 4)
    """
    return math.ceil(value - EDGE)


@dataclass(frozen=True, slots=True)
class Split:
    """``local`` samples on each GPU, ``extra`` steps without synchronisation before each one with it."""

    local: int
    extra: int

    def batch(self, gpus: int) -> int:
        """Samples of one synchronised step on ``gpus`` GPUs: r · m · (a + 1)."""
        return gpus * self.local * (self.extra + 1)


@dataclass(frozen=True, slots=True)
class Batches:
    """Sizes that an application takes: of a whole batch, and on one GPU; in samples."""

    least: int
    most: int
    least_local: int
    most_local: int

    def split(self, batch: float, gpus: int, *, always_extra: bool = False) -> Split:
        """A batch of about ``batch`` samples on ``gpus`` GPUs.

        l = ⌈B/r⌉; a = ⌈l/b_max⌉ − 1, at least 1 on a single GPU if B > B₀ (gradient noise is estimated from
        two parts of a batch); m = min(⌈l/(a+1)⌉, ⌊B_max/(r(a+1))⌋).

        Parameters
        ----------
        always_extra
            a ≥ 1 on a single GPU whatever B is.

        Examples
        --------
        >>> Batches(128, 4096, 32, 1024).split(2048, 6)
        Split(local=342, extra=0)
        >>> Batches(128, 4096, 32, 1024).split(256, 1)
        Split(local=128, extra=1)

        Source: Qiao et al., Pollux, OSDI 2021, public simulator.
        """
        local = up(batch / gpus)
        extra = up(local / self.most_local) - 1
        if gpus == 1 and (always_extra or batch > self.least):
            extra = max(1, extra)
        part = up(local / (extra + 1))
        return Split(min(part, self.most // (gpus * (extra + 1))), extra)
