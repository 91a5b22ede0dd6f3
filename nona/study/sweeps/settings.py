"""The settings of a sweep of one number or two, and the scenario at one of its values."""

from __future__ import annotations

from dataclasses import dataclass

from nona.errors import ScenarioError
from nona.report.sweeps.values import MOST_VALUES
from nona.results.sweep import TARGET
from nona.scenario.schema import Scenario
from nona.scenario.values import SchedulerSpec
from nona.schedulers.registry import get_scheduler
from nona.study.sweeps.numbers import Number

MOST_CELLS = 900


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
    target: float = TARGET


@dataclass(frozen=True, slots=True)
class GridSettings:
    """A sweep of two numbers: that of the first at each of ``values`` (SI, ascending) of the ``second``."""

    sweep: SweepSettings
    second: Number
    values: tuple[float, ...]


def check_settings(scenario: Scenario, settings: SweepSettings) -> None:
    """Raise :class:`~nona.errors.ScenarioError` if a value is not allowed, or a scheduler not known."""
    if not 1 <= len(settings.values) <= MOST_VALUES:
        raise ScenarioError([f"Sweep: {len(settings.values)} values; give 1 to {MOST_VALUES}."])
    if not 0 < settings.target < 1:
        raise ScenarioError([f"Sweep: target {settings.target:g} must lie between 0 and 1; give 99 %."])
    if not settings.schedulers:
        raise ScenarioError(["Sweep: no scheduler is chosen; choose at least one."])
    if len(set(settings.schedulers)) < len(settings.schedulers):
        raise ScenarioError(["Sweep: a scheduler is given twice; give each once."])
    for name in settings.schedulers:
        get_scheduler(name)
    for value in settings.values:
        swept_scenario(scenario, settings, value)


def check_grid(scenario: Scenario, settings: GridSettings) -> None:
    """Raise :class:`~nona.errors.ScenarioError` for two numbers that cannot be swept together."""
    if settings.second.key == settings.sweep.number.key:
        raise ScenarioError([f"Sweep: {settings.second.key} is given twice; choose two numbers."])
    cells = len(settings.values) * len(settings.sweep.values)
    if not 1 <= cells <= MOST_CELLS:
        raise ScenarioError([f"Sweep: {cells} pairs of values; give 1 to {MOST_CELLS}."])
    for value in settings.values:
        check_settings(settings.second.set(scenario, value), settings.sweep)


def swept_scenario(scenario: Scenario, settings: SweepSettings, value: float) -> Scenario:
    """The scenario at one value of the sweep, with the sweep's schedulers and sizes."""
    own = {s.name: s for s in scenario.schedulers}
    chosen = tuple(own.get(n, SchedulerSpec(name=n)) for n in settings.schedulers)
    simulation = scenario.simulation.model_copy(
        update={"jobs": settings.jobs, "replications": settings.replications, "precision": None}
    )
    there = settings.number.set(scenario, value)
    return there.model_copy(update={"schedulers": chosen, "simulation": simulation})
