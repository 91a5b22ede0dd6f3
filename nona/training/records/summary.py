"""What was measured of a policy over its replications, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from nona.simulation.statistics.intervals import Interval, mean_interval
from nona.training.records.metrics import PERCENTILES, Measures


@dataclass(frozen=True, eq=False, slots=True)
class TrainingSummary:
    """Means over replications; ``runs`` has the figures of each. ``rho_worst`` is the worst of all."""

    policy: str
    runs: tuple[Measures, ...]
    jct_s: Interval
    percentiles_s: dict[int, float]
    rho_worst: float
    warnings: tuple[str, ...]

    def mean(self, of: Callable[[Measures], float]) -> float:
        """The mean of a figure over the replications that have it; NaN: none has."""
        values = [value for run in self.runs if not np.isnan(value := of(run))]
        return float(np.mean(values)) if values else float("nan")

    def most(self, of: Callable[[Measures], float]) -> float:
        """The largest of a figure over the replications that have it; NaN: none has."""
        return max((value for run in self.runs if not np.isnan(value := of(run))), default=float("nan"))


def summarise(policy: str, runs: Sequence[Measures], warnings: Iterable[str] = ()) -> TrainingSummary:
    """The summary of a policy's replications, of which there is at least one."""
    rho = np.concatenate([run.rho[run.measured] for run in runs])
    return TrainingSummary(
        policy=policy,
        runs=tuple(runs),
        jct_s=mean_interval([run.mean_jct_s for run in runs]),
        percentiles_s={p: mean_interval([run.percentiles_s[p] for run in runs]).mean for p in PERCENTILES},
        rho_worst=float(np.nanmax(rho)) if not np.isnan(rho).all() else float("nan"),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def mean_rho(run: Measures) -> float:
    """Mean ρ of the measured jobs of a run."""
    found = run.rho[run.measured]
    found = found[~np.isnan(found)]
    return float(found.mean()) if len(found) else float("nan")
