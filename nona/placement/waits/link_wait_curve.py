"""The mean wait of a message over all its links as a function of the load: three convex curves.

With y the load of the queries, B the squares of their bundles and P = Q − B ≥ 0 what their batches
have beyond (:mod:`nona.placement.waits.link_roles`), Pollaczek–Khinchine at every role gives

    w(y, B, P) = A0(y) + A1(y)·B + A2(y)·P
    A0 = Σ_r q_r·b0_r/(2(1 − ρ_r))                     q_r: share of messages that cross role r
    A1 = Σ_r q_r·c_r²·π_r/(2(1 − ρ_r))
    A2 = Σ_r q_r·c_r²·π2_r/2·max(0, 1/(1 − ρ_r) − r_r)

ρ_r is a line in y, so each A is convex and increasing up to the load at which a role is full.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.placement.waits.link_roles import Role

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """The three curves of some roles; arrays (R,) of the letters above, ``per_load`` is dρ/dy."""

    rho0: Floats
    per_load: Floats
    spacing: Floats
    background: Floats
    bundle: Floats
    pair: Floats

    @staticmethod
    def of(roles: Sequence[Role]) -> Curve:
        """The curves of ``roles``."""

        def column(value: Sequence[float]) -> Floats:
            return np.array(value, dtype=float)

        return Curve(
            rho0=column([r.background_utilization for r in roles]),
            per_load=column([r.each * r.slower for r in roles]),
            spacing=column([r.spacing for r in roles]),
            background=column([0.5 * r.share * r.background_moment_s for r in roles]),
            bundle=column([0.5 * r.share * r.slower**2 * r.each for r in roles]),
            pair=column([0.5 * r.share * r.slower**2 * r.both for r in roles]),
        )

    @property
    def full_load(self) -> float:
        """The load at which the first role is full; ``inf`` where none ever is."""
        used = self.per_load > 0
        return float(((1.0 - self.rho0[used]) / self.per_load[used]).min(initial=math.inf))

    def at(self, load: float) -> tuple[float, float, float]:
        """(A0, A1, A2) at ``load`` below :attr:`full_load`."""
        inverse = 1.0 / (1.0 - self.rho0 - self.per_load * load)
        met = np.maximum(0.0, inverse - self.spacing)
        return float(self.background @ inverse), float(self.bundle @ inverse), float(self.pair @ met)

    def slopes(self, load: float) -> tuple[float, float, float]:
        """Their derivatives at ``load``."""
        inverse = 1.0 / (1.0 - self.rho0 - self.per_load * load)
        steep = self.per_load * inverse**2
        met = np.where(inverse > self.spacing, steep, 0.0)
        return float(self.background @ steep), float(self.bundle @ steep), float(self.pair @ met)

    def waits(self, load: Floats, bundle: Floats, pairs: Floats) -> Floats:
        """w at several points; ``inf`` where a role is full."""
        spare = 1.0 - self.rho0 - np.multiply.outer(load, self.per_load)
        stable = spare.min(axis=-1, initial=math.inf) > 0
        inverse = 1.0 / np.where(stable[..., None], spare, 1.0)
        met = np.maximum(0.0, inverse - self.spacing)
        total = inverse @ self.background + (inverse @ self.bundle) * bundle + (met @ self.pair) * pairs
        result: Floats = np.where(stable, total, math.inf)
        return result

    def wait(self, load: float, bundle: float, pairs: float) -> float:
        """w at one point."""
        return float(self.waits(np.array(load), np.array(bundle), np.array(pairs)))
