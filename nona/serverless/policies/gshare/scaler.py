"""FaST-GShare's instances: as many as the rate needs, the most throughput per resource first.

With T(p) = b / t jobs a second of configuration p and Δ = R − Σ T::

    Δ > 0.2 Σ T       start ⌊Δ / T(p_eff)⌋ of p_eff, which has the most throughput per resource, and for
                      the rest r > 0 one p with the least T(p) − r > 0
    −Δ > 0.2 Σ T      stop in increasing order of throughput per resource while Σ T stays at least R

Source: Gu et al., FaST-GShare, ICPP 2023; the published autoscaler's code, where the choice for the rest
stands in a comment. Of equal ones the newest is stopped first, which is ours.
"""

from __future__ import annotations

from nona.serverless.model.system import ServerlessSystem
from nona.serverless.policies.base import Fleet, Service
from nona.serverless.policies.choices import profile_s, too_late
from nona.serverless.policies.gshare.ranking import ranking
from nona.serverless.policies.slo_split import static_shares

TOLERANCE = 0.2  # of the capacity: smaller differences change nothing


class FastGshareScaler:
    """FaST-GShare's scaler; ``late``: how many configurations are tried where none keeps the share."""

    def __init__(self, system: ServerlessSystem, late: int, every_s: float, window_s: float) -> None:
        self.every_s, self.window_s = every_s, window_s
        self._system, self._late = system, late
        self._batch = [c.batch for c in system.space.configurations]
        self._profiles = [profile_s(system, app) for app in system.applications]
        shares = [static_shares(system, app) for app in system.applications]
        self._orders = [
            [
                ranking(system, f, time_s, slo_s)
                for f, time_s, slo_s in zip(app.function, profile, share, strict=True)
            ]
            for app, profile, share in zip(system.applications, self._profiles, shares, strict=True)
        ]

    def _throughput(self, application: int, stage: int, configuration: int) -> float:
        return self._batch[configuration] / float(self._profiles[application][stage][configuration])

    def service(self, application: int, stage: int, configuration: int) -> Service:
        """Its throughput; jobs are served at once."""
        return Service(0.0, self._throughput(application, stage, configuration), 0.0)

    def _capacity(self, fleet: Fleet) -> float:
        return sum(self._throughput(fleet.application, fleet.stage, c) for c in fleet.standing)

    def excess(self, fleet: Fleet) -> float:
        """Δ, where it is more than the tolerance."""
        capacity = self._capacity(fleet)
        lacking = fleet.rate - capacity
        return lacking if lacking > TOLERANCE * capacity else 0.0

    def ranked(self, application: int, stage: int, rate: float) -> tuple[int, ...]:
        """The most efficient first while the rate fills one; else that which is least too large first.

        All of them: what does not fit now is not tried again before the next look.
        """
        order = self._orders[application][stage]
        if not order:
            function = self._system.applications[application].function[stage]
            return too_late(self._system, function, self._late)
        does = {n: self._throughput(application, stage, n) for n in order}
        if rate < does[order[0]]:
            return tuple(sorted(order, key=lambda n: (does[n] <= rate, abs(does[n] - rate))))
        return order

    def stops(self, fleet: Fleet) -> tuple[int, ...]:
        """The least efficient ones that the rate does not need."""
        capacity, place = self._capacity(fleet), (fleet.application, fleet.stage)
        if capacity - fleet.rate <= TOLERANCE * capacity:
            return ()
        order = self._orders[fleet.application][fleet.stage]
        efficient = {n: -k for k, n in enumerate(order)}  # what keeps no share is the least so
        stopped: list[int] = []
        inverse = sorted(
            range(len(fleet.standing)), key=lambda k: (efficient.get(fleet.standing[k], -len(order)), -k)
        )
        for k in inverse:
            capacity -= self._throughput(*place, fleet.standing[k])
            if capacity < fleet.rate:
                break
            stopped.append(k)
        return tuple(stopped)
