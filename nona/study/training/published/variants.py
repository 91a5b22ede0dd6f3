"""What the study compares."""

from __future__ import annotations

from dataclasses import dataclass

SINGLE, MULTI = "single-GPU", "multi-GPU"
MODES = (SINGLE, MULTI)


@dataclass(frozen=True, slots=True)
class Variant:
    """A policy, with or without space sharing; ``single_only``: it cannot place jobs with several GPUs."""

    policy: str
    packed: bool = False
    single_only: bool = False

    @property
    def name(self) -> str:
        """How tables name it."""
        return f"{self.policy}, packed" if self.packed else self.policy

    def takes(self, mode: str) -> bool:
        """Whether it can run jobs of this mode."""
        return mode == SINGLE or not self.single_only


OVER_LOAD = (
    Variant("max-min-fairness-agnostic"),
    Variant("gandiva", packed=True),
    Variant("allox", single_only=True),
    Variant("max-min-fairness"),
    Variant("max-min-fairness", packed=True),
    Variant("finish-time-fairness-agnostic"),
    Variant("finish-time-fairness"),
)
AT_ONCE = (
    Variant("fifo-agnostic"),
    Variant("fifo"),
    Variant("gandiva", packed=True),
    Variant("max-min-fairness"),
    Variant("makespan"),
    Variant("makespan", packed=True),
)
