"""Options that a scenario hands to something it names: each declared with default, help and bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from nona.core.errors import SimulationError

Option = bool | int | float | str | None
"""The value of an option."""

Options = Mapping[str, Option]
"""Options by name."""


@dataclass(frozen=True, slots=True)
class PolicyOption:
    """An option of something: its default, what it does, and what it may be.

    ``default``: its value where the scenario gives none; ``None`` may stand for what ``text`` says.
    ``kind``: the type of its values, where the default does not show it; ``object``: its owner checks it.
    ``least``, ``most``: bounds of a number.
    ``words``: the words that it may be.
    """

    default: Option
    text: str
    least: float = 0.0
    most: float = inf
    words: Sequence[str] = ()
    kind: type[Any] | None = None

    def rule(self, value: object) -> str:
        """Name the rule that ``value`` violates, as it continues "must be"; empty if none.

        >>> PolicyOption(2, "executors", least=1).rule(1.5), PolicyOption(0.5, "share", most=1.0).rule(0.7)
        ('a whole number of at least 1', '')
        """
        kind = self.kind or type(self.default)
        if kind is object or (value is None and self.default is None):
            return ""
        if self.words:
            return "" if isinstance(value, str) and value in self.words else f"one of {', '.join(self.words)}"
        if kind is bool:
            return "" if isinstance(value, bool) else "true or false"
        if kind is str:
            return "" if isinstance(value, str) else "a text"
        allowed = int if kind is int else int | float
        number = isinstance(value, allowed) and not isinstance(value, bool)
        if number and isfinite(float(value)) and self.least <= float(value) <= self.most:  # type: ignore[arg-type]
            return ""
        of = f"of at least {self.least:g}" if self.most == inf else f"from {self.least:g} to {self.most:g}"
        return f"a {'whole ' if kind is int else ''}number {of}"


def checked(owner: str, settings: Mapping[str, PolicyOption], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every setting: those of ``options``, else the defaults; numbers as their kind.

    >>> settings = {"d": PolicyOption(2, "queues drawn", least=1), "share": PolicyOption(0.5, "of the jobs")}
    >>> checked("Policy 'x'", settings, {"share": 1})
    {'d': 2, 'share': 1.0}
    >>> checked("Policy 'x'", settings, {"d": 0})
    Traceback (most recent call last):
    nona.core.errors.SimulationError: Policy 'x': option d=0 must be a whole number of at least 1; change it.
    >>> checked("Policy 'x'", {}, {"cap": 3})
    Traceback (most recent call last):
    nona.core.errors.SimulationError: Policy 'x': option 'cap' is not known; it takes no options.
    """
    for name in options:
        if name not in settings:
            remedy = f"choose from {', '.join(sorted(settings))}" if settings else "it takes no options"
            raise SimulationError(f"{owner}: option {name!r} is not known; {remedy}.")
    values: dict[str, Any] = {}
    for name, setting in settings.items():
        value = options.get(name, setting.default)
        if rule := setting.rule(value):
            raise SimulationError(f"{owner}: option {name}={value!r} must be {rule}; change it.")
        kind = setting.kind or type(setting.default)
        values[name] = float(value) if kind is float and value is not None else value
    return values
