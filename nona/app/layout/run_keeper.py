"""Finished runs of a person: kept in the database, by themselves or by wish, and shown again."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType

import streamlit as st

from nona.app.jobs.kinds import KINDS
from nona.app.server.browser import cookie_name, is_token
from nona.app.server.settings import Serving
from nona.app.session.kept import choose
from nona.app.session.page_list import page_file
from nona.app.session.state import AppState, Result
from nona.app.session.workspace import owner_key
from nona.app.store.contents import SAVED_KINDS, SavedKind, scenario_of
from nona.app.store.database import Database
from nona.app.store.saved_results import MOST_NAME
from nona.app.store.store import ResultStore
from nona.core.document import Document, RunResult
from nona.core.errors import NonaError
from nona.core.registry import load
from nona.queries.report.report import SimulatedRun
from nona.scenario.file import scenario_hash
from nona.scenario.lookup import Sources

ONLY_SAVED = "runs-only-saved"  # the switch: runs do not keep themselves


def store() -> ResultStore:
    """Return the store of this session's cookie; the database holds its hash only."""
    serving = Serving.read()
    owner = hashlib.sha256(f"saved items of {owner_key()}".encode()).hexdigest()[:32]
    return ResultStore(Database(serving.store or serving.data), owner, everyone=serving.shared_store)


def comes_back() -> bool:
    """Return whether the browser keeps this server's cookie, which is needed to find saved runs again."""
    return is_token(st.context.cookies.get(cookie_name()))


def kind_of(result: object) -> SavedKind | None:
    """Return the kind of item that a result makes, if it can be kept."""
    return next((kind for kind in SAVED_KINDS.values() if kind.is_of(result)), None)


def keep_by_itself(state: AppState, result: Document, name: str) -> None:
    """Keep a finished run without being asked, beside the page, unless that is switched off."""
    kind = kind_of(result)
    if kind is None or not isinstance(result, RunResult) or state.kept.get(ONLY_SAVED) or not comes_back():
        return
    work = (store(), kind, result, name[:MOST_NAME], state.uploads.sources)
    threading.Thread(target=_keep, args=work, daemon=True, name="kept run").start()


def _keep(own: ResultStore, kind: SavedKind, result: RunResult, name: str, sources: Sources) -> None:
    with suppress(NonaError):  # page Runs says what is wrong with the database
        own.save(replace(kind.new_item(name, "", result, sources), by_itself=True))


@dataclass(frozen=True, slots=True)
class ResultPlace:
    """Where a kept result is shown: the ``job`` that makes it, the ``page``, and ``choices`` made there.

    ``asks``: for results of a question beyond the scenario, ``module:function`` which makes the page ask
    that question and returns its version.
    """

    job: str
    page: str
    choices: tuple[tuple[str, str], ...] = ()
    question: str = ""


_RUN, _SWEEP = (("simulation-view", "Run"),), (("simulation-view", "Sweep"),)
_ASK_SWEEP = "nona.app.pages.queries.simulation_sweep_settings:ask_again"
PLACES: Mapping[str, ResultPlace] = MappingProxyType(
    {
        "simulation": ResultPlace("simulate", "simulation", _RUN),
        "plan": ResultPlace("plan", "plan"),
        "check": ResultPlace(
            "holds", "simulation", question="nona.app.pages.queries.simulation_holds:ask_again"
        ),
        "placement": ResultPlace("place", "placement"),
        "sweep": ResultPlace("sweep", "simulation", _SWEEP, _ASK_SWEEP),
        "grid": ResultPlace("grid", "simulation", _SWEEP, _ASK_SWEEP),
        "language": ResultPlace("language", "simulation"),
        "language-plan": ResultPlace("language-plan", "plan"),
        "serverless": ResultPlace("serverless", "serverless"),
        "training": ResultPlace("training", "training"),
        "training-elastic": ResultPlace("training-elastic", "training"),
    }
)
"""Of each kind of saved item."""


def show_result(state: AppState, name: str, result: Document, mark: str) -> bool:
    """Show a kept result on its page, if it is one of the present scenario; whether it is.

    ``mark`` names it among the session's results.
    """
    kind = kind_of(result)
    if kind is None or not isinstance(result, RunResult):
        return False
    place = PLACES[kind.name]
    parts = KINDS.find(place.job).parts
    state.go_to = page_file(place.page)
    version = scenario_hash(scenario_of(result), *parts)
    if version != scenario_hash(state.scenario, *parts):
        return False
    if isinstance(result, SimulatedRun) and state.runs.of_job(mark) is None:
        state.runs.add(version, mark, result, name)
    for key, value in place.choices:
        choose(state, key, value)
    asked = load(place.question)(state, result) if place.question else version
    state.results[place.job] = Result(asked, result, mark, name=name)
    return True
