"""A way of sharing a GPU: its declaration, and the settings of its pools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from nona.gpu_sharing.pool import Pool
from nona.gpu_sharing.resources import Invoker
from nona.look import Look


class Settings(Protocol):
    """A scenario's choice of a way, with the settings of all ways; each way reads its own."""

    @property
    def mode(self) -> str:
        """Name of the way."""

    @property
    def reconfiguration(self) -> float:
        """Seconds until a slice of another size is ready."""

    @property
    def oversubscription(self) -> float:
        """How many times the GPU may be allocated."""

    @property
    def interference(self) -> float:
        """Factor on the demand of batches that slow each other down."""

    @property
    def clients(self) -> int:
        """Most batches on one GPU at once."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way's declaration.

    Attributes
    ----------
    name
        As in the scenario file.
    title, about
        What people read, and what it is in one clause.
    make
        ``(invoker, settings) -> Pool``: an empty pool of one invoker; raises
        :class:`~nona.errors.SimulationError` when its GPUs cannot be shared that way.
    look
        On charts; without one it gets a spare look.
    asks
        Those of :class:`Settings` that the app asks for.
    sliced
        Whether a batch holds memory slices of a MIG board.
    sets_up
        Whether a slice may have to be made first, in ``reconfiguration`` seconds.
    fixed_layout
        Whether batches hold the slices of the servers' own layout, which every server must then have.
    oversubscribes
        Whether up to ``oversubscription`` of a GPU may be held at once.
    """

    name: str
    title: str
    about: str
    make: Callable[[Invoker, Settings], Pool]
    look: Look | None = None
    asks: tuple[str, ...] = ()
    sliced: bool = False
    sets_up: bool = False
    fixed_layout: bool = False
    oversubscribes: bool = False
