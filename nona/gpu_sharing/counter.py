"""vGPUs as a number that is free, as ESG counts them.

Source: Hui, Xu, Guo, Shen, ESG, HPDC 2024 ("up to 7 vGPUs").
"""

from __future__ import annotations

from collections.abc import Sequence

from nona.gpu_sharing.pool import Gpu, Part, Way, few_vgpus
from nona.registry import Look


class CountedGpu(Gpu[int]):
    """A batch gets any free vGPUs: of the fullest GPU that has enough. A state is how many are free."""

    def __init__(self, vgpus: int) -> None:
        self.whole = self.vgpus = self.empty = vgpus

    def part(self, state: int, vgpus: int) -> Part[int] | None:
        """The lowest free slots."""
        return Part(state - vgpus, vgpus, slots=-1, rank=state, key=vgpus) if vgpus <= state else None

    def without(self, state: int, key: int) -> int:
        """So many more are free."""
        return state + key

    def free(self, state: int) -> int:
        """The state."""
        return state

    def stranded(self, state: int) -> int:
        """None: every free one fits some batch."""
        return 0

    def why_not(self, states: Sequence[int], vgpus: int) -> str:
        """Name the most that are free."""
        return few_vgpus(max(states, default=0), vgpus)


WAY = Way(
    name="mig-counter",
    title="MIG, counted",
    about="any free vGPUs",
    make=lambda invoker, settings: CountedGpu(invoker.vgpus),
    look=Look("#6366f1", "solid", "circle"),
)
