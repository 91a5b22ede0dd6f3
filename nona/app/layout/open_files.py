"""Files that are opened or dropped on the window: scenarios, bundles, models, traces, kept runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from nona.app.layout.run_keeper import store
from nona.app.models.loading import UPLOAD_ERROR, take_model
from nona.app.session.imported import take_what_runs, what_runs
from nona.app.session.opening import OpeningProblems, open_file
from nona.app.session.page_list import PAGES, page_file
from nona.app.session.state import AppState
from nona.app.store.store import SUFFIX as RUNS
from nona.app.store.store import import_items
from nona.core.errors import NonaError
from nona.core.foreign import MOST_MODEL_BYTES
from nona.core.registry import load
from nona.core.text import count_text
from nona.deployment.files import GivenFile
from nona.models.graph.registry import READERS
from nona.scenario.lookup import safe_name
from nona.scenario.traces import read_trace

MODELS = tuple(suffix for reader in READERS.values() for suffix in reader.suffixes)
ANY = "Scenario (YAML, JSON), bundle (.nona.zip), models, trace (CSV), saved runs, files of your cluster"

TABLES = (".csv", ".tsv", ".trace", ".jsonl")


@dataclass(frozen=True, slots=True)
class TakenFiles:
    """The files that the last field held: a field that takes several hands on the former ones again."""

    ids: frozenset[str] = frozenset()


def drop_zone(state: AppState, page: str) -> None:
    """Draw the field over the whole window while files are dragged over it.

    ``page`` is the one that is shown.
    """
    with st.container(key="drop-zone"):
        file_field(state, f"dropped-{state.revision}", page)


def file_field(state: AppState, key: str, page: str = "") -> None:
    """Draw a field for files of any of these kinds."""
    st.file_uploader(
        ANY,
        accept_multiple_files=True,
        key=key,
        on_change=lambda: take_files(state, st.session_state[key] or [], page),
        max_upload_size=MOST_MODEL_BYTES // 2**20,
        help="A scenario replaces yours (Undo brings it back); models and traces are added.",
    )


def take_files(state: AppState, files: Sequence[Any], page: str = "") -> None:
    """Take each file as what it is, and go where it is shown; the first that is refused is said.

    ``page``: the page on which it was dropped, to which a table is offered first.
    """
    state.choices.keep(OpeningProblems())
    taken = state.choices.get(TakenFiles).ids
    state.choices.keep(TakenFiles(frozenset(file.file_id for file in files)))
    runs: list[GivenFile] = []
    for file in files:
        if file.file_id in taken:
            continue
        name = safe_name(file.name)
        try:
            if found := what_runs(name, file.getvalue()):
                runs += found
            else:
                _open_or_add(state, name, file.getvalue(), page)
        except NonaError as error:
            state.choices.keep(OpeningProblems.from_error(name, error))
            return
    if runs:
        try:
            take_what_runs(state, runs)
        except NonaError as error:
            state.choices.keep(OpeningProblems.from_error(safe_name(files[-1].name), error))


def _open_or_add(state: AppState, name: str, data: bytes, page: str) -> None:
    ending = name.casefold()
    if ending.endswith(RUNS):
        items = import_items(store(), data)
        state.notify(f"{count_text(len(items), 'run')} imported.")
        state.go_to = page_file("runs")
    elif ending.endswith(TABLES):
        _take_table(state, name, data, page)
    elif ending.endswith(MODELS) and not _is_scenario(name, data):
        if not take_model(state, name, data):
            lines = state.choices.complaints[UPLOAD_ERROR].splitlines()
            state.choices.keep(OpeningProblems(name, tuple(lines)))
        state.go_to = page_file("models")
    else:
        open_file(state, name, data)
        state.notify(f"{name} was opened: “{state.scenario.name}”.")


def _take_table(state: AppState, name: str, data: bytes, page: str) -> None:
    """Use a table as the page's input, else as arrivals; where both fail, show the page's error."""
    refusal: NonaError | None = None
    if page in PAGES and PAGES[page].takes:
        try:
            load(PAGES[page].takes)(state, name, data)
            return
        except NonaError as error:
            refusal = error
    try:
        read_trace(data, name)
    except NonaError as error:
        raise (refusal or error) from None
    kept = state.uploads.add(name, data)
    state.notify(f"{kept} can be chosen as the arrivals of a model.")
    state.go_to = page_file("scenario")


def _is_scenario(name: str, data: bytes) -> bool:
    """Return whether a JSON file holds a scenario, not a graph."""
    if not name.casefold().endswith(".json"):
        return False
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and bool({"cluster", "workload"} & document.keys())
