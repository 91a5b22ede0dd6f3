"""What a new session begins with: the scenario that the server was started with, or a small one."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

from nona.errors import NonaError
from nona.scenario.file import load_scenario
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.sources.named import with_files_renamed
from nona.ui.session.state import AppState
from nona.ui.session.uploads import Uploads, safe_name

VARIABLE = "NONA_SCENARIO"  # path of a scenario file, set by `nona app SCENARIO`
ERROR = "open-error"


def new_state() -> AppState:
    """The state of a new session; a scenario that cannot be opened is reported in one line."""
    state = AppState()
    path = os.environ.get(VARIABLE)
    if path:
        try:
            state.scenario = with_files(load_scenario(Path(path)), Path(path).parent, state.uploads)
            state.model = state.scenario.workload[0].model
        except NonaError as error:
            state.choices.complaints[ERROR] = str(error)
    return state


def with_files(scenario: Scenario, folder: Path, uploads: Uploads) -> Scenario:
    """The scenario with the files that it names among the ``uploads``, under plain names of their own.

    Raises
    ------
    NonaError
        When a file is missing or too large.
    """
    sources = Sources(folder)
    taken: dict[str, str] = {}

    def take(name: str) -> str:
        if name not in taken:
            plain = safe_name(PurePath(name).name)
            if plain in taken.values():
                plain = safe_name(f"{len(taken)}-{plain}")
            taken[name] = uploads.add(plain, sources.read(name))
        return taken[name]

    return with_files_renamed(scenario, take)
