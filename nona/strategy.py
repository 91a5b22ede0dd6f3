"""What every scheduler and policy declares of itself, of whatever kind it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from nona.options import Option, Setting, checked
from nona.registry import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A way to decide: its declaration, for people and for lists.

    Attributes
    ----------
    name, title
        As in the scenario file, and as in headings.
    summary, source, adaptation
        One line each: what it does; where it comes from; what was changed or assumed.
    settings
        Its options by name.
    look
        On charts; without one it gets a spare look.
    """

    called: ClassVar[str] = "Policy"

    name: str
    summary: str
    source: str
    adaptation: str
    title: str = ""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    look: Look | None = None

    @property
    def defaults(self) -> dict[str, Option]:
        """Its options with their defaults."""
        return {name: setting.default for name, setting in self.settings.items()}

    def chosen(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The value of each of its options; raises :class:`~nona.errors.SimulationError` for a wrong one."""
        return checked(f"{self.called} {self.name!r}", self.settings, options)
