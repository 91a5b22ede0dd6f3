"""What is shared, and what is asked of it: an invoker's vCPUs and GPUs, and a batch's configuration."""

from __future__ import annotations

from dataclasses import dataclass

from nona.hardware.mig import MigLayout


@dataclass(frozen=True, slots=True)
class Invoker:
    """A worker node: vCPUs, and GPUs of ``vgpus`` each.

    ``board`` is the MIG board, empty for a GPU that MIG cannot slice; ``layout`` what a fixed layout
    holds on each GPU; ``sms`` the multiprocessors of a GPU without MIG, 0 when unknown.
    """

    vcpus: int = 16
    gpus: int = 1
    vgpus: int = 7
    board: str = "a100-40gb"
    layout: MigLayout | None = None
    sms: int = 0


@dataclass(frozen=True, slots=True, order=True)
class Configuration:
    """One choice for a batch.

    >>> Configuration(4, 2, 1).text
    '4 jobs, 2 vCPUs, 1 vGPU'
    """

    batch: int
    vcpus: int
    vgpus: int

    @property
    def text(self) -> str:
        """As text."""
        parts = ((self.batch, "job"), (self.vcpus, "vCPU"), (self.vgpus, "vGPU"))
        return ", ".join(f"{n} {what}{'s' if n > 1 else ''}" for n, what in parts)
