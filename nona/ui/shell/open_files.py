"""Files that are opened or dropped on the window: scenarios, bundles, models, traces, kept runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from nona.errors import NonaError
from nona.foreign import MOST_MODEL_BYTES
from nona.graph.registry import READERS
from nona.report.text import counted
from nona.simulation.traces import read_trace
from nona.sources.lookup import safe_name
from nona.store.store import SUFFIX as RUNS
from nona.store.store import import_items
from nona.ui.models.loading import UPLOAD_ERROR, take_model
from nona.ui.session.opening import Problems, open_file
from nona.ui.session.page_list import page_file
from nona.ui.session.state import AppState
from nona.ui.shell.run_keeper import store

MODELS = tuple(suffix for reader in READERS.values() for suffix in reader.suffixes)
ANY = "Scenario (YAML, JSON), bundle (.nona.zip), models, trace (CSV), kept runs"


@dataclass(frozen=True, slots=True)
class Taken:
    """The files that the last field held: a field that takes several hands on the former ones again."""

    ids: frozenset[str] = frozenset()


def open_popover(state: AppState, key: str, **more: Any) -> None:
    """A button that unfolds a field for files of any of these kinds."""
    with st.popover("Open", icon=":material/upload_file:", **more):
        _field(state, f"{key}-{state.revision}")


def drop_zone(state: AppState) -> None:
    with st.container(key="drop-zone"):
        _field(state, f"dropped-{state.revision}")


def _field(state: AppState, key: str) -> None:
    st.file_uploader(
        ANY,
        accept_multiple_files=True,
        key=key,
        on_change=lambda: take_files(state, st.session_state[key] or []),
        max_upload_size=MOST_MODEL_BYTES // 2**20,
        help="A scenario replaces the present one, and Undo restores that; models and traces are added.",
    )


def take_files(state: AppState, files: Sequence[Any]) -> None:
    """Take each file as what it is, and go where it is shown; the first that is refused is said."""
    state.choices.keep(Problems())
    taken = state.choices.of(Taken).ids
    state.choices.keep(Taken(frozenset(file.file_id for file in files)))
    for file in files:
        if file.file_id in taken:
            continue
        name = safe_name(file.name)
        try:
            _take(state, name, file.getvalue())
        except NonaError as error:
            state.choices.keep(Problems.of(name, error))
            return


def _take(state: AppState, name: str, data: bytes) -> None:
    ending = name.casefold()
    if ending.endswith(RUNS):
        items = import_items(store(), data)
        state.tell(f"{counted(len(items), 'run')} imported.")
        state.go_to = page_file("runs")
    elif ending.endswith(".csv"):
        read_trace(data, name)
        kept = state.uploads.add(name, data)
        state.tell(f"{kept} can be chosen as the arrivals of a model.")
        state.go_to = page_file("scenario")
    elif ending.endswith(MODELS) and not _is_scenario(name, data):
        if not take_model(state, name, data):
            state.choices.keep(Problems(name, (state.choices.complaints[UPLOAD_ERROR],)))
        state.go_to = page_file("models")
    else:
        open_file(state, name, data)
        state.tell(f"{name} was opened: “{state.scenario.name}”.")


def _is_scenario(name: str, data: bytes) -> bool:
    """Return whether a JSON file holds a scenario, not a graph."""
    if not name.casefold().endswith(".json"):
        return False
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and bool({"cluster", "workload"} & document.keys())
