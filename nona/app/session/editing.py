"""Edits of the scenario: places in its text, and undo and redo."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nona.scenario.schema import Scenario

PlacePath = tuple[str | int, ...]


def has(data: Any, path: PlacePath) -> bool:
    """Return whether a value can be put at ``path``: another tab may have removed the row around it.

    >>> has({"rows": [{}]}, ("rows", 0, "rate")), has({"rows": []}, ("rows", 0, "rate"))
    (True, False)
    """
    node = data
    for step in path[:-1]:
        node = _step(node, step)
    return isinstance(node, dict) or (isinstance(node, list) and _step(node, path[-1]) is not None)


def _step(node: Any, step: str | int) -> Any:
    """Return the entry of a mapping or list at ``step``; ``None`` without one."""
    if isinstance(node, list):
        return node[step] if isinstance(step, int) and step < len(node) else None
    return node.get(step) if isinstance(node, dict) else None


def put(data: Any, path: PlacePath, value: Any) -> None:
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


def list_entries(scenario: Scenario) -> tuple[list[str], ...]:
    """Name the entries of the lists that people add to and remove from."""
    return (
        [row.model for row in scenario.workload],
        [group.gpu for group in scenario.cluster.servers],
        [chosen.name for chosen in scenario.schedulers],
        [offer.gpu for offer in scenario.plan.offers] if scenario.plan else [],
    )


class ScenarioText:
    """The parts of one scenario in plain data, quantities with their units; made when first asked for.

    >>> from nona.scenario.file import scenario_from_mapping
    >>> list_entries = [{"model": "gpt2", "rate": 5}]
    >>> scenario = scenario_from_mapping({"cluster": {"servers": [{"gpu": "t4"}]}, "workload": list_entries})
    >>> text = ScenarioText(scenario)
    >>> text.value_at(("cluster", "servers", 0, "gpu")), text.value_at(("workload", 0, "rate"))
    ('t4', '5/s')
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._parts: dict[str | int, Any] = {}

    def value_at(self, path: PlacePath) -> Any:
        """Return a copy of the value at ``path``, which the caller may change; raises as ``[]`` does."""
        if not path:
            return self.scenario.model_dump(mode="json")
        first = path[0]
        if first not in self._parts:
            self._parts[first] = self.scenario.model_dump(mode="json", include={str(first)})[str(first)]
        node = self._parts[first]
        for step in path[1:]:
            node = node[step]
        return copy.deepcopy(node)


SAME_MOVE_S = 2.0


@dataclass(frozen=True, slots=True)
class PastScenario:
    """A past scenario, with its drafts and the selected model."""

    scenario: Scenario
    drafts: Mapping[Any, Any]
    model: str


@dataclass
class History:
    """The changes to undo and to redo; at most ``limit`` steps of each.

    Changes of one place that follow one another within two seconds, as those of a slider that is
    dragged, are one step. Each step is named by the place that it changed.

    >>> history = History(clock=iter((0.0, 1.0, 9.0)).__next__)
    >>> for place in ("seed", "seed", "name"):
    ...     history.note("before " + place, place)
    >>> history.undone, history.undo("now"), history.undone, history.redone
    ('name', 'before name', 'seed', 'name')
    """

    limit: int = 100
    clock: Callable[[], float] = time.monotonic
    _past: list[tuple[str, Any]] = field(default_factory=list)
    _future: list[tuple[str, Any]] = field(default_factory=list)
    _last: tuple[str, float] = ("", 0.0)

    def note(self, before: Any, place: str) -> None:
        """Note that ``place`` is about to change from what ``before`` holds."""
        now = self.clock()
        same = bool(self._past) and self._last[0] == place and now - self._last[1] < SAME_MOVE_S
        if not same:
            self._past = [*self._past[-self.limit + 1 :], (place, before)]
        self._future, self._last = [], (place, now)

    @property
    def undone(self) -> str:
        """The place that :meth:`undo` would change back; empty if there is none."""
        return self._past[-1][0] if self._past else ""

    @property
    def redone(self) -> str:
        """The place that :meth:`redo` would change again; empty if there is none."""
        return self._future[-1][0] if self._future else ""

    def undo(self, now: Any) -> Any:
        """Return the state before the last change, ``None`` if there is none; ``now`` can be restored."""
        return self._move(self._past, self._future, now)

    def redo(self, now: Any) -> Any:
        """Return the state before the last :meth:`undo`, ``None`` if there is none."""
        return self._move(self._future, self._past, now)

    def steps(self, most: int) -> tuple[tuple[tuple[str, Any], ...], tuple[tuple[str, Any], ...]]:
        """Return the latest steps to undo and to redo, at most that many of each, the latest last."""
        return tuple(self._past[-most:]), tuple(self._future[-most:])

    def restore(self, past: Sequence[tuple[str, Any]], future: Sequence[tuple[str, Any]]) -> None:
        """Take steps as :meth:`steps` gave them."""
        self._past, self._future, self._last = list(past), list(future), ("", 0.0)

    def _move(self, source: list[tuple[str, Any]], target: list[tuple[str, Any]], now: Any) -> Any:
        if not source:
            return None
        place, moment = source.pop()
        target.append((place, now))
        self._last = ("", 0.0)
        return moment
