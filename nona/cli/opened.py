"""A scenario as an argument of a command: the name of a shipped one, or a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from nona.errors import ScenarioError
from nona.sources import samples
from nona.sources.opening import Opened, open_scenario
from nona.study.sweep_numbers import with_values


def opened(name: str, values: Mapping[str, object] = MappingProxyType({})) -> Opened:
    """The scenario, with ``values`` at places of it, and where its files are found."""
    scenario, sources = open_scenario(scenario_path(name))
    return Opened(with_values(scenario, values) if values else scenario, sources)


def scenario_path(name: str) -> Path:
    """The file of a scenario."""
    if name in samples.scenario_names():
        return samples.scenario_path(name)
    path = Path(name)
    if not path.is_file() and path.suffix == "":
        raise ScenarioError(
            [
                f"Scenario {name!r}: no such file or shipped scenario; choose one of "
                f"{', '.join(samples.scenario_names())}, or name a file."
            ]
        )
    return path
