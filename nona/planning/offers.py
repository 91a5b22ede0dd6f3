"""Offers and targets: what can be bought, and what every option has to keep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from nona.cluster.hardware.mig import gpu_layouts, layout_words, layouts_text, maximal_layouts, parse_layout
from nona.core.errors import HardwareError, ScenarioError
from nona.core.units import format_time
from nona.planning.results import PlanTarget


@dataclass(frozen=True, slots=True)
class Target:
    """At least ``share`` of the jobs of query class ``model`` are complete within ``bound_s`` seconds.

    A percentile below a bound says the same: the p-th percentile is at most b if and only if the share
    of jobs within b is at least p/100. ``percentile`` is p where it was asked for so, to show it again.
    Without a ``share`` the mean time of its jobs is at most ``bound_s``.

    >>> Target.of_percentile(0, 99.0, 0.05).share, Target.of_hits(0, 0.98, 0.04).text("resnet18")
    (0.99, '98 % of resnet18 within 40 ms')

    Raises ``ScenarioError`` when the share does not lie between 0 and 1, or the bound is not above 0.
    """

    model: int
    share: float | None
    bound_s: float
    percentile: float | None = None

    def __post_init__(self) -> None:
        if self.share is not None and not 0 < self.share < 1:
            raise ScenarioError(
                [f"Target: share {self.share:g} must lie between 0 and 1; give 0.99 for 99 %."]
            )
        if not (self.bound_s > 0 and math.isfinite(self.bound_s)):
            raise ScenarioError([f"Target: bound {self.bound_s:g} s must be above 0 and finite; correct it."])

    @staticmethod
    def of_hits(model: int, share: float, slo_s: float) -> Target:
        """At least ``share`` of the jobs keep their SLO."""
        return Target(model, share, slo_s)

    @staticmethod
    def of_percentile(model: int, percentile: float, bound_s: float) -> Target:
        """Return the target that the ``percentile`` (0 to 100) of completion times is at most ``bound_s``."""
        return Target(model, percentile / 100, bound_s, percentile)

    @staticmethod
    def of_mean(model: int, bound_s: float) -> Target:
        """Return the target that the mean of the completion times is at most ``bound_s``."""
        return Target(model, None, bound_s)

    @property
    def threshold(self) -> float:
        """What is compared with what is seen: the share, or the bound of the mean."""
        return self.bound_s if self.share is None else self.share

    def planned(self, name: str) -> PlanTarget:
        """Return the target as results have it."""
        return PlanTarget(model=name, share=self.share, within_s=self.bound_s, text=self.text(name))

    def text(self, name: str) -> str:
        """Return the target in words; ``name`` is the model's."""
        bound = format_time(self.bound_s, 4)
        if self.share is None:
            return f"mean of {name} at most {bound}"
        if self.percentile is not None:
            return f"p{self.percentile:g} of {name} at most {bound}"
        return f"{100 * self.share:.6g} % of {name} within {bound}"


ALL = "all"


def gpu_text(gpu: str, mig: str | None) -> str:
    """Return a GPU with its slices, for people.

    >>> gpu_text("l4", None), gpu_text("a100-40gb", "3g.20gb, 2g.10gb, 2g.10gb")
    ('l4', 'a100-40gb (3g.20gb + 2 × 2g.10gb)')
    """
    return gpu if mig is None else f"{gpu} ({layout_words(mig)})"


@dataclass(frozen=True, slots=True)
class Offer:
    """Servers that are alike: a GPU, how many a server has, their MIG layout, the price of a server per hour.

    ``most`` of them can be had; ``mps`` clients share each GPU or slice.
    """

    gpu: str
    mig: str | None
    price: float
    most: int
    gpus: int = 1
    vcpus: int = 16
    mps: int | None = None

    @property
    def text(self) -> str:
        """The executor type for people.

        >>> Offer("l4", None, 0.8, 64).text, Offer("a30", "2g.12gb, 2g.12gb", 1.2, 64).text
        ('l4', 'a30 (2 × 2g.12gb)')
        """
        return gpu_text(self.gpu, self.mig)


@dataclass(frozen=True, slots=True, order=True)
class Option:
    """Servers of each offer (0: none), and the number of a scheduler among those asked for."""

    counts: tuple[int, ...]
    scheduler: int = 0

    @property
    def used(self) -> tuple[int, ...]:
        """The offers of which there are servers."""
        return tuple(k for k, n in enumerate(self.counts) if n)

    def cost(self, offers: Sequence[Offer]) -> float:
        """Price per hour: Σ count · price of a server; without the sum's rounding.

        >>> Option((3, 1)).cost([Offer("l4", None, 0.8, 9), Offer("t4", None, 0.5, 9)])
        2.9
        """
        return round(sum(n * o.price for n, o in zip(self.counts, offers, strict=True)), 9)


@cache
def slicings(board_name: str, text: str, gpus: int = 1) -> tuple[str | None, ...]:
    """Return the MIG layouts that a text names: those of the GPUs, or with ``all`` every maximal legal one.

    A slice may be written without its memory (``3g+2g+2g``): the standard profile of that size is meant.

    >>> slicings("a100-40gb", "3g+2g+2g"), len(slicings("a100-40gb", "all"))
    (('3g.20gb, 2g.10gb, 2g.10gb',), 14)

    Raises ``HardwareError`` for layouts that the boards cannot hold.
    """
    if text.strip() == ALL:
        return tuple(dict.fromkeys(layout.text for layout in maximal_layouts(board_name)))
    layouts = gpu_layouts(text, gpus)
    for layout in layouts:
        if layout is not None and not all(part.strip() for part in layout.replace(",", "+").split("+")):
            raise HardwareError(f"MIG layout {layout!r}: a slice has no name; write for example 3g+2g+2g.")
    return (layouts_text([layout and parse_layout(layout, board_name).text for layout in layouts]),)
