"""The numbers of a scenario that can be swept: their keys, labels and units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from nona.core.errors import ScenarioError
from nona.core.units import Dimension, parse_quantity, quantity_text
from nona.queries.sweeps.results import Unit
from nona.scenario.file import scenario_from_mapping
from nona.scenario.schema import Scenario
from nona.scenario.values import NamedSpec
from nona.scenario.words import path_of, value_at, words

LOAD = "load"
LINK, COMPUTE = "background.network.utilization", "background.compute.utilization"
CAPACITY = "cluster.network.capacity"


@dataclass(frozen=True, slots=True)
class ScenarioNumber:
    """A number of the scenario: its ``key`` as errors name it, or ``load`` for a factor on all rates.

    ``usual`` are values to begin a sweep with, as people write them.
    """

    key: str
    label: str
    unit: Unit
    usual: str = ""

    def with_value(self, scenario: Scenario, value: float) -> Scenario:
        """Return the scenario with another value of this number, validated again.

        Parameters
        ----------
        scenario : Scenario
            The scenario, which stays as it is.
        value : float
            The new value, in SI units; of ``load`` a factor on all rates.

        Returns
        -------
        Scenario
            The new scenario.

        Raises
        ------
        ScenarioError
            If the value breaks a rule.
        """
        if self.key == LOAD:
            return _loaded(scenario, value)
        return with_value(scenario, self.key, int(value) if self.unit == "count" else value)

    def value_in(self, scenario: Scenario) -> float:
        """Return the scenario's value of this number, in SI units; 1 for the factor on all rates."""
        return 1.0 if self.key == LOAD else float(value_at(scenario, self.key))


def with_values(scenario: Scenario, values: Mapping[str, Any]) -> Scenario:
    """Return the scenario with values at places, validated again; a part that it lacks is added.

    Names of schedulers or policies keep the options that the scenario gave them.
    """
    data = scenario.model_dump(mode="json", exclude_defaults=True)
    for place, value in values.items():
        *parts, last = path_of(place)
        node: Any = data
        for part in parts:
            node = node[part] if isinstance(part, int) else node.setdefault(part, {})
        if words(place).kind is NamedSpec:
            own = {entry.name: entry.options for entry in value_at(scenario, place) or ()}
            value = [{"name": n, "options": own.get(n, {})} if isinstance(n, str) else n for n in value]
        node[last] = value
    return scenario_from_mapping(data)


def with_value(scenario: Scenario, path: str, value: float | str) -> Scenario:
    """Return the scenario with one value replaced, validated again.

    Parameters
    ----------
    scenario : Scenario
        The scenario, which stays as it is.
    path : str
        The key, as errors name it: ``workload[0].slo``.
    value : float or str
        The new value, in SI units or as text with a unit.

    Returns
    -------
    Scenario
        The new scenario.

    Raises
    ------
    ScenarioError
        If there is no such key, or the value breaks a rule.

    Examples
    --------
    >>> s = scenario_from_mapping({
    ...     "version": 1, "cluster": {"servers": [{}]}, "workload": [{"model": "gpt2", "rate": 1}]})
    >>> with_value(s, "workload[0].rate", "5/s").workload[0].rate
    5.0
    >>> with_value(s, "background.network.utilization", 0.3).background.network.utilization
    0.3
    """
    data = scenario.model_dump(mode="json")
    holder, last = _place(data, path)
    holder[last] = value
    return scenario_from_mapping(data)


def number_named(scenario: Scenario, key: str) -> ScenarioNumber:
    """Return the number of the scenario at a key.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    key : str
        A key of :func:`numbers_of`, or any other key that holds a number, as ``workload[0].slo``.

    Returns
    -------
    ScenarioNumber
        The number's key, label and unit.

    Raises
    ------
    ScenarioError
        If there is no such key, or its value is not a number.

    Examples
    --------
    >>> s = scenario_from_mapping({
    ...     "version": 1, "cluster": {"servers": [{}]}, "workload": [{"model": "gpt2", "rate": 1}]})
    >>> number_named(s, "workload[0].slo").unit, number_named(s, "cluster.servers[0].count").label
    ('time', 'Servers')
    """
    number = next((n for n in numbers_of(scenario) if n.key == key), None)
    if number is not None:
        return number
    holder, last = _place(scenario.model_dump(mode="json"), key)
    value = holder[last]
    try:
        unit: Unit | None = words(key).dimension
    except KeyError:  # an option, a figure of a device: what is written says it
        unit = next((d for d in get_args(Dimension) if _is_quantity(value, d)), None)
    if unit is None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ScenarioError([f"{key}: {value!r} is not a number; sweep a key that holds one."])
        unit = "count" if isinstance(value, int) else "number"
    return ScenarioNumber(key, key, unit)


def _is_quantity(value: object, dimension: Dimension) -> bool:
    try:
        return isinstance(value, str) and parse_quantity(value, dimension) is not None
    except ValueError:
        return False


def numbers_of(scenario: Scenario) -> tuple[ScenarioNumber, ...]:
    """Return the numbers that are most often swept.

    Parameters
    ----------
    scenario : Scenario
        The scenario.

    Returns
    -------
    tuple of ScenarioNumber
        Background, load, servers of each group, link capacity; each with usual values.
    """
    groups, capacity = scenario.cluster.servers, scenario.cluster.network.capacity
    servers = (
        ScenarioNumber(
            f"cluster.servers[{i}].count",
            "Servers" if len(groups) == 1 else f"Servers {group.gpu}",
            "count",
            f"{max(1, group.count // 2)} to {2 * group.count}",
        )
        for i, group in enumerate(groups)
    )
    capacities = " to ".join(str(quantity_text(factor * capacity, "bandwidth")) for factor in (1 / 16, 4.0))
    return (
        ScenarioNumber(LINK, "Link background", "fraction", "0 % to 95 %"),
        ScenarioNumber(COMPUTE, "Compute background", "fraction", "0 % to 95 %"),
        ScenarioNumber(LOAD, "Load", "factor", "0.4 to 2"),
        *servers,
        ScenarioNumber(CAPACITY, "Link capacity", "bandwidth", capacities),
    )


def _loaded(scenario: Scenario, factor: float) -> Scenario:
    """All rates times ``factor``, to twelve digits, gaps between serverless calls divided by it."""
    if factor == 1.0:
        return scenario
    data = scenario.model_dump(mode="json")
    for row, spec in zip(data["workload"], scenario.workload, strict=True):
        if spec.concurrency is None:
            row["rate"] = float(f"{spec.rate * factor:.12g}")
        else:
            row["concurrency"] = max(1, round(spec.concurrency * factor))
        if spec.arrivals.trace and not spec.arrivals.scale_to_rate:
            row["arrivals"] = {**row["arrivals"], "speed": spec.arrivals.speed * factor}
    for number, (row, asking) in enumerate(zip(data["language"], scenario.language, strict=True)):
        if asking.rate is not None:
            row["rate"] = float(f"{asking.rate * factor:.12g}")
        elif asking.concurrency is not None:
            row["concurrency"] = max(1, round(asking.concurrency * factor))
        elif asking.after is None:  # what follows queries comes as these do
            where = f"workload[{len(scenario.workload) + number}]"
            raise ScenarioError([f"{where}: without a rate its load cannot change; give it one."])
    gaps = None if scenario.serverless is None else scenario.serverless.interval
    if gaps is not None and factor > 0:  # else the rates are refused
        ends = {"least": gaps.least, "most": gaps.most}
        data["serverless"]["interval"] = {k: float(f"{v / factor:.12g}") for k, v in ends.items()}
    return scenario_from_mapping(data)


def _place(data: Any, path: str) -> tuple[Any, str | int]:
    """Return the mapping or list that holds ``path``, and its key or index there."""
    *parents, last = path_of(path)
    node: Any = data
    try:
        for part in parents:
            node = node[part]
        node[last]
    except (KeyError, IndexError, ValueError, TypeError):
        raise ScenarioError(
            [f"{path}: no such key in the scenario; write it like workload[0].rate."]
        ) from None
    return node, last
