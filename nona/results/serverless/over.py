"""Policies over the values of one number of a scenario, most often the factor on its traffic."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document, Figure
from nona.results.estimate import Estimate
from nona.results.serverless.outcome import Utilization
from nona.results.sweep import Unit
from nona.results.verdict import Verdict


class OverPoint(Document):
    """One policy at one value.

    ``goodput_per_s``: calls that kept their SLO, per second of the measured window. ``verdict``: whether the
    target is kept, by the sequential test. Intervals are at 95 % over ``replications``. ``warmup``: calls
    before the measured ones.
    """

    value: float
    slo_hit_rate: Estimate
    goodput_per_s: Estimate
    cost_per_call_usd: Estimate
    cost_per_hit_usd: Estimate
    utilization: Utilization
    cold_start_rate: Figure
    warmup: int
    replications: int
    verdict: Verdict
    state: str


class Knee(Document):
    """Where a policy ceases to keep the target, or begins to.

    ``kept`` is the last value at which it was found kept, ``missed`` the nearest one beyond at which it was
    found missed: the knee lies between them. Either is ``None`` where no such value was found.
    """

    kept: Figure
    missed: Figure


class PolicyOver(Document):
    """One policy: its points by ascending value, and its knees."""

    points: tuple[OverPoint, ...]
    knees: tuple[Knee, ...]


class OverSetting(Document):
    """What was run: name and seed of the scenario, measured calls of a run, replications at most."""

    name: str
    seed: int
    calls: int
    replications: int


class OverReport(Document):
    """All policies over the values of the number ``key``.

    ``values`` are those asked for; policies have more points near their knees. ``target``: share of SLOs to
    keep. ``now``: the number as it stands in the scenario.
    """

    key: str
    label: str
    unit: Unit
    now: float
    values: tuple[float, ...]
    target: float
    policies: Mapping[str, PolicyOver]
    setting: OverSetting
    seconds: float
