"""The errors of Nona Planner: each message is a single line that can be shown to users.

A message names the object, the value, the rule and the remedy, for example
``Server group 0: count=-1 must be at least 1; give a whole number of servers.``
"""

from __future__ import annotations

from collections.abc import Iterable


class NonaError(ValueError):
    """Base of all errors caused by user input."""


class GraphError(NonaError):
    """A model file or a task graph cannot be read or is not a valid DAG."""


class HardwareError(NonaError):
    """A device, a MIG layout, a network or a cluster is not possible."""


class CostError(NonaError):
    """Work or time cannot be assigned to an operator."""


class PlacementError(NonaError):
    """No placement exists: a resource is overloaded, or the problem is too large."""


class SimulationError(NonaError):
    """A simulation cannot run as requested."""


class ReportError(NonaError):
    """A results file cannot be written."""


class StoreError(NonaError):
    """The data base of saved items cannot be used, or an item cannot be saved, found or read."""


class JobError(NonaError):
    """A background job cannot start, or it ended without a result."""


class ScenarioError(NonaError):
    """A scenario file breaks one rule or several; ``problems`` holds a line for each.

    >>> str(ScenarioError(["cluster: is missing; add it.", "seed: -1 must be at least 0."]))
    'cluster: is missing; add it. | seed: -1 must be at least 0.'
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(" | ".join(self.problems))

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[tuple[str, ...]]]:
        return type(self), (self.problems,)
