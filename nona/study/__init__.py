"""The study: the one place that composes the layers; app and command line call it.

:func:`prepare` turns a scenario into a :class:`~nona.system.System`, :func:`place` solves its placement,
:func:`simulate` runs its schedulers. The names below are the public ones; each is imported when it is first
used, so that a command or a worker loads only the parts that it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "cache": ("StudyCache",),
    "models": ("PreparedModel", "prepare_model"),
    "rows": ("given_graph",),
    "placements": ("compare", "place", "predictions"),
    "preparation": ("Study", "prepare"),
    "simulation": (
        "Answer",
        "Comparison",
        "SimulationProgress",
        "SimulationResult",
        "answers",
        "chosen_schedulers",
        "simulate",
    ),
    "sweep_numbers": ("Number", "number_named", "numbers_of", "with_value"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
__all__ = tuple(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOME)
