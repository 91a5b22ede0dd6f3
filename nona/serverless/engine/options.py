"""The options of a run, and its progress reports."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from nona.core.errors import SimulationError
from nona.queries.simulation.sizes import auto_warmup
from nona.serverless.chart_data import PlatformSnapshot

REPORTS = 200  # of progress, in a run
TAIL_SLOS = 20  # so many times the largest SLO may pass after the last measured call


@dataclass(frozen=True, slots=True)
class PlatformRunOptions:
    """Size and manner of one run.

    ``calls``: measured calls, all applications together.
    ``warmup``: calls before them; ``None``: a fifth of ``calls``, at least min(1000, ``calls``).
    ``replication``: number of the replication; it selects the random streams.
    ``snapshot_s``: seconds between snapshots that are kept, ``None`` for none.
    """

    calls: int = 20_000
    warmup: int | None = None
    replication: int = 0
    snapshot_s: float | None = None

    def __post_init__(self) -> None:
        lowest = {"calls": 1, "warmup": 0, "replication": 0}
        for name, least in lowest.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise SimulationError(f"Run: {name}={value} must be at least {least}; give a larger number.")
        if self.snapshot_s is not None and not 0 < self.snapshot_s < math.inf:
            raise SimulationError(
                f"Run: snapshot_s={self.snapshot_s} must be above 0; give seconds, or None for no snapshots."
            )

    @property
    def first(self) -> int:
        """Number of the first measured call."""
        return auto_warmup(self.calls) if self.warmup is None else self.warmup

    @property
    def most(self) -> int:
        """Calls that arrive at most: after the measured ones 1000 and a fifth of them."""
        return self.first + self.calls + 1000 + self.calls // 5


@dataclass(frozen=True, slots=True)
class ServerlessProgress:
    """The progress of a run, and the platform at this instant.

    ``fraction``: the share of the run's calls that have arrived; where several runs go on, that of all runs
    together, and ``own`` is the run's.
    """

    policy: str
    replication: int
    fraction: float
    snapshot: PlatformSnapshot | None = None
    own: float | None = None

    @property
    def run_fraction(self) -> float:
        """The share of this run that is done."""
        return self.fraction if self.own is None else self.own


OnProgress = Callable[[ServerlessProgress], None]
