"""Places in a scenario's text: whether a value can be put at one, putting it there, what its rows are."""

from __future__ import annotations

import copy
from typing import Any

from nona.scenario.schema import Scenario

Path = tuple[str | int, ...]


def has(data: Any, path: Path) -> bool:
    """Whether a value can be put at ``path``: another tab may have removed the row that it is in.

    >>> has({"rows": [{}]}, ("rows", 0, "rate")), has({"rows": []}, ("rows", 0, "rate"))
    (True, False)
    """
    node = data
    for step in path[:-1]:
        node = _step(node, step)
    return isinstance(node, dict) or (isinstance(node, list) and _step(node, path[-1]) is not None)


def _step(node: Any, step: str | int) -> Any:
    """What a mapping or list holds at ``step``; ``None`` if that is not there."""
    if isinstance(node, list):
        return node[step] if isinstance(step, int) and step < len(node) else None
    return node.get(step) if isinstance(node, dict) else None


def put(data: Any, path: Path, value: Any) -> None:
    """Put a copy of ``value`` at ``path``.

    >>> data = {"rows": [{}]}
    >>> put(data, ("rows", 0, "rate"), 5)
    >>> data
    {'rows': [{'rate': 5}]}
    """
    node = data
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = copy.deepcopy(value)


def rows(scenario: Scenario) -> tuple[list[str], ...]:
    """What stands in each place of the lists that people add to and remove from."""
    return (
        [row.model for row in scenario.workload],
        [group.gpu for group in scenario.cluster.servers],
        [chosen.name for chosen in scenario.schedulers],
        [offer.gpu for offer in scenario.plan.offers] if scenario.plan else [],
        [str(link.capacity) for link in scenario.plan.links] if scenario.plan else [],
    )
