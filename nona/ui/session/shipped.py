"""Shipped scenarios as the session's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from types import MappingProxyType

from nona.errors import NonaError
from nona.scenario.file import load_scenario, scenario_from_mapping
from nona.scenario.schema import Scenario
from nona.sources.named import file_names
from nona.sources.samples import scenario_names, scenario_path
from nona.study import with_value
from nona.ui.session.state import START, AppState

NOTHING: Mapping[str, float | str] = MappingProxyType({})


def open_scenario(state: AppState, name: str, changes: Mapping[str, float | str] = NOTHING) -> bool:
    """Make a shipped scenario the session's own, with its files and ``changes`` (path → value).

    Returns whether that went well; if not, the complaint ``demo-error`` says why.
    """
    try:
        scenario = shipped(name, changes)
        folder = scenario_path(name).parent
        for file in file_names(scenario):
            state.uploads.add(PurePath(file).name, (folder / file).read_bytes())
    except (NonaError, OSError) as error:
        state.choices.complaints["demo-error"] = str(error)
        return False
    state.adopt(scenario)
    state.show_first_model()
    state.choices.complaints.pop("demo-error", None)
    return True


def shipped(name: str, changes: Mapping[str, float | str] = NOTHING) -> Scenario:
    """A shipped scenario with ``changes``; raises :class:`~nona.errors.NonaError` for what cannot be."""
    scenario = load_scenario(scenario_path(name))
    for place, value in changes.items():
        scenario = with_value(scenario, place, value)
    return scenario


def is_own(scenario: Scenario) -> bool:
    """Whether somebody made this scenario: it is neither the one at the start nor one that ships.

    >>> is_own(shipped("slides_example")), is_own(shipped("slides_example", {"seed": 3}))
    (False, True)
    """
    if scenario == scenario_from_mapping(START):
        return False
    return all(scenario != load_scenario(scenario_path(name)) for name in scenario_names())
