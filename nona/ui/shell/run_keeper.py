"""Finished runs of a person: kept in the data base, by themselves or by wish, and shown again."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType

import streamlit as st

from nona.errors import NonaError
from nona.report.simulations.report import SimulatedRun
from nona.results.document import Document, Outcome
from nona.results.saved import MOST_NAME
from nona.scenario.file import scenario_hash
from nona.serving.settings import Serving
from nona.sources.lookup import Sources
from nona.store.contents import SAVED_KINDS, SavedKind, scenario_of
from nona.store.database import Database
from nona.store.store import Store
from nona.ui.jobs.kinds import KINDS
from nona.ui.session.browser import cookie_name, is_token
from nona.ui.session.page_list import page_file
from nona.ui.session.state import AppState, Result
from nona.ui.session.workspace import whose

ONLY_SAVED = "runs-only-saved"  # the switch: runs do not keep themselves


def store() -> Store:
    """The kept runs of whoever has this session's cookie, under a hash: the data base holds no token."""
    serving = Serving.read()
    owner = hashlib.sha256(f"saved items of {whose()}".encode()).hexdigest()[:32]
    return Store(Database(serving.store or serving.data), owner, everyone=serving.shared_store)


def comes_back() -> bool:
    """Return whether the browser keeps this server's cookie: without it nobody finds kept runs again."""
    return is_token(st.context.cookies.get(cookie_name()))


def kind_of(result: object) -> SavedKind | None:
    """The kind of item that a result makes, if it can be kept."""
    return next((kind for kind in SAVED_KINDS.values() if kind.is_of(result)), None)


def keep_by_itself(state: AppState, result: Document, name: str) -> None:
    """Keep a finished run without being asked, beside the page, unless that is switched off."""
    kind = kind_of(result)
    if kind is None or not isinstance(result, Outcome) or state.kept.get(ONLY_SAVED) or not comes_back():
        return
    work = (store(), kind, result, name[:MOST_NAME], state.uploads.sources)
    threading.Thread(target=_keep, args=work, daemon=True, name="kept run").start()


def _keep(own: Store, kind: SavedKind, result: Outcome, name: str, sources: Sources) -> None:
    with suppress(NonaError):  # page Runs says what is wrong with the data base
        own.save(replace(kind.new_item(name, "", result, sources), by_itself=True))


PLACES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "simulation": ("simulate", "simulation"),
        "plan": ("plan", "plan"),
        "language": ("language", "simulation"),
        "language-plan": ("language-plan", "plan"),
        "serverless": ("serverless", "serverless"),
        "training": ("training", "training"),
        "training-elastic": ("training-elastic", "training"),
    }
)
"""Kind of a saved item → the job that makes its result, and the page that shows it."""


def show_result(state: AppState, name: str, result: Document, mark: str) -> bool:
    """Show a kept result on its page, if it is one of the present scenario; whether it is.

    ``mark`` names it among the session's results.
    """
    kind = kind_of(result)
    if kind is None or not isinstance(result, Outcome):
        return False
    job, page = PLACES[kind.name]
    parts = KINDS.find(job).parts
    state.go_to = page_file(page)
    version = scenario_hash(scenario_of(result), *parts)
    if version != scenario_hash(state.scenario, *parts):
        return False
    if isinstance(result, SimulatedRun) and state.runs.of_job(mark) is None:
        state.runs.add(version, mark, result, name)
    state.results[job] = Result(version, result, mark, name=name)
    return True
