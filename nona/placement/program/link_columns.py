"""The columns of a placement problem as several links see them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.placement.waits.link_roles import Traffic
from nona.placement.waits.link_wait_curve import Curve

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rows:
    """What n columns send, and the curve of the waits: w(x) = A0(y) + A1(y)·B·x + A2(y)·P·x, y = load·x.

    Attributes
    ----------
    load, bundle, pairs : (n,)
        λ·D/C, and λ times the squares of bundles, and what those of batches have beyond, at the
        core's capacity; all ≥ 0.
    """

    curve: Curve
    load: Floats
    bundle: Floats
    pairs: Floats

    def wait(self, columns: NDArray[np.int64], shares: Floats) -> float:
        """w(x) of the point with ``shares`` in ``columns``; ``inf`` where a link is overloaded."""
        return self.curve.wait(
            float((self.load[columns] * shares).sum()),
            float((self.bundle[columns] * shares).sum()),
            float((self.pairs[columns] * shares).sum()),
        )

    def traffic(self, x: Floats) -> Traffic:
        """What the point ``x`` (n,) sends."""
        bundle = float(self.bundle @ x)
        return Traffic(float(self.load @ x), bundle, bundle + float(self.pairs @ x))

    def swaps(self, chosen: NDArray[np.int64], out: int, into: slice) -> tuple[float, Floats]:
        """w of pure columns ``chosen``, and with column ``out`` of them replaced by each of ``into``."""
        here = [float(row[chosen].sum()) for row in (self.load, self.bundle, self.pairs)]
        load, bundle, pairs = (
            np.maximum(total - row[out] + row[into], 0.0)
            for total, row in zip(here, (self.load, self.bundle, self.pairs), strict=True)
        )
        return self.curve.wait(*here), self.curve.waits(load, bundle, pairs)

    def alone(self) -> tuple[Floats, Floats, float, float]:
        """(a0, a1, b0, b1) of one link that is full when the first of these is, and waits alike when idle.

        For choosing columns and starting points by the same rules as at one link, never for a value.
        """
        idle, bundle, pair = self.curve.at(0.0)
        return bundle * self.bundle + pair * self.pairs, self.load / self.curve.full_load, idle, 1.0

    @property
    def ratios(self) -> tuple[float, float, float]:
        """(least B/load, greatest B/load, greatest P/load) over the columns that load the links."""
        used = self.load > 0
        if not used.any():
            return 0.0, 0.0, 0.0
        bundle, pairs = self.bundle[used] / self.load[used], self.pairs[used] / self.load[used]
        return float(bundle.min()), float(bundle.max()), float(pairs.max())
