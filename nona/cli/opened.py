"""A scenario as an argument of a command: the name of a shipped one, or a file."""

from __future__ import annotations

from pathlib import Path

from nona.errors import ScenarioError
from nona.sources import samples
from nona.sources.opening import Opened, open_scenario


def opened(name: str) -> Opened:
    """The scenario and where its files are found."""
    return open_scenario(scenario_path(name))


def scenario_path(name: str) -> Path:
    """The file of a scenario.

    Raises
    ------
    ScenarioError
        When there is neither a shipped scenario nor a file of that name.
    """
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
