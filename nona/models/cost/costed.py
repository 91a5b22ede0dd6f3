"""The costed graph: what every operator takes on one device, and how uncertain that is.

A time of provenance p is read as lognormal with median the stated time and σ = ``SIGMA[p]``.
Errors of the operators of one model share their cause (the same constants), so the interval of a
sum is taken with the same σ: it does not shrink with the number of operators.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from types import MappingProxyType
from typing import Literal

from nona.core.errors import CostError
from nona.models.cost.options import slice_constant
from nona.models.graph.model import ModelGraph

Provenance = Literal["measured", "calibrated", "modelled", "given"]


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """Work and time of one operator for one query.

    ``flops`` counts a multiply-add as two; ``macs`` are multiply-adds of convolutions and matrix
    products only, as the literature counts them. ``read_bytes`` and ``write_bytes`` are
    activations; ``weight_bytes`` are the parameters that this operator reads.
    ``provenance`` says where ``compute_s`` comes from (``given``: stated in the model file);
    ``given_on`` the executor class that a stated time holds for (``"*"``: any), which was carried over
    where it is another than the one costed; empty for a modelled time.
    """

    id: str
    kind: str
    flops: float
    macs: float
    read_bytes: float
    write_bytes: float
    weight_bytes: float
    compute_s: float
    provenance: Provenance
    given_on: str = ""


@dataclass(frozen=True)
class CostedGraph:
    """A model graph with a cost for every operator, on one device.

    ``costs`` follows the order of ``graph.operators``. ``warnings`` holds a line for each kind of
    operator whose work is unknown. Of ``with_work`` operators that start a kernel, or may, ``uncounted``
    have neither known work nor a time.
    """

    graph: ModelGraph
    device: str
    costs: tuple[OperatorCost, ...]
    warnings: tuple[str, ...] = ()
    uncounted: int = 0
    with_work: int = 0

    @cached_property
    def compute_s(self) -> tuple[float, ...]:
        """Seconds of each operator, in the order of ``graph.operators``."""
        return tuple(c.compute_s for c in self.costs)

    @property
    def total_compute_s(self) -> float:
        """T₁: seconds of all operators one after the other."""
        return sum(self.compute_s)

    @cached_property
    def critical_path_s(self) -> float:
        """T∞: seconds of the longest chain of dependent operators."""
        return self.graph.dag.critical_path(self.compute_s)[0]

    @property
    def sliced(self) -> bool:
        """True where the device is a MIG slice."""
        return "/" in self.device and not self.device.split("/")[1].startswith("mps-")

    @property
    def parallelism(self) -> float:
        """T₁/T∞: the most that splitting one query can gain; 1 when nothing takes time."""
        return self.total_compute_s / self.critical_path_s if self.critical_path_s > 0 else 1.0


SIGMA: Mapping[Provenance, float] = MappingProxyType(
    {
        "given": 0.0,  # what the file states is taken at its word
        "measured": 0.05,  # assumed: medians of repeated runs, another day or clock
        "calibrated": 0.12,  # MAPE of 8 to 12 % of models fitted to operator profiles (microsoft/vidur)
        "modelled": 0.28,  # covers 9 of 10 networks left out of the fit (evidence/fitted_times.py)
    }
)


def sigma_of(provenance: Provenance, sliced: bool = False) -> float:
    """σ of ln(true / stated); a modelled time on a MIG slice has the error of the slowdown besides."""
    sigma = SIGMA[provenance]
    return math.hypot(sigma, slice_constant("ratio_sigma")) if sliced and provenance == "modelled" else sigma


def interval(
    time_s: float, provenance: Provenance, level: float = 0.9, sliced: bool = False
) -> tuple[float, float]:
    """Return the central interval that holds the true time with probability ``level``, seconds.

    Formula: time · exp(∓ z·σ), z the normal quantile of (1 + level) / 2, σ by :func:`sigma_of`.

    Raises ``CostError`` when ``level`` is not between 0 and 1.

    >>> low, high = interval(1.0, "modelled")
    >>> round(low, 2), round(high, 2), interval(1.0, "given")
    (0.63, 1.58, (1.0, 1.0))
    """
    if not 0 < level < 1:
        raise CostError(f"Interval level {level!r}: it must be between 0 and 1; give for example 0.9.")
    factor = math.exp(NormalDist().inv_cdf((1 + level) / 2) * sigma_of(provenance, sliced))
    return time_s / factor, time_s * factor


def total_interval(costed: CostedGraph, level: float = 0.9) -> tuple[float, float]:
    """Return the interval of a model's total time: the sum of its operators' bounds."""
    bounds = [interval(c.compute_s, c.provenance, level, costed.sliced) for c in costed.costs]
    return sum(b[0] for b in bounds), sum(b[1] for b in bounds)
