"""What the traffic of a configuration costs everybody else by the waits it lengthens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nona.placement.spans.messages import Messages
from nona.placement.waits.link_roles import Role, Traffic

if TYPE_CHECKING:
    from nona.placement.waits.link_wait_curve import Curve

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LinkPrice:
    """The gradient of the mean wait of a message: by the load, by the squares of batches and of bundles."""

    load: float
    square: float
    bundle: float = 0.0

    def of(self, messages: Messages) -> Floats:
        """(n,) Seconds of wait for each configuration sent once a second."""
        price: Floats = self.load * messages.load_s + self.square * messages.square_s2
        return price + self.bundle * messages.bundle_s2 if self.bundle else price


def network_price(curve: Curve, traffic: Traffic) -> LinkPrice:
    """The gradient over several links at ``traffic``, which overloads none.

    Formula: with w = A0(y) + A1(y)·B + A2(y)·(Q − B), ∂w/∂y = A0' + A1'·B + A2'·(Q − B),
    ∂w/∂Q = A2 and ∂w/∂B = A1 − A2.
    """
    pairs = max(traffic.batch_s - traffic.bundle_s, 0.0)
    _, bundle, pair = curve.at(traffic.load)
    s0, s1, s2 = curve.slopes(traffic.load)
    return LinkPrice(s0 + s1 * traffic.bundle_s + s2 * pairs, pair, bundle - pair)


def wait_per_byte(roles: Sequence[Role], traffic: Traffic) -> float:
    """Seconds that the mean wait of a message grows per byte/s that the queries send more.

    Formula: Σ_r q_r·(∂W_r/∂ρ_r)·π_r/C_r, with ∂W/∂ρ = W/(ρ(1 − ρ)) along growing traffic of the
    present mix of sizes, background included, as at one link; ``inf`` where a role is overloaded.
    """
    total = 0.0
    for r in roles:
        rho = r.utilization(traffic.load)
        if rho >= 1.0:
            return math.inf
        if rho > 0.0:
            total += r.share * r.wait_s(traffic) / (rho * (1.0 - rho)) * r.each / r.capacity
    return total
