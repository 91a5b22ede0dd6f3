"""Scenarios that a session takes in: the first one, files opened, shipped ones."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any

from nona.app.session.page_list import page_file
from nona.app.session.state import AppState
from nona.app.session.uploads import Uploads
from nona.core.errors import NonaError, reasons
from nona.queries.sweeps.numbers import with_value
from nona.scenario.file import scenario_from_mapping
from nona.scenario.lookup import Sources, file_names, unused_name, with_files_renamed
from nona.scenario.opening import open_bytes, open_scenario
from nona.scenario.sample_files import scenario_names, scenario_path, shipped_scenario
from nona.scenario.schema import Scenario


@dataclass(frozen=True, slots=True)
class OpeningProblems:
    """Problems with a text that was to be opened; without lines there are none. ``text``: the text itself.

    >>> from nona.core.errors import ScenarioError
    >>> error = ScenarioError(["seed: is missing; add it.", "name: is empty."])
    >>> OpeningProblems.from_error("plan.yaml", error).lines
    ('seed: is missing; add it.', 'name: is empty.')
    """

    what: str = ""
    lines: tuple[str, ...] = ()
    text: str = ""

    @classmethod
    def from_error(cls, what: str, error: NonaError, text: str = "") -> OpeningProblems:
        """Collect the reasons of an error; ``what`` was to be opened."""
        return cls(what, reasons(error), text)


VARIABLE = "NONA_SCENARIO"  # path of a scenario file or bundle, set by `nona app SCENARIO`


def new_state() -> AppState:
    """Return the state of a new session; what is wrong with a scenario that cannot be opened is kept."""
    state = AppState()
    path = os.environ.get(VARIABLE)
    if path:
        state.started_with = _mark(Path(path))
        try:
            opened = open_scenario(Path(path))
            state.scenario = with_files(opened.scenario, opened.sources, state.uploads)
            state.show_first_model()
        except NonaError as error:
            state.choices.keep(OpeningProblems.from_error(Path(path).name, error))
    return state


def _mark(path: Path) -> str:
    """Hash of a file and its path, by which a restart with the same file is known; empty if unreadable."""
    try:
        return hashlib.sha256(str(path.resolve()).encode() + b"\0" + path.read_bytes()).hexdigest()
    except OSError:
        return ""


def open_fresh(state: AppState, fresh: AppState) -> AppState:
    """Open the scenario of a ``fresh`` state in one that holds work, as one step to undo."""
    problems = fresh.choices.find(OpeningProblems)
    if problems is not None:
        state.choices.keep(problems)
    else:
        take_scenario(state, with_files(fresh.scenario, fresh.uploads.sources, state.uploads))
    state.started_with = fresh.started_with
    return state


def with_files(scenario: Scenario, sources: Sources, uploads: Uploads) -> Scenario:
    """Return the scenario with the files that it names among the ``uploads``, under plain names of their own.

    Raises ``NonaError`` when a file is missing or too large.
    """
    taken: dict[str, str] = {}

    def uploaded_name(name: str) -> str:
        if name not in taken:
            taken[name] = uploads.keep(name, sources.read(name))
        return taken[name]

    return with_files_renamed(scenario, uploaded_name)


def open_file(state: AppState, name: str, data: bytes) -> None:
    """Make the scenario in a file or bundle the session's own; raises :class:`NonaError`, changing nothing.

    Files that a YAML file only names may be missing: they can be uploaded afterwards.
    """
    opened = open_bytes(data, name, state.uploads.sources, files_may_be_missing=True)
    if opened.sources.in_memory is not None:
        take_scenario(state, with_files(opened.scenario, opened.sources, state.uploads))
    else:
        take_scenario(state, with_plain_names(opened.scenario))


def take_scenario(state: AppState, scenario: Scenario) -> None:
    """Make a scenario the session's own and show its first model."""
    state.adopt(scenario)
    state.show_first_model()


NEW: Mapping[str, Any] = {
    "version": 1,
    "name": "New scenario",
    "cluster": {"servers": [{"count": 8, "gpu": "a100-40gb"}]},
    "simulation": {"jobs": 4000, "replications": 3},
}


def new_scenario(state: AppState) -> None:
    """Begin a scenario of one's own: a group of servers, no queries yet; Undo brings back the former."""
    take_scenario(state, scenario_from_mapping(NEW))
    state.go_to = page_file("scenario")
    state.notify("A new scenario: set its servers, and add models to its mix.")


def with_plain_names(scenario: Scenario) -> Scenario:
    """Return the scenario with files in folders named as uploads are, without a folder."""
    plain: dict[str, str] = {}

    def rename(name: str) -> str:
        if name not in plain:
            plain[name] = unused_name(name, plain.values())
        return plain[name]

    return with_files_renamed(scenario, rename)


NOTHING: Mapping[str, float | str] = MappingProxyType({})


def open_shipped_scenario(state: AppState, name: str, changes: Mapping[str, float | str] = NOTHING) -> bool:
    """Make a shipped scenario the session's own, with its files and ``changes`` (path → value).

    Returns whether that went well; if not, the complaint ``demo-error`` says why.
    """
    try:
        scenario = shipped(name, changes)
        folder = scenario_path(name).parent
        for file in file_names(scenario):
            state.uploads.add(PurePath(file).name, (folder / file).read_bytes())
    except (NonaError, OSError) as error:
        state.choices.complaints["demo-error"] = "\n".join(reasons(error))
        return False
    state.adopt(scenario)
    state.show_first_model()
    state.choices.complaints.pop("demo-error", None)
    return True


def shipped(name: str, changes: Mapping[str, float | str] = NOTHING) -> Scenario:
    """Return a shipped scenario with ``changes``.

    Raises :class:`~nona.core.errors.NonaError` for what cannot be.
    """
    scenario = shipped_scenario(name)
    for place, value in changes.items():
        scenario = with_value(scenario, place, value)
    return scenario


def is_own(scenario: Scenario) -> bool:
    """Return whether this scenario is the user's own: no shipped one.

    >>> is_own(shipped("slides_example")), is_own(shipped("slides_example", {"seed": 3}))
    (False, True)
    """
    return all(scenario != shipped_scenario(name) for name in scenario_names())
