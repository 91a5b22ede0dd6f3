"""Scenarios that a session takes in: the one that the server was started with, and files that are opened."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from nona.errors import NonaError
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.sources.named import with_files_renamed
from nona.sources.names import unused_name
from nona.sources.opening import open_bytes, open_scenario
from nona.ui.session.problems import Problems
from nona.ui.session.state import AppState
from nona.ui.session.uploads import Uploads

VARIABLE = "NONA_SCENARIO"  # path of a scenario file or bundle, set by `nona app SCENARIO`


def new_state() -> AppState:
    """The state of a new session; what is wrong with a scenario that cannot be opened is kept."""
    state = AppState()
    path = os.environ.get(VARIABLE)
    if path:
        state.started_with = _mark(Path(path))
        try:
            opened = open_scenario(Path(path))
            state.scenario = with_files(opened.scenario, opened.sources, state.uploads)
            state.show_first_model()
        except NonaError as error:
            state.choices.keep(Problems.of(Path(path).name, error))
    return state


def _mark(path: Path) -> str:
    """Hash of a file and its path, by which a restart with the same file is known; empty if unreadable."""
    try:
        return hashlib.sha256(str(path.resolve()).encode() + b"\0" + path.read_bytes()).hexdigest()
    except OSError:
        return ""


def open_fresh(state: AppState, fresh: AppState) -> AppState:
    """Open the scenario of a ``fresh`` state in one that holds work, as one step to undo."""
    problems = fresh.choices.find(Problems)
    if problems is not None:
        state.choices.keep(problems)
    else:
        take_scenario(state, with_files(fresh.scenario, fresh.uploads.sources, state.uploads))
    state.started_with = fresh.started_with
    return state


def with_files(scenario: Scenario, sources: Sources, uploads: Uploads) -> Scenario:
    """The scenario with the files that it names among the ``uploads``, under plain names of their own.

    Raises
    ------
    NonaError
        When a file is missing or too large.
    """
    taken: dict[str, str] = {}

    def take(name: str) -> str:
        if name not in taken:
            taken[name] = uploads.keep(name, sources.read(name))
        return taken[name]

    return with_files_renamed(scenario, take)


def open_file(state: AppState, name: str, data: bytes) -> None:
    """Make the scenario in a file or bundle the session's own; raises :class:`NonaError`, changing nothing.

    Files that a YAML file only names may be missing: they can be uploaded afterwards.
    """
    opened = open_bytes(data, name, state.uploads.sources, files_may_be_missing=True)
    if opened.sources.held is not None:
        take_scenario(state, with_files(opened.scenario, opened.sources, state.uploads))
    else:
        take_scenario(state, with_plain_names(opened.scenario))


def take_scenario(state: AppState, scenario: Scenario) -> None:
    """Make a scenario the session's own and show its first model."""
    state.adopt(scenario)
    state.show_first_model()


def with_plain_names(scenario: Scenario) -> Scenario:
    """The scenario with files in folders named as uploads are, without a folder."""
    plain: dict[str, str] = {}

    def rename(name: str) -> str:
        if name not in plain:
            plain[name] = unused_name(name, plain.values())
        return plain[name]

    return with_files_renamed(scenario, rename)
