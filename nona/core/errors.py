"""The errors of Nona Planner: each message is a single line that can be shown to users.

A message names the object, the value, the rule and the remedy, for example
``Server group 0: count=-1 must be at least 1; give a whole number of servers.``
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


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


class DeploymentError(NonaError):
    """A file of what operators run cannot be read, or what was planned cannot be written as one."""


class StoreError(NonaError):
    """The database of saved items cannot be used, or an item cannot be saved, found or read."""


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


def reasons(error: Exception) -> tuple[str, ...]:
    """Each problem that an error names, a line each.

    >>> reasons(ScenarioError(["a", "b"])), reasons(GraphError("c"))
    (('a', 'b'), ('c',))
    """
    return error.problems if isinstance(error, ScenarioError) else (str(error),)


def suggestion(name: str, choices: Iterable[str], most: int = 40) -> str:
    """Return the names most like a wrong one; the first of those that are known where none is like it.

    >>> suggestion("resnet19", ["resnet18", "gpt2"]), suggestion("x", ["a", "b", "c"], most=2)
    ('use resnet18', 'use one of a, b …')
    >>> near = suggestion("A100", ["a10", "v100", "a100-40gb", "a100-80gb"])
    >>> near, suggestion("3g.20gb", ["t4", "a30/3g.20gb"])
    ('use a100-40gb or a100-80gb', 'use a30/3g.20gb')
    """
    names, wrong = list(choices), name[:60].casefold()
    begin_alike = [n for n in names if wrong and n.casefold().startswith(f"{wrong}-")]
    near = begin_alike or [n for n in names if n.casefold().endswith(f"/{wrong}")]
    near = near[:2] or get_close_matches(wrong, names, n=2, cutoff=0.6)
    if near:
        return f"use {' or '.join(near)}"
    return f"use one of {', '.join(names[:most])}{' …' if len(names) > most else ''}"
