"""Why a scenario could not be opened: one line for each problem."""

from __future__ import annotations

from dataclasses import dataclass

from nona.errors import NonaError, ScenarioError


@dataclass(frozen=True, slots=True)
class Problems:
    """What was to be opened, and what is wrong with it; no lines: nothing is. ``text``: what it holds.

    >>> Problems.of("plan.yaml", ScenarioError(["seed: is missing; add it.", "name: is empty."])).lines
    ('seed: is missing; add it.', 'name: is empty.')
    """

    what: str = ""
    lines: tuple[str, ...] = ()
    text: str = ""

    @classmethod
    def of(cls, what: str, error: NonaError, text: str = "") -> Problems:
        """The problems that an error reports."""
        return cls(what, error.problems if isinstance(error, ScenarioError) else (str(error),), text)
