"""A scenario's values as its file writes them, written once per scenario: a page asks for hundreds."""

from __future__ import annotations

import copy
from typing import Any

from nona.scenario.schema import Scenario
from nona.ui.session.editing.places import Path


class Written:
    """The parts of one scenario in plain data, quantities with their units; made when first asked for.

    >>> from nona.scenario.file import scenario_from_mapping
    >>> rows = [{"model": "gpt2", "rate": 5}]
    >>> scenario = scenario_from_mapping({"cluster": {"servers": [{"gpu": "t4"}]}, "workload": rows})
    >>> Written(scenario).at(("cluster", "servers", 0, "gpu")), Written(scenario).at(("workload", 0, "rate"))
    ('t4', '5/s')
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._parts: dict[str | int, Any] = {}

    def at(self, path: Path) -> Any:
        """A copy of the value at ``path``, which the caller may change; raises as ``[]`` does."""
        if not path:
            return self.scenario.model_dump(mode="json")
        first = path[0]
        if first not in self._parts:
            self._parts[first] = self.scenario.model_dump(mode="json", include={str(first)})[str(first)]
        node = self._parts[first]
        for step in path[1:]:
            node = node[step]
        return copy.deepcopy(node)
