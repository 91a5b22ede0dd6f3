"""The settings of a sweep, and the scenario at one of its values."""

from __future__ import annotations

from dataclasses import dataclass

from nona.errors import ScenarioError
from nona.report.sweeps.values import MOST_VALUES
from nona.scenario.schema import Scenario, SchedulerSpec
from nona.schedulers.registry import get_scheduler
from nona.study.sweeps.numbers import Number


@dataclass(frozen=True, slots=True)
class SweepSettings:
    """The settings of a sweep: ``values`` in SI, ascending; ``replications`` runs of ``jobs`` each.

    ``edges``: look for each scheduler's edge of stability and for bends between the values.
    """

    number: Number
    values: tuple[float, ...]
    schedulers: tuple[str, ...]
    jobs: int
    replications: int
    edges: bool = True


def check_settings(scenario: Scenario, settings: SweepSettings) -> None:
    """Raise :class:`~nona.errors.ScenarioError` if a value is not allowed, or a scheduler not known."""
    if not 1 <= len(settings.values) <= MOST_VALUES:
        raise ScenarioError([f"Sweep: {len(settings.values)} values; give 1 to {MOST_VALUES}."])
    if not settings.schedulers:
        raise ScenarioError(["Sweep: no scheduler is chosen; choose at least one."])
    if len(set(settings.schedulers)) < len(settings.schedulers):
        raise ScenarioError(["Sweep: a scheduler is given twice; give each once."])
    for name in settings.schedulers:
        get_scheduler(name)
    for value in settings.values:
        swept_scenario(scenario, settings, value)


def swept_scenario(scenario: Scenario, settings: SweepSettings, value: float) -> Scenario:
    """The scenario at one value of the sweep, with the sweep's schedulers and sizes."""
    own = {s.name: s for s in scenario.schedulers}
    chosen = tuple(own.get(n, SchedulerSpec(name=n)) for n in settings.schedulers)
    simulation = scenario.simulation.model_copy(
        update={"jobs": settings.jobs, "replications": settings.replications, "precision": None}
    )
    there = settings.number.set(scenario, value)
    return there.model_copy(update={"schedulers": chosen, "simulation": simulation})
