"""INFless's instances: started for the load that is too much, stopped so that the rest is well used.

With rMin and rMax of each instance from its :func:`~nona.serverless.policies.infless.candidates.window`::

    R > Σ rMax                               start for R − Σ rMax: the largest batch first, then R −= rMax
    R ≥ α (Σ rMax − Σ rMin) + Σ rMin         keep all, α = 0.8
    else                                     stop some so that for the rest both are as they should be

Source: Yang et al., INFless, ASPLOS 2022, its published code (dispatcher, scheduler). Which are stopped is
ours: one after the other that with the largest rMax without which Σ rMax is still R at least, the newest
of equal ones, until the rest is in the band or none is left to stop.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.serverless.model.system import ServerlessSystem
from nona.serverless.policies.base import Fleet, Service
from nona.serverless.policies.carried import RANKED
from nona.serverless.policies.choices import profile_s, too_late
from nona.serverless.policies.infless.candidates import candidates, window
from nona.serverless.policies.slo_split import static_shares

ALPHA = 0.8


class InflessScaler:
    """INFless's scaler; ``allowed``: (C,) the configurations that it lists; ``wait``: for full batches."""

    def __init__(
        self,
        system: ServerlessSystem,
        allowed: NDArray[np.bool_],
        wait: bool,
        every_s: float,
        window_s: float,
    ) -> None:
        self.every_s, self.window_s = every_s, window_s
        self._system, self._wait = system, wait
        self._batch = [c.batch for c in system.space.configurations]
        self._shares = [static_shares(system, app) for app in system.applications]
        self._profiles = [profile_s(system, app) for app in system.applications]
        self._groups = [
            [
                candidates(system, f, time_s, slo_s, allowed)
                for f, time_s, slo_s in zip(app.function, profile, shares, strict=True)
            ]
            for app, profile, shares in zip(system.applications, self._profiles, self._shares, strict=True)
        ]

    def service(self, application: int, stage: int, configuration: int) -> Service:
        """rMin, rMax and the time-out; one that cannot keep the share needs no load and does not wait."""
        time_s = float(self._profiles[application][stage][configuration])
        slo_s, batch = self._shares[application][stage], self._batch[configuration]
        if time_s >= slo_s:
            return Service(0.0, batch / time_s, 0.0)
        found = window(batch, time_s, slo_s)
        return Service(found.least, found.most, found.timeout_s if self._wait else 0.0)

    def _services(self, fleet: Fleet) -> list[Service]:
        return [self.service(fleet.application, fleet.stage, c) for c in fleet.standing]

    def excess(self, fleet: Fleet) -> float:
        """R − Σ rMax."""
        return fleet.rate - sum(s.most for s in self._services(fleet))

    def ranked(self, application: int, stage: int, rate: float) -> tuple[int, ...]:
        """All candidates that the rate is enough for, the largest batch first."""
        groups = self._groups[application][stage]
        found = tuple(n for group in groups for n in group.numbers[: group.loaded(rate)])
        function = self._system.applications[application].function[stage]
        return found or too_late(self._system, function, RANKED)

    def stops(self, fleet: Fleet) -> tuple[int, ...]:
        """Those whose load would not be enough for all."""
        services, rate = self._services(fleet), fleet.rate
        kept, stopped = list(range(len(services))), []
        while kept:
            least, most = sum(services[k].least for k in kept), sum(services[k].most for k in kept)
            spare = [k for k in kept if most - services[k].most >= rate]
            if rate >= ALPHA * (most - least) + least or not spare:
                break
            gone = max(spare, key=lambda k: (services[k].most, k))
            kept.remove(gone)
            stopped.append(gone)
        return tuple(stopped)
