"""The settings of a run over one number, and which numbers a serverless run depends on."""

from __future__ import annotations

from dataclasses import dataclass

from nona.errors import ScenarioError
from nona.report.sweeps.values import MOST_VALUES
from nona.results.sweep import TARGET, Unit
from nona.scenario.schema import Scenario
from nona.study.serverless.run import chosen_policies
from nona.study.sweeps.numbers import LOAD, Number, number_named

LOADS = (0.5, 1.0, 2.0, 3.0, 4.0)
CALLS, MOST_CALLS = 1500, 100_000
FIRST, MOST = 4, 8  # replications at the first look, and at most
CLOSE = 0.05  # a knee is known to that share of its value


@dataclass(frozen=True, slots=True)
class Swept:
    """A number that is often asked for, its name for people, its unit, and values to begin with."""

    key: str
    label: str
    unit: Unit
    values: tuple[float, ...]


SWEPT = (
    Swept(LOAD, "Load", "factor", LOADS),
    Swept("serverless.cpu_share", "CPU share", "fraction", (0.05, 0.1, 0.2, 0.35, 0.5)),
    Swept("cluster.servers[0].vcpus", "vCPUs per node", "count", (4, 8, 12, 16, 24, 32)),
    Swept("cluster.servers[0].count", "Nodes", "count", (2, 4, 8, 12, 16)),
    Swept("serverless.slo_factor", "SLO over L", "number", (0.6, 0.8, 1.0, 1.2, 1.5)),
    Swept("serverless.noise", "Noise", "fraction", (0.0, 0.1, 0.2, 0.3)),
    Swept("serverless.prices.vgpu_hour", "vGPU-hour, US$", "number", (0.1, 0.34, 0.67, 1.34, 2.68)),
)
# What a serverless run does not depend on: a curve over it would be flat.
_WITHOUT_EFFECT = ("background.", "cluster.network.", "training.", "plan.", "objective.", "schedulers")
_OF_THE_NETWORK = ("background.network.", "cluster.network.")  # where transfers share it


@dataclass(frozen=True, slots=True)
class OverSettings:
    """A number, its ``values`` (SI, ascending), the policies, and how much is simulated.

    ``calls`` of each run; ``first`` replications of each point, and at most ``most`` where the verdict on
    ``target`` is open. ``knees``: bisect for them, to the share ``close`` of their value. ``extend``: go on
    beyond the values, by factors of two, until each policy has kept and missed the target.
    """

    number: Number
    values: tuple[float, ...]
    policies: tuple[str, ...]
    calls: int = CALLS
    first: int = FIRST
    most: int = MOST
    target: float = TARGET
    knees: bool = True
    extend: bool = False
    close: float = CLOSE

    @property
    def span(self) -> float:
        """From the first value to the last."""
        return self.values[-1] - self.values[0]


def over_number(scenario: Scenario, key: str) -> Number:
    """The number at ``key``, if a serverless run depends on it.

    Raises
    ------
    ScenarioError
        When there is no such number, or it has no effect on a serverless run.
    """
    spec = scenario.serverless
    shared = spec is not None and spec.transfer.remote == "network" and key.startswith(_OF_THE_NETWORK)
    if not shared and any(key.startswith(part) or key == part.rstrip(".") for part in _WITHOUT_EFFECT):
        raise ScenarioError(
            [
                f"{key}: a serverless run does not depend on it; choose load, or a number of "
                "cluster.servers, workload or serverless."
            ]
        )
    if spec is not None and spec.slo_factor is not None and key.endswith(".slo"):
        raise ScenarioError(
            [f"{key}: serverless.slo_factor sets the SLO in its place; choose serverless.slo_factor."]
        )
    found = number_named(scenario, key)
    known = next((s for s in SWEPT if s.key == key), None)
    return found if known is None else Number(key, known.label, known.unit)


def check_over(scenario: Scenario, settings: OverSettings) -> None:
    """Raise :class:`~nona.errors.NonaError` for settings that cannot be run, before any work is done."""
    if not 1 <= len(settings.values) <= MOST_VALUES:
        raise ScenarioError(
            [f"Over {settings.number.key}: {len(settings.values)} values; give 1 to {MOST_VALUES}."]
        )
    if not 0 < settings.target < 1:
        raise ScenarioError([f"Target {settings.target:g} must lie between 0 and 1; give 99 %."])
    if not 1 <= settings.calls <= MOST_CALLS:
        raise ScenarioError([f"Calls: {settings.calls} must lie between 1 and {MOST_CALLS:,}; change it."])
    if not 1 <= settings.first <= settings.most:
        raise ScenarioError(
            [f"Replications: {settings.first} must lie between 1 and {settings.most}; change it."]
        )
    chosen_policies(scenario, settings.policies)
    for value in settings.values:
        settings.number.set(scenario, value)
