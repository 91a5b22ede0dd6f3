"""Time of a message on an idle link: bytes / capacity + latency.

The affine model fits NCCL between nodes within 2 to 5 % and inside a node within 3 to 11 %
(microsoft/vidur profiles; see ``nona/hardware/data/links.csv``). Waiting is not in it: that is
the placement's and the simulation's part.
"""

from __future__ import annotations

import math
from typing import Protocol

from nona.errors import CostError


class Channel(Protocol):
    """What a transfer needs: :class:`nona.hardware.cluster.Network` and ``catalogue.Link`` are such."""

    @property
    def capacity(self) -> float: ...
    @property
    def latency_s(self) -> float: ...


def transfer_s(size_bytes: float, channel: Channel) -> float:
    """Seconds from sending to arrival when nothing else is sent.

    Raises
    ------
    CostError
        For a size that is negative or not finite.

    >>> from nona.hardware.cluster import Network
    >>> transfer_s(1e6, Network(capacity=1e9, latency_s=20e-6))
    0.00102
    """
    if not (math.isfinite(size_bytes) and size_bytes >= 0):
        raise CostError(f"Transfer of {size_bytes} bytes: the size must be finite and at least 0.")
    return size_bytes / channel.capacity + channel.latency_s
